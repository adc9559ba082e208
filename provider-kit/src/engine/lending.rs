//! Lending links: a link is read by the driver, or by the pollers of the completion
//! queues while they poll.

use std::sync::{Arc, Weak};

use rustix::event::epoll::EventFlags;

use super::connection::Connection;
use super::queue_pair::SoftQp;
use super::work_queues::WorkQueues;
use crate::completion_queue::Cq;
use crate::link::Armed;
use crate::polled_links::{Signal, Visit};

/// A link whose doorbell did not ring during this many checks returns to the driver.
const MAX_IDLE_CHECKS: u8 = 8;
/// After this many checks the doorbell is rung, because a broken peer may have cleared the bit.
const CHECKS_PER_RING: u8 = 4;

impl Connection {
    /// The events of the descriptor that the driver must wait for.
    pub(super) fn interest(&self) -> EventFlags {
        let readable = if self.is_lent || self.peer_failure.is_some() {
            EventFlags::empty()
        } else {
            EventFlags::IN
        };
        let awaits_space = self.is_write_blocked || self.has_backlog;
        let writable = if awaits_space && !self.is_write_closed {
            self.space_event
        } else {
            EventFlags::empty()
        };
        readable | writable
    }

    /// What the reader of the link waits for: the driver for the descriptor, pollers that
    /// do not read every link for the doorbell, if there is one.
    fn wanted_signal(&self, queues: &WorkQueues) -> Armed {
        if !self.is_lent || self.is_write_blocked || self.has_backlog {
            return Armed::Descriptor;
        }
        let mut queues = queues.completion_queues().zip(self.hot);
        if queues.all(|(queue, is_hot)| is_hot || !queue.links.is_selective()) {
            return Armed::Nothing;
        }
        match &self.signal {
            Some(Signal::Doorbell(_)) => Armed::Doorbell,
            _ => Armed::Descriptor,
        }
    }

    /// Tells the link what its reader waits for.
    pub(super) fn arm(&mut self, queues: &WorkQueues) {
        let armed = self.wanted_signal(queues);
        if std::mem::replace(&mut self.armed, armed) != armed {
            self.has_unread |= self.reader.as_mut().is_some_and(|reader| reader.arm(armed));
        }
    }

    /// Makes the pollers read the link, if they wait for the doorbell.
    pub(super) fn ring(&self) {
        if let (Armed::Doorbell, Some(Signal::Doorbell(doorbell))) = (self.armed, &self.signal) {
            doorbell.ring();
        }
    }

    /// Changes when requests arrive or complete.
    pub(super) fn activity(&self) -> u32 {
        self.executed.wrapping_add(self.sends.executed)
    }

    /// Whether the doorbell did not ring during several checks. The driver waits for the link then, so
    /// that its checks do not take time for each idle link.
    pub(super) fn is_idle(&mut self) -> bool {
        let activity = self.activity();
        let was_active = std::mem::replace(&mut self.activity_seen, activity) != activity;
        if was_active || self.armed != Armed::Doorbell {
            self.idle_checks = 0;
            return false;
        }
        self.idle_checks += 1;
        if self.idle_checks % CHECKS_PER_RING == 0 {
            self.ring();
        }
        self.idle_checks >= MAX_IDLE_CHECKS
    }

    /// Whether [`note_visit`](Self::note_visit) would change nothing.
    #[inline]
    pub(super) fn has_noted(&self, queues: &WorkQueues, visit: Visit) -> bool {
        let is_known = |(queue, is_hot): (&Arc<Cq>, bool)| {
            queue.links.number() == visit.queue && is_hot == visit.is_hot
        };
        visit.is_hot && self.hot == [true; 2]
            || queues.completion_queues().zip(self.hot).any(is_known)
    }

    /// A completion queue says whether each of its polls reads the link. If one begins to, the other
    /// one shall, too. Returns whether this is news.
    pub(super) fn note_visit(
        &mut self,
        queues: &WorkQueues,
        visit: Visit,
        link: &Weak<SoftQp>,
    ) -> bool {
        if self.has_noted(queues, visit) {
            return false;
        }
        for (queue, is_hot) in queues.completion_queues().zip(&mut self.hot) {
            if queue.links.number() == visit.queue && *is_hot != visit.is_hot {
                *is_hot = visit.is_hot;
                if visit.is_hot && queue.links.is_selective() {
                    self.suggest(queues, link);
                }
                return true;
            }
        }
        false
    }

    #[cold]
    fn suggest(&mut self, queues: &WorkQueues, link: &Weak<SoftQp>) {
        for (queue, is_hot) in queues.completion_queues().zip(&mut self.hot) {
            if !*is_hot && queue.links.is_selective() {
                *is_hot = true;
                let link: Weak<SoftQp> = Weak::clone(link);
                queue.links.suggest(link);
            }
        }
    }

    /// Lends the link if the completion queues were polled since the last check. Returns whether it
    /// is lent.
    pub(super) fn lend(&mut self, queues: &WorkQueues) -> bool {
        let polls = queues.polls();
        let count = polls.wrapping_sub(std::mem::replace(&mut self.polls_seen, polls));
        if count == 0 || self.leases.forbids_lease() {
            return false;
        }
        let refused = queues.completion_queues().position(|queue| !queue.links.lend());
        if let Some(refused) = refused {
            queues.completion_queues().take(refused).for_each(|queue| queue.links.take_back());
            return false;
        }
        self.is_lent = true;
        self.poller_reads = 0;
        true
    }

    pub(super) fn take_back(&mut self, queues: &WorkQueues) {
        if std::mem::take(&mut self.is_lent) {
            queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use dat_provider::Peer;

    use super::super::connection::Stage;
    use super::*;
    use crate::memory_link::{Wire, links};
    use crate::polled_links::quiet_link::QuietLink;

    /// Otherwise the driver would leave the first frames to a poller that no longer polls.
    #[test]
    fn polls_before_a_connection_do_not_count() {
        let queues = WorkQueues::unconfigured(1);
        let polled = &queues.requests.queue().links;
        polled.add(Arc::new(QuietLink));
        assert!(!polled.poll(), "the link is quiet");
        let [halves, _] = links(Wire::default());
        let peer = Peer { address: IpAddr::V4(Ipv4Addr::LOCALHOST).into(), port: 1 };
        let mut conn = Connection::new(Stage::AwaitReady, halves, 1, (peer, 1), 0);
        conn.open(&queues);
        assert!(!conn.lend(&queues));
        assert!(!polled.poll(), "the link is quiet");
        assert!(conn.lend(&queues));
    }
}
