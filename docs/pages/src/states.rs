//! The endpoint states that allow a call, from the table of dat-core.

use dat_core::EpState;
use dat_core::table::{EpEvent, Step, step};

/// The states of an endpoint that allow or refuse a call.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// The states that allow it.
    pub states: Vec<EpState>,
    /// Those in which it is `DAT_INVALID_STATE`.
    pub refused: Vec<EpState>,
}

/// The states that allow an event, by its name in dat-core; `None` if there is no such event.
#[must_use]
pub fn allowed(event: &str) -> Option<Allowed> {
    let event = EpEvent::ALL.iter().copied().find(|it| it.name() == event)?;
    let (refused, states) =
        EpState::ALL.into_iter().partition(|state| step(*state, event) == Step::Refuse);
    Some(Allowed { states, refused })
}
