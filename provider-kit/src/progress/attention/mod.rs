//! The reader of a link: the driver, or the polls of the completion queues while the consumer polls.

mod table;

use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::event::epoll::EventFlags;

use super::lease_history::{LeaseEnd, LeaseHistory};
use super::link_state::LinkState;
use crate::completion_queue::Cq;
use crate::link::{Armed, Reader};
use crate::polled_links::{PollInfo, PolledLink, Signal};
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
/// After this many polls since the last lease in which it awaited no request, a consumer does not only poll for its
/// requests.
const MIN_FREE_POLLS: u32 = 8;

/// How long a link is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// Until the requests of the consumer are complete.
    Borrowed,
    /// As long as the consumer polls.
    Poller,
}

/// Counts a lease for each completion queue. Returns false, without effect, if the consumer sleeps.
fn count_lease(queues: &WorkQueues) -> bool {
    let refused = queues.completion_queues().position(|queue| !queue.links.lend());
    if let Some(refused) = refused {
        queues.completion_queues().take(refused).for_each(|queue| queue.links.take_back());
    }
    refused.is_none()
}

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
    /// Number of polls since the last lease in which the consumer awaited none of its requests.
    free_polls: u32,
    /// The driver checks from time to time whether the consumer still polls.
    is_checked: bool,
    /// Pauses lending after the peer had to wait for a poll.
    pub(crate) leases: LeaseHistory,
    /// The same for leases until the requests of the consumer are complete.
    borrows: LeaseHistory,
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
            free_polls: 0,
            is_checked: false,
            leases: LeaseHistory::default(),
            borrows: LeaseHistory::default(),
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

    /// Whether the link is lent until the requests of the consumer are complete.
    #[inline]
    pub(crate) fn is_borrowed(&self) -> bool {
        self.state == State::Borrowed
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
    pub(crate) fn changed_interest(&mut self, link: &LinkState) -> Option<EventFlags> {
        let readable = if self.is_lent() { EventFlags::empty() } else { EventFlags::IN };
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
            let way = self.way(queues);
            if !self.is_borrowed() || way != Event::LentToEveryPoll {
                self.state = self.state.after(way);
            }
        }
        let armed = match self.state {
            // Only the descriptor reports space.
            _ if link.has_unsent() => Armed::Descriptor,
            State::Borrowed | State::EveryPoll => Armed::Nothing,
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

    /// Whether [`note_poll`](Self::note_poll) would change nothing.
    #[inline]
    pub(crate) fn has_noted(&self, queues: &WorkQueues, info: PollInfo) -> bool {
        let is_known = |(queue, is_hot): (&Arc<Cq>, bool)| {
            queue.links.number() == info.queue && is_hot == info.is_hot
        };
        info.is_hot && self.hot == [true; 2]
            || queues.completion_queues().zip(self.hot).any(is_known)
    }

    /// A completion queue says whether each of its polls reads the link. If one begins to, the other
    /// one shall, too; `link` is its queue pair. Returns whether this is news.
    pub(crate) fn note_poll(
        &mut self,
        queues: &WorkQueues,
        info: PollInfo,
        link: impl Fn() -> Weak<dyn PolledLink>,
    ) -> bool {
        if self.has_noted(queues, info) {
            return false;
        }
        for (queue, is_hot) in queues.completion_queues().zip(&mut self.hot) {
            if queue.links.number() == info.queue && *is_hot != info.is_hot {
                *is_hot = info.is_hot;
                if info.is_hot && queue.links.is_selective() {
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

    /// A poll has read the link, which is not lent for as long as the consumer polls, and executed `requests` of the
    /// peer; `awaits_requests` says whether the consumer polls for requests of its own. Lends the link if polls are
    /// faster than the driver, which the system still wakes for each frame. Returns whether it is lent from now on.
    ///
    /// The driver may see no event then, so it does not lend the link by itself. It would never notice a consumer that
    /// polls an idle link.
    pub(crate) fn note_poller_read(
        &mut self,
        queues: &WorkQueues,
        (has_arrived, awaits_requests): (bool, bool),
        requests: u32,
        activity: u32,
    ) -> bool {
        self.leases.note_poll(requests);
        self.free_polls = self.free_polls.saturating_add(u32::from(!awaits_requests));
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
        let is_trusted = self.free_polls >= MIN_FREE_POLLS || !self.leases.awaits_returns();
        let may_lend = count != 0 && is_trusted && !self.leases.forbids_lease();
        if !may_lend || !self.is_borrowed() && !count_lease(queues) {
            return false;
        }
        self.state = self.state.after(self.way(queues));
        (self.poller_reads, self.free_polls) = (0, 0);
        self.leases.begin(activity);
        true
    }

    /// The consumer polls for its requests, and the link is not lent. Lends it until they are complete, if each poll
    /// reads it. Returns when the driver has to begin its checks, unless it makes them already; `activity` is as for
    /// [`lend`](Self::lend).
    pub(crate) fn borrow(&mut self, queues: &WorkQueues, activity: u32) -> Option<Duration> {
        let may_borrow = self.way(queues) == Event::LentToEveryPoll
            && !self.borrows.forbids_lease()
            && count_lease(queues);
        if !may_borrow {
            return None;
        }
        self.state = self.state.after(Event::AwaitsRequests);
        self.free_polls = 0;
        self.borrows.begin(activity);
        let is_checked = std::mem::replace(&mut self.is_checked, true);
        (!is_checked).then(|| self.borrows.first_interval())
    }

    /// The requests of the consumer are complete, and it returns the link.
    pub(crate) fn note_requests_done(&mut self, queues: &WorkQueues) {
        self.note(Event::RequestsDone, queues);
        self.leases.note_return();
    }

    /// The driver no longer checks whether the consumer polls.
    pub(crate) const fn end_checks(&mut self) {
        self.is_checked = false;
    }

    /// A lease ends; `activity` is as for [`lend`](Self::lend), before the driver reads.
    pub(crate) fn end_lease(&mut self, kind: Lease, end: LeaseEnd, activity: u32) {
        match kind {
            Lease::Poller => self.leases.end(end, activity),
            Lease::Borrowed => self.borrows.end(end, activity),
        }
    }

    /// The lease of the link, if it is lent.
    pub(crate) const fn lease(&self) -> Option<Lease> {
        match self.state {
            State::Borrowed => Some(Lease::Borrowed),
            State::EveryPoll | State::Doorbell | State::PollSet => Some(Lease::Poller),
            State::Driver | State::NextPass | State::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lease_history::WORTHWHILE;
    use super::*;
    use crate::memory_link::{MemoryLinkConfig, links};
    use crate::polled_links::quiet_link::QuietLink;

    /// Otherwise the driver would leave the first frames to a poller that no longer polls.
    #[test]
    fn polls_before_a_connection_do_not_count() {
        let queues = WorkQueues::unconfigured(1);
        let polled = &queues.requests.queue().links;
        polled.add(Arc::new(QuietLink));
        assert!(!polled.poll(), "the link is quiet");
        let [(reader, _), _] = links(MemoryLinkConfig::default());
        let mut attention = Attention::new(&*reader);
        attention.note_polls(&queues);
        assert!(!attention.lend(&queues, 0));
        assert!(!polled.poll(), "the link is quiet");
        assert!(attention.lend(&queues, 0));
    }

    fn polled() -> (Attention, WorkQueues) {
        let queues = WorkQueues::unconfigured(1);
        let polled = &queues.requests.queue().links;
        polled.add(Arc::new(QuietLink));
        assert!(!polled.poll(), "the link is quiet");
        let [(reader, _), _] = links(MemoryLinkConfig::default());
        (Attention::new(&*reader), queues)
    }

    #[test]
    fn a_consumer_that_polls_for_its_requests_only_borrows_the_link() {
        let (mut attention, queues) = polled();
        attention.leases.end(LeaseEnd::Late, WORTHWHILE);
        for _ in 0..2 * MIN_POLLER_READS {
            let is_lent = attention.note_poller_read(&queues, (true, true), 1, 0);
            assert!(!is_lent, "each poll awaits a request");
        }
        assert!(attention.borrow(&queues, 0).is_some(), "the driver begins its checks");
        assert_eq!(attention.lease(), Some(Lease::Borrowed));
        attention.note_requests_done(&queues);
        assert_eq!(attention.lease(), None);
        assert!(attention.borrow(&queues, 0).is_none(), "the driver makes its checks");
        assert!(attention.is_borrowed());
    }

    #[test]
    fn a_late_borrower_has_to_wait() {
        let (mut attention, queues) = polled();
        assert!(attention.borrow(&queues, 0).is_some());
        attention.note(Event::ConsumerAway, &queues);
        attention.end_checks();
        attention.end_lease(Lease::Borrowed, LeaseEnd::Late, 0);
        assert!(attention.borrow(&queues, 0).is_none());
        assert!(!attention.is_lent());
    }
}
