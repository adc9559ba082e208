//! A queue pair whose sockets the polls of its completion queues read.

use std::os::fd::BorrowedFd;

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
        let found =
            PollOutcome { again: arrived.more, activity: state.arrivals, is_active: arrived.any };
        drop(state);
        if let Some(upcalls) = upcalls.pending() {
            self.core.submit(Job::Deliver(self.driven(), upcalls));
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
