//! A queue pair whose sockets the driver reads, or checks while they are lent.

use dat_sync::clock;

use super::DatagramQp;
use crate::progress::{Driven, EventOrder, LinkStatus};

impl Driven for DatagramQp {
    fn break_off(&self, _: &mut EventOrder) {
        self.end();
    }

    fn progress(&self, _: &mut EventOrder) -> LinkStatus {
        self.with_state(|state, upcalls| {
            if state.backlog.retry.is_some_and(|retry| retry <= clock::now()) {
                state.backlog.retry = None;
            }
            self.send_waiting(state, upcalls);
            let arrived = self.receive(state, upcalls);
            if arrived.more {
                return LinkStatus::HasMore;
            }
            let lease = arrived.any.then(|| state.lease.begin(&state.queues, state.arrivals));
            lease.flatten().map_or(LinkStatus::Idle, LinkStatus::Lent)
        })
    }

    fn check_lease(&self, _: &mut EventOrder) -> bool {
        self.with_state(|state, upcalls| {
            if !state.lease.is_lent() || state.lease.check(&state.queues) {
                return state.lease.is_lent();
            }
            let before = state.arrivals;
            // What this leaves behind makes the descriptor readable.
            let is_any_sent = self.send_waiting(state, upcalls);
            let arrived = self.receive(state, upcalls);
            state.lease.note_end(arrived.any || is_any_sent, before);
            false
        })
    }
}
