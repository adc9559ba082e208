//! A call that is tried in every state, and the outcomes that it can have.

use super::scene::Scene;
use crate::prelude::*;

/// The expected result of a call in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The call succeeds, and the endpoint changes to another state.
    To(EpState),
    /// The call succeeds, and the state does not change.
    Works,
    /// The posted operation is flushed.
    Flushed,
    /// The call succeeds and has no effect.
    Nothing,
    /// The endpoint is freed.
    Ends,
    /// `DAT_INVALID_STATE` with the subtype of the state.
    Refused,
}

pub(super) type Row = [Outcome; STATES.len()];

/// The subtype that names a state (dat_error.h).
pub(super) fn subtype(state: EpState) -> Subtype {
    match state {
        EpState::Unconnected => Subtype::InvalidStateEpUnconnected,
        EpState::UnconfiguredUnconnected => Subtype::InvalidStateEpUnconfigured,
        EpState::Reserved => Subtype::InvalidStateEpReserved,
        EpState::UnconfiguredReserved => Subtype::InvalidStateEpUnconfreserved,
        EpState::PassiveConnectionPending => Subtype::InvalidStateEpPassconnpending,
        EpState::UnconfiguredPassive => Subtype::InvalidStateEpUnconfpassive,
        EpState::ActiveConnectionPending => Subtype::InvalidStateEpActconnpending,
        EpState::TentativeConnectionPending => Subtype::InvalidStateEpTentconnpending,
        EpState::UnconfiguredTentative => Subtype::InvalidStateEpUnconftentative,
        EpState::Connected | EpState::ConnectedSinglePath | EpState::ConnectedMultiPath => {
            Subtype::InvalidStateEpConnected
        }
        EpState::DisconnectPending => Subtype::InvalidStateEpDiscpending,
        EpState::Disconnected => Subtype::InvalidStateEpDisconnected,
        EpState::CompletionPending => Subtype::InvalidStateEpComplpending,
    }
}

/// Makes a call in every state; `done` checks its effect if it succeeds.
pub(super) fn try_everywhere(
    row: Row,
    call: impl Fn(&Scene) -> Result<()>,
    done: impl Fn(&Scene, EpState, Outcome),
) {
    for (from, outcome) in STATES.into_iter().zip(row) {
        let scene = Scene::new(from);
        let before = scene.snapshot();
        let result = call(&scene);
        let what = format!("{from}, where the call has the outcome {outcome:?}");
        match outcome {
            Outcome::Refused => {
                assert!(result.is_err(), "{what}: it worked");
                let error = refused(result, subtype(from));
                let text = error.to_string();
                assert!(text.contains(from.name()), "the text does not name the state: {text}");
                scene.untouched(&before, &what);
            }
            Outcome::Nothing => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                scene.untouched(&before, &what);
            }
            Outcome::Ends => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                refused(scene.ep().query(), Subtype::InvalidHandleEp);
            }
            Outcome::To(next) => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                until(&what, || state(scene.ep()) == next);
            }
            Outcome::Works | Outcome::Flushed => {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(state(scene.ep()), from, "{what}");
            }
        }
        if outcome != Outcome::Refused {
            done(&scene, from, outcome);
        }
        scene.close();
    }
}

/// The `done` of calls without a further effect to check.
pub(super) fn nothing_more(_: &Scene, _: EpState, _: Outcome) {}
