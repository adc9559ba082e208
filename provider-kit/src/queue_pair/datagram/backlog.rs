//! Datagrams that wait to be sent.

use std::collections::VecDeque;
use std::time::Instant;

use dat_provider::status::DtoStatus;

use super::address::Destination;
use crate::upcalls::Upcalls;
use crate::work_queues::{InFlight, WorkQueues};

/// The datagrams that wait, the oldest first.
#[derive(Default)]
pub(super) struct SendBacklog {
    pub(super) waiting: VecDeque<Waiting>,
    /// The obstacle of the first one.
    pub(super) obstacle: Obstacle,
    /// When the driver tries again.
    pub(super) retry: Option<Instant>,
}

/// What a datagram waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Space in the system.
    #[default]
    Space,
    /// An acknowledgement of the peer, or this time.
    Window(Instant),
}

/// A datagram that waits.
pub(super) struct Waiting {
    pub(super) to: Destination,
    /// The packet and space for a request, or the status of a datagram that is not sent.
    pub(super) packet: Result<Box<[u8]>, DtoStatus>,
    pub(super) request: InFlight,
}

impl SendBacklog {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns true if the first one waits for space in the system.
    pub(super) fn awaits_space(&self) -> bool {
        !self.is_empty() && self.obstacle == Obstacle::Space
    }

    /// Returns true if the first one waits for an acknowledgement.
    pub(super) fn awaits_acks(&self) -> bool {
        !self.is_empty() && self.obstacle != Obstacle::Space
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Completes all as flushed.
    pub(super) fn flush(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        for waiting in self.waiting.drain(..) {
            queues.complete_request(&waiting.request, 0, DtoStatus::Flushed, upcalls);
        }
    }
}
