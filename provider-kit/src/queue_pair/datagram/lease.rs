//! The reader of the sockets: the driver, or the polls of the completion queues while the consumer polls, or neither while
//! what has arrived finds no receive.
//!
//! A lease is one of polls as those of [links](crate::progress), with the same bound: while the sockets are lent, the
//! driver does not wait for them, and checks whether the consumer still polls.

use std::time::Duration;

use crate::progress::{LeaseEnd, LeaseHistory};
use crate::progress_mode::ProgressMode;
use crate::work_queues::WorkQueues;

/// The one that waits for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Driver,
    /// The sockets are lent.
    Pollers,
    /// Packets may wait for a receive. The next post of one makes the driver the reader again.
    Neither,
}

/// The lease of the sockets to pollers.
pub(super) struct Lease {
    reader: Reader,
    history: LeaseHistory,
    /// The number of polls of the completion queues at the last check of the driver.
    polls_seen: u64,
    /// The consumer has posted a datagram since that check.
    has_posted: bool,
}

impl Lease {
    /// The sockets of a new queue pair, whose adapter has a thread of this mode.
    pub(super) fn new(mode: ProgressMode) -> Self {
        Self {
            reader: Reader::Driver,
            history: LeaseHistory::new(mode),
            polls_seen: 0,
            has_posted: false,
        }
    }

    pub(super) fn is_lent(&self) -> bool {
        self.reader == Reader::Pollers
    }

    /// Returns true if the driver waits for packets.
    pub(super) fn is_with_driver(&self) -> bool {
        self.reader == Reader::Driver
    }

    /// The sockets were not read, because no receive is posted.
    pub(super) fn stall(&mut self) {
        if self.reader == Reader::Driver {
            self.reader = Reader::Neither;
        }
    }

    /// A receive was posted.
    pub(super) fn resume(&mut self) {
        if self.reader == Reader::Neither {
            self.reader = Reader::Driver;
        }
    }

    /// Returns true if the completion queues were polled since the driver last looked.
    fn is_polled(&mut self, queues: &WorkQueues) -> bool {
        let polls = queues.polls();
        std::mem::replace(&mut self.polls_seen, polls) != polls
    }

    /// The driver has received a datagram, or one waits for an acknowledgement. Lends the sockets if the consumer polls,
    /// and returns when the driver has to begin its checks.
    pub(super) fn begin(&mut self, queues: &WorkQueues, arrivals: u32) -> Option<Duration> {
        let may_lend = self.is_polled(queues) && !self.is_lent() && !self.history.forbids_lease();
        if !may_lend {
            return None;
        }
        let refused = queues.completion_queues().position(|queue| !queue.links.lend());
        if let Some(refused) = refused {
            // A waiter sleeps.
            queues.completion_queues().take(refused).for_each(|queue| queue.links.take_back());
            return None;
        }
        self.reader = Reader::Pollers;
        self.history.begin(arrivals);
        Some(self.history.first_interval())
    }

    /// A datagram was posted, and those that wait were sent as far as possible.
    pub(super) fn note_post(&mut self) {
        self.has_posted = true;
    }

    /// A check of the driver. Returns whether the sockets are still lent.
    pub(super) fn check(&mut self, queues: &WorkQueues) -> bool {
        let has_posted = std::mem::take(&mut self.has_posted);
        if self.is_lent() && !self.is_polled(queues) && !has_posted {
            self.end(queues);
        }
        self.is_lent()
    }

    /// The check has ended the lease. `arrivals` is the number of packets before the driver received what had waited.
    pub(super) fn note_end(&mut self, has_waited: bool, arrivals: u32) {
        self.history.end(if has_waited { LeaseEnd::Late } else { LeaseEnd::Unused }, arrivals);
    }

    /// Takes the sockets back from the pollers.
    pub(super) fn end(&mut self, queues: &WorkQueues) {
        if self.is_lent() {
            self.reader = Reader::Driver;
            queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::polled_links::quiet_link::QuietLink;

    /// Work queues whose completion queue has a link, so that its polls count.
    fn queues() -> WorkQueues {
        let queues = WorkQueues::unconfigured(1);
        queues.requests.queue().links.add(Arc::new(QuietLink));
        queues
    }

    fn poll(queues: &WorkQueues) {
        assert!(!queues.requests.queue().links.poll(), "the link is quiet");
    }

    #[test]
    fn the_sockets_are_lent_while_the_consumer_polls() {
        let (mut lease, queues) = (Lease::new(ProgressMode::Sleep), queues());
        assert_eq!(lease.begin(&queues, 1), None, "there were no polls");
        poll(&queues);
        assert!(lease.begin(&queues, 2).is_some());
        assert!(lease.is_lent());
        poll(&queues);
        assert!(lease.check(&queues), "there was a poll since the last look");
        assert!(!lease.check(&queues), "there was none");
        assert!(!lease.is_lent());
    }

    #[test]
    fn nothing_is_lent_to_a_sleeping_consumer() {
        let (mut lease, queues) = (Lease::new(ProgressMode::Sleep), queues());
        poll(&queues);
        queues.requests.queue().links.await_completions(true);
        assert_eq!(lease.begin(&queues, 1), None);
        queues.requests.queue().links.await_completions(false);
        poll(&queues);
        assert!(lease.begin(&queues, 1).is_some());
    }

    #[test]
    fn a_lease_in_which_a_datagram_waited_is_followed_by_a_pause() {
        let (mut lease, queues) = (Lease::new(ProgressMode::Sleep), queues());
        poll(&queues);
        assert!(lease.begin(&queues, 1).is_some());
        assert!(!lease.check(&queues));
        lease.note_end(true, 1);
        poll(&queues);
        assert_eq!(lease.begin(&queues, 2), None);
    }

    #[test]
    fn neither_waits_for_packets_without_a_receive() {
        let (mut lease, queues) = (Lease::new(ProgressMode::Sleep), queues());
        lease.stall();
        assert!(!lease.is_with_driver() && !lease.is_lent());
        lease.resume();
        assert!(lease.is_with_driver());
        poll(&queues);
        assert!(lease.begin(&queues, 1).is_some());
        lease.stall();
        lease.resume();
        assert!(lease.is_lent(), "the pollers are the readers");
        lease.end(&queues);
        assert!(lease.is_with_driver());
    }

    #[test]
    fn nothing_is_lent_while_the_thread_spins() {
        let (mut lease, queues) = (Lease::new(ProgressMode::Spin), queues());
        poll(&queues);
        assert_eq!(lease.begin(&queues, 1), None);
    }
}
