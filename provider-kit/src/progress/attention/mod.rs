//! The reader of a link: the driver, or the polls of the completion queues while the consumer polls.

mod table;

use std::sync::{Arc, Weak};

use rustix::event::epoll::EventFlags;

use super::lease_history::LeaseHistory;
use super::link_state::LinkState;
use crate::completion_queue::Cq;
use crate::link::{Armed, Reader};
use crate::polled_links::{PolledLink, Signal, Visit};
use crate::protocol::Transmit;
use crate::work_queues::WorkQueues;

pub(super) use table::LEASE_BOUND;
pub(crate) use table::{Event, State};

/// A link whose doorbell did not ring during this many checks returns to the driver.
const MAX_IDLE_CHECKS: u8 = 8;
/// After this many checks the doorbell is rung, because a broken peer may have cleared the bit.
const CHECKS_PER_RING: u8 = 4;
/// The link is lent after this many reads in a row in which the poller found a frame before the driver,
const MIN_POLLER_READS: u32 = 4;
/// or this many times as many reads that found nothing.
const IDLE_PER_READ: u32 = 128;

/// The reader of a link, and what decides it.
pub(crate) struct Attention {
    state: State,
    /// What the reader of the link waits for, as the link knows it.
    armed: Armed,
    /// The events of the descriptor that the driver waits for, once it watches the link.
    watched: Option<EventFlags>,
    /// The event of the descriptor that reports space for writing.
    space_event: EventFlags,
    /// How pollers find out that data has arrived, once one has asked.
    signal: Option<Signal>,
    /// Whether every poll of each completion queue reads the link.
    hot: [bool; 2],
    /// The activity at the last check, and number of checks since it changed.
    activity_seen: u32,
    idle_checks: u8,
    /// How often the completion queues had been polled at the last check.
    polls_seen: u64,
    /// Reads of pollers since the driver last read the link: those that found nothing, and 128 for each
    /// that found a frame.
    poller_reads: u32,
    /// Pauses lending after the peer had to wait for a poll.
    pub(crate) leases: LeaseHistory,
}

impl Attention {
    pub(crate) fn new(reader: &dyn Reader) -> Self {
        let space_event =
            if reader.is_readable_for_room() { EventFlags::IN } else { EventFlags::OUT };
        Self {
            state: State::Driver,
            armed: Armed::Descriptor,
            watched: None,
            space_event,
            signal: None,
            hot: [false; 2],
            activity_seen: 0,
            idle_checks: 0,
            polls_seen: 0,
            poller_reads: 0,
            leases: LeaseHistory::default(),
        }
    }

    /// The polls so far do not count for a lease.
    pub(crate) fn note_polls(&mut self, queues: &WorkQueues) {
        self.polls_seen = queues.polls();
    }

    #[inline]
    pub(crate) const fn is_lent(&self) -> bool {
        self.state.is_lent()
    }

    /// Whether every poll reads the link.
    #[inline]
    pub(crate) fn is_read_by_every_poll(&self) -> bool {
        self.armed == Armed::Nothing
    }

    /// What the reader waits for.
    pub(crate) const fn armed(&self) -> Armed {
        self.armed
    }

