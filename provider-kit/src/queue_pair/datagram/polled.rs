//! A queue pair whose sockets the polls of its completion queues read.

use std::os::fd::BorrowedFd;
use std::sync::Weak;

use dat_sync::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::DatagramQp;
use crate::polled_links::{PollInfo, PollOutcome, PolledLink, Signal};
use crate::progress::Job;
use crate::upcalls::Upcalls;

impl PolledLink for DatagramQp {
    fn poll(&self, _: PollInfo) -> PollOutcome {
        if !self.core.owner_process.is_current() {
            return PollOutcome::default();
        }
        let mut upcalls = Upcalls::default();
        let mut state = self.state.lock();
        let arrived = self.receive(&mut state, &mut upcalls);
        let mut is_any_sent = false;
        if !state.backlog.is_empty() {
            is_any_sent = self.send_waiting(&mut state, &mut upcalls);
            self.update_interest(&mut state);
        }
        let found = PollOutcome {
            again: arrived.more,
            activity: state.arrivals,
            is_active: arrived.any || is_any_sent,
        };
        drop(state);
        if let Some(upcalls) = upcalls.pending() {
            self.core.submit(Job::Deliver(Weak::clone(&self.driven), upcalls));
        }
        found
    }

    fn give_back(&self) {
        if self.core.owner_process.is_current() {
            let mut state = self.state.lock();
            let state = &mut *state;
            state.lease.end(&state.queues);
            // What has arrived makes the descriptor readable.
            self.update_interest(state);
        }
    }

    fn signal(&self) -> Option<Signal> {
        let state = self.state.lock();
        state.sockets.iter().next().map(|_| Signal::Descriptor)
    }

    fn join(&self, set: BorrowedFd<'_>, key: u64) -> bool {
        let state = self.state.lock();
        state.sockets.iter().all(|socket| {
            let data = epoll::EventData::new_u64(key);
            let added = epoll::add(set, socket.descriptor(), data, EventFlags::IN);
            matches!(added, Ok(()) | Err(Errno::EXIST))
        })
    }
}
