//! The model of the manual pages: what each event does to an endpoint.

use dat_core::table::EpEvent;
use dat_core::{ConnectionEventKind as Kind, EpState};

/// The phase of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Created or reset.
    Idle,
    /// The endpoint of a reserved service point.
    Reserved,
    /// Its request, on a reserved service point, waits for the consumer's answer.
    Passive,
    /// Its request, for which the provider created the endpoint, waits for the consumer's answer.
    Tentative,
    /// The consumer requested a connection.
    Asking,
    /// The consumer accepted a request.
    Accepting,
    /// The connection is established.
    Up(Paths),
    /// The consumer ended the connection, and posted operations finish.
    Closing,
    /// The connection or the attempt has ended.
    Down,
}

/// The paths of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paths {
    Plain,
    OneLeft,
    Several,
}

/// An endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) phase: Phase,
    pub(super) zone: bool,
}

/// The outcome of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It enters that phase, and the consumer may receive an event.
    Moves(Phase, Option<Kind>),
    /// It receives its zone.
    GetsZone,
    /// It returns to the phase before the accept.
    GoesBack,
    /// It ends.
    Ends,
    /// The call is allowed and does not change the state.
    Allowed,
    /// `DAT_INVALID_STATE`.
    Refused,
    /// The report is too late, too early, or impossible.
    Void,
}