    /// An event that does not lend the link. Returns whether the state changes.
    pub(crate) fn note(&mut self, event: Event, queues: &WorkQueues) -> bool {
        let before = self.state;
        self.state = before.after(event);
        if before.is_lent() && !self.is_lent() {
            queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
        before != self.state
    }

    /// The driver has begun to wait for these events of the descriptor.
    pub(crate) const fn set_watched(&mut self, interest: EventFlags) {
        self.watched = Some(interest);
    }

    /// The events of the descriptor that the driver must wait for, if they have changed and the link is watched.
    pub(crate) fn changed_interest(
        &mut self,
        link: &LinkState,
        is_read: bool,
    ) -> Option<EventFlags> {
        let readable =
            if self.is_lent() || !is_read { EventFlags::empty() } else { EventFlags::IN };
        let writable = if link.has_unsent() { self.space_event } else { EventFlags::empty() };
        let interest = readable | writable;
        let is_changed = self.watched.is_some_and(|watched| watched != interest);
        is_changed.then(|| *self.watched.insert(interest))
    }

    /// The event that lends the link, by the way in which polls find what has arrived.
    fn way(&self, queues: &WorkQueues) -> Event {
        let mut all = queues.completion_queues().zip(self.hot);
        if all.all(|(queue, is_hot)| is_hot || !queue.links.is_selective()) {
            return Event::LentToEveryPoll;
        }
        match &self.signal {
            Some(Signal::Doorbell(_)) => Event::LentByDoorbell,
            _ => Event::LentByPollSet,
        }
    }

    /// Announces to the link what its reader waits for. Returns whether data has arrived that the link may not
    /// announce.
    pub(crate) fn arm(
        &mut self,
        queues: &WorkQueues,
        reader: &mut dyn Reader,
        link: &mut LinkState,
    ) -> bool {
        if self.is_lent() {
            self.state = self.state.after(self.way(queues));
        }
        let armed = match self.state {
            // Only the descriptor reports space.
            _ if link.has_unsent() => Armed::Descriptor,
            State::EveryPoll => Armed::Nothing,
            State::Doorbell => Armed::Doorbell,
            _ => Armed::Descriptor,
        };
        link.may_hold = armed == Armed::Nothing;
        std::mem::replace(&mut self.armed, armed) != armed && reader.arm(armed)
    }

    /// Whether polls read the link only when its descriptor is readable, so that none need follow.
    pub(crate) fn is_read_by_poll_set(&self) -> bool {
        self.state == State::PollSet
    }

    /// Makes the pollers read the link, if they wait for the doorbell.
    pub(crate) fn ring(&self) {
        if let (Armed::Doorbell, Some(Signal::Doorbell(doorbell))) = (self.armed, &self.signal) {
            doorbell.ring();
        }
    }

    /// How pollers find out that data has arrived.
    pub(crate) fn signal(&mut self, reader: &dyn Reader) -> Option<Signal> {
        if self.signal.is_none() {
            self.signal = match reader.doorbell() {
                Some(doorbell) => Some(Signal::Doorbell(doorbell)),
                None => reader.descriptor().map(|_| Signal::Descriptor),
            };
        }
        self.signal.clone()
    }

    /// Whether the doorbell did not ring during several checks. The driver waits for the link then, so
    /// that its checks do not take time for each idle link. `activity` changes when requests arrive or complete.
    pub(crate) fn is_idle(&mut self, activity: u32) -> bool {
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
    pub(crate) fn has_noted(&self, queues: &WorkQueues, visit: Visit) -> bool {
        let is_known = |(queue, is_hot): (&Arc<Cq>, bool)| {
            queue.links.number() == visit.queue && is_hot == visit.is_hot
        };
        visit.is_hot && self.hot == [true; 2]
            || queues.completion_queues().zip(self.hot).any(is_known)
    }

    /// A completion queue says whether each of its polls reads the link. If one begins to, the other
    /// one shall, too; `link` is its queue pair. Returns whether this is news.
    pub(crate) fn note_visit(
        &mut self,
        queues: &WorkQueues,
        visit: Visit,
        link: impl Fn() -> Weak<dyn PolledLink>,
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
    fn suggest(&mut self, queues: &WorkQueues, link: impl Fn() -> Weak<dyn PolledLink>) {
        for (queue, is_hot) in queues.completion_queues().zip(&mut self.hot) {
            if !*is_hot && queue.links.is_selective() {
                *is_hot = true;
                queue.links.suggest(link());
            }
        }
    }

    /// The driver reads the link.
    pub(crate) fn note_driver_read(&mut self) {
        self.poller_reads = 0;
    }

    /// A poll has read the link although it is not lent, and executed `requests` of the peer. Lends the link if polls
    /// are faster than the driver, which the system still wakes for each frame. Returns whether it is lent from now on.
    ///
    /// The driver may see no event then, so it does not lend the link by itself. It would never notice a consumer that
    /// polls an idle link.
    pub(crate) fn note_poller_read(
        &mut self,
        queues: &WorkQueues,
        has_arrived: bool,
        requests: u32,
        activity: u32,
    ) -> bool {
        self.leases.note_poll(requests);
        self.poller_reads += if has_arrived { IDLE_PER_READ } else { 1 };
        let is_faster = self.poller_reads >= MIN_POLLER_READS * IDLE_PER_READ;
        if is_faster {
            self.poller_reads = 0;
        }
        is_faster && self.lend(queues, activity)
    }

    /// Lends the link if the completion queues were polled since the last check. Returns whether it
    /// is lent. `activity` counts the requests of the connection that have arrived or completed so far.
    pub(crate) fn lend(&mut self, queues: &WorkQueues, activity: u32) -> bool {
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
        self.state = self.state.after(self.way(queues));
        self.poller_reads = 0;
        self.leases.begin(activity);
        true
    }
}

#[cfg(test)]
mod tests {
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
        let [(reader, _), _] = links(Wire::default());
        let mut attention = Attention::new(&*reader);
        attention.note_polls(&queues);
        assert!(!attention.lend(&queues, 0));
        assert!(!polled.poll(), "the link is quiet");
        assert!(attention.lend(&queues, 0));
    }
}
