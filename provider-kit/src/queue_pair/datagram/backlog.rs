//! Datagrams that wait until the system has space for them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use dat_provider::status::DtoStatus;

use crate::upcalls::Upcalls;
use crate::work_queues::{InFlight, WorkQueues};

/// The datagrams for which the system had no space, the oldest first.
#[derive(Default)]
pub(super) struct SendBacklog(pub(super) VecDeque<Waiting>);

/// A datagram that waits.
pub(super) struct Waiting {
    pub(super) from: Option<SocketAddr>,
    pub(super) to: SocketAddr,
    pub(super) packet: Box<[u8]>,
    pub(super) request: InFlight,
}

impl SendBacklog {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Completes all as flushed.
    pub(super) fn flush(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        for waiting in self.0.drain(..) {
            queues.complete_request(&waiting.request, 0, DtoStatus::Flushed, upcalls);
        }
    }
}
