//! What a scenario must do, computed from its steps alone.

use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};

use super::place::{Area, Place};
use super::script::{Scenario, Step};

/// How a request or receive ends, unless the connection ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A success, with length, operation and immediate data.
    Success(u64, Operation, u64),
    Failure(DtoStatus),
    /// It never ends: the peer posts no receive for it, or it is behind such a request or a failure.
    Never,
}

impl Fate {
    pub(super) const fn status(self) -> DtoStatus {
        match self {
            Self::Success(..) => DtoStatus::Success,
            Self::Failure(status) => status,
            Self::Never => DtoStatus::Flushed,
        }
    }
}

/// The requests of one side, and the receives of its peer.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    pub(super) requests: Vec<(Fate, CompletionFlags)>,
    pub(super) receives: Vec<Fate>,
    /// True if the peer binds its window.
    has_window: bool,
}

impl Direction {
    /// The direction from a side to its peer.
    pub(super) fn new(scenario: &Scenario, side: usize) -> Self {
        let space = scenario.receives(1 - side);
        let has_window =
            scenario.requests(1 - side).any(|(step, _)| matches!(step, Step::Bind { .. }));
        let mut all = Self { has_window, ..Self::default() };
        let mut goes_on = true;
        for (step, flags) in scenario.requests(side) {
            let fate = if goes_on { all.next(step, &space) } else { Fate::Never };
            goes_on &= fate.status() == DtoStatus::Success;
            all.requests.push((fate, flags));
        }
        all.receives.resize(space.len(), Fate::Never);
        all
    }

    fn next(&mut self, step: Step, space: &[usize]) -> Fate {
        let receive = match step {
            Step::Send(_) => Operation::Receive,
            Step::SendImmediate { .. } => Operation::ReceiveSendImmediate,
            Step::SendInvalidate(_) => Operation::ReceiveWithInvalidate,
            Step::WriteImmediate { .. } => Operation::ReceiveImmediate,
            _ => return alone(step),
        };
        let Some(space) = space.get(self.receives.len()) else { return Fate::Never };
        if receive == Operation::ReceiveWithInvalidate && !self.has_window {
            return Fate::Failure(DtoStatus::RemoteAccess);
        }
        let (length, immediate, operation) = match step {
            Step::WriteImmediate { length, value, .. } => {
                (length, value.into(), Operation::RdmaWriteImmediate)
            }
            Step::SendImmediate { length, value } => (length, value.into(), Operation::Send),
            Step::Send(length) | Step::SendInvalidate(length) => (length, 0, Operation::Send),
            _ => return Fate::Never,
        };
        if length > *space && receive != Operation::ReceiveImmediate {
            self.receives.push(Fate::Failure(DtoStatus::LocalLength));
            return Fate::Failure(DtoStatus::RemoteResponder);
        }
        self.receives.push(Fate::Success(length as u64, receive, immediate));
        Fate::Success(length as u64, operation, 0)
    }

    /// Returns true if a request of this direction fails.
    pub(super) fn fails(&self) -> bool {
        self.requests.iter().any(|(fate, _)| matches!(fate, Fate::Failure(_)))
    }

    /// Number of requests that succeed unless the connection ends first.
    pub(super) fn successes(&self) -> usize {
        let is_success = |(fate, _): &&(Fate, _)| fate.status() == DtoStatus::Success;
        self.requests.iter().take_while(is_success).count()
    }
}

/// The fate of a request that needs no receive.
fn alone(step: Step) -> Fate {
    let success = |length: usize, operation| Fate::Success(length as u64, operation, 0);
    match step {
        Step::Write { length, .. } | Step::WriteWindow { length, .. } => {
            success(length, Operation::RdmaWrite)
        }
        Step::Read { length, .. } => success(length, Operation::RdmaRead),
        Step::Add { .. } => success(8, Operation::FetchAdd),
        Step::Swap { .. } => success(8, Operation::CompareSwap),
        Step::Bind { .. } => Fate::Success(0, Operation::Bind, super::place::TAG),
        Step::WrongKey => Fate::Failure(DtoStatus::RemoteAccess),
        Step::WrongMemory => Fate::Failure(DtoStatus::LocalProtection),
        _ => Fate::Never,
    }
}

/// The word at an offset.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}

/// The memory of both sides after the first requests of each: `counts` of them.
pub(super) fn memory(scenario: &Scenario, places: [&Place; 2], counts: [usize; 2]) -> [Vec<u8>; 2] {
    let mut all = places.map(|place| place.initial.clone());
    for side in 0..2 {
        let (near, far) = (places[side], places[1 - side]);
        let mut receive = 0;
        for (number, (step, _)) in scenario.requests(side).enumerate().take(counts[side]) {
            let source = near.offset(Area::Source, number);
            let result = near.offset(Area::Result, number);
            let target = |slot| far.offset(Area::Target, slot);
            let mut put = |from: (usize, usize), to: (usize, usize), length: usize| {
                let bytes = all[from.0][from.1..from.1 + length].to_vec();
                all[to.0][to.1..to.1 + length].copy_from_slice(&bytes);
            };
            match step {
                Step::Send(length)
                | Step::SendInvalidate(length)
                | Step::SendImmediate { length, .. } => {
                    let to = far.offset(Area::Receive, receive);
                    put((side, source), (1 - side, to), length);
                    receive += 1;
                }
                Step::Write { length, slot } | Step::WriteWindow { length, slot } => {
                    put((side, source), (1 - side, target(slot)), length);
                }
                Step::WriteImmediate { length, slot, .. } => {
                    put((side, source), (1 - side, target(slot)), length);
                    receive += 1;
                }
                Step::Read { length, slot } => {
                    put((1 - side, target(slot)), (side, result), length)
                }
                Step::Add { slot, .. } | Step::Swap { slot, .. } => {
                    put((1 - side, target(slot)), (side, result), 8);
                    let at = target(slot);
                    let before = word(&all[1 - side], at);
                    let after = match step {
                        Step::Add { add, .. } => before.wrapping_add(add),
                        Step::Swap { value, .. } if before == word(&far.initial, at) => value,
                        _ => before,
                    };
                    all[1 - side][at..at + 8].copy_from_slice(&after.to_ne_bytes());
                }
                _ => {}
            }
        }
    }
    all
}