impl Model {
    /// No connection has been requested or accepted yet.
    fn is_early(self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Reserved | Phase::Passive | Phase::Tentative)
    }

    fn has_request(self) -> bool {
        matches!(self.phase, Phase::Passive | Phase::Tentative)
    }

    pub(super) fn state(self) -> EpState {
        match (self.phase, self.zone) {
            (Phase::Idle, true) => EpState::Unconnected,
            (Phase::Idle, false) => EpState::UnconfiguredUnconnected,
            (Phase::Reserved, true) => EpState::Reserved,
            (Phase::Reserved, false) => EpState::UnconfiguredReserved,
            (Phase::Passive, true) => EpState::PassiveConnectionPending,
            (Phase::Passive, false) => EpState::UnconfiguredPassive,
            (Phase::Tentative, true) => EpState::TentativeConnectionPending,
            (Phase::Tentative, false) => EpState::UnconfiguredTentative,
            (Phase::Asking, _) => EpState::ActiveConnectionPending,
            (Phase::Accepting, _) => EpState::CompletionPending,
            (Phase::Up(Paths::Plain), _) => EpState::Connected,
            (Phase::Up(Paths::OneLeft), _) => EpState::ConnectedSinglePath,
            (Phase::Up(Paths::Several), _) => EpState::ConnectedMultiPath,
            (Phase::Closing, _) => EpState::DisconnectPending,
            (Phase::Down, _) => EpState::Disconnected,
        }
    }

    /// Every possible endpoint.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let early = [Phase::Idle, Phase::Reserved, Phase::Passive, Phase::Tentative];
        let late = [
            Phase::Asking,
            Phase::Accepting,
            Phase::Up(Paths::Plain),
            Phase::Up(Paths::OneLeft),
            Phase::Up(Paths::Several),
            Phase::Closing,
            Phase::Down,
        ];
        let without = early.into_iter().map(|phase| Self { phase, zone: false });
        without.chain(early.into_iter().chain(late).map(|phase| Self { phase, zone: true }))
    }

    fn call(allowed: bool) -> Outcome {
        if allowed { Outcome::Allowed } else { Outcome::Refused }
    }

    fn moves_if(allowed: bool, phase: Phase) -> Outcome {
        if allowed { Outcome::Moves(phase, None) } else { Outcome::Refused }
    }

    fn reported_if(possible: bool, phase: Phase, told: Option<Kind>) -> Outcome {
        if possible { Outcome::Moves(phase, told) } else { Outcome::Void }
    }

    pub(super) fn outcome(self, event: EpEvent) -> Outcome {
        use EpEvent as E;
        use Phase as P;
        let phase = self.phase;
        match event {
            // Calls of the consumer.
            E::Connect => Self::moves_if(phase == P::Idle && self.zone, P::Asking),
            E::Reserve => Self::moves_if(phase == P::Idle, P::Reserved),
            E::Accept => {
                let may = phase == P::Idle || self.has_request();
                Self::moves_if(may && self.zone, P::Accepting)
            }
            E::DisconnectGraceful | E::DisconnectAbrupt => match phase {
                P::Asking | P::Accepting => Outcome::Moves(P::Down, Some(Kind::Disconnected)),
                P::Up(_) => Outcome::Moves(P::Closing, None),
                P::Closing if event == E::DisconnectAbrupt => Outcome::Moves(P::Closing, None),
                P::Closing | P::Down => Outcome::Allowed,
                _ => Outcome::Refused,
            },
            E::Reset => match phase {
                P::Down => Outcome::Moves(P::Idle, None),
                _ => Self::call(phase == P::Idle),
            },
            E::Free => match phase {
                P::Reserved | P::Passive | P::Tentative => Outcome::Refused,
                _ => Outcome::Ends,
            },
            E::PostReceive => Self::call(self.zone),
            E::PostRequest => Self::call(matches!(phase, P::Up(_) | P::Down)),
            E::ModifyZone => {
                let quiescent = matches!(phase, P::Idle | P::Tentative);
                Self::call(quiescent || !self.zone)
            }
            E::ModifyAttributes => Self::call(self.is_early()),
            E::ModifySpecific => Self::call(phase == P::Idle),

            // Consequences of calls.
            E::ConnectUndone => Self::reported_if(phase == P::Asking, P::Idle, None),
            E::AcceptUndone if phase == P::Accepting => Outcome::GoesBack,
            E::AcceptUndone => Outcome::Void,
            E::Release => Self::reported_if(phase == P::Reserved, P::Idle, None),
            E::Reject => Self::reported_if(self.has_request(), P::Idle, None),
            E::Configured if !self.zone => Outcome::GetsZone,
            E::Configured if self.is_early() => Outcome::Allowed,
            E::Configured => Outcome::Void,

            // Reports of the service point, the transport and the timer.
            E::RequestArrived => match phase {
                P::Reserved => Outcome::Moves(P::Passive, None),
                P::Idle => Outcome::Moves(P::Tentative, None),
                _ => Outcome::Void,
            },
            E::Established => self.established(Paths::Plain),
            E::EstablishedMultiPath => self.established(Paths::Several),
            E::PathLost => {
                let several = phase == P::Up(Paths::Several);
                Self::reported_if(several, P::Up(Paths::OneLeft), None)
            }
            E::PathGained => {
                let one = phase == P::Up(Paths::OneLeft);
                Self::reported_if(one, P::Up(Paths::Several), None)
            }
            E::PeerRejected => self.fails(Kind::PeerRejected),
            E::NonPeerRejected => self.fails(Kind::NonPeerRejected),
            E::Unreachable => self.fails(Kind::Unreachable),
            E::TransportTimedOut => self.fails(Kind::TimedOut),
            E::AcceptFailed => self.fails(Kind::NonPeerRejected),
            E::ConnectTimedOut => {
                Self::reported_if(phase == P::Asking, P::Down, Some(Kind::TimedOut))
            }
            E::HardWatermark => {
                let stands = matches!(phase, P::Up(_));
                Self::reported_if(stands, P::Down, Some(Kind::Broken))
            }
            E::Disconnected => self.over(Kind::Disconnected),
            E::Broken => self.over(Kind::Broken),
        }
    }

    fn established(self, paths: Paths) -> Outcome {
        let awaited = matches!(self.phase, Phase::Asking | Phase::Accepting);
        Self::reported_if(awaited, Phase::Up(paths), Some(Kind::Established))
    }

    /// The attempt failed: the active side learns the reason, the passive side that its accept
    /// could not be completed.
    fn fails(self, why: Kind) -> Outcome {
        match self.phase {
            Phase::Asking => Outcome::Moves(Phase::Down, Some(why)),
            Phase::Accepting => Outcome::Moves(Phase::Down, Some(Kind::AcceptCompletionError)),
            _ => Outcome::Void,
        }
    }

    /// The connection is over; if it was never established, the attempt failed.
    fn over(self, how: Kind) -> Outcome {
        match self.phase {
            Phase::Up(_) | Phase::Closing => Outcome::Moves(Phase::Down, Some(how)),
            _ => self.fails(Kind::NonPeerRejected),
        }
    }
}
