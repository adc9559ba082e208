//! The choice of a link's reader: the driver, or the polls of the completion queues while the consumer polls.

mod table;

use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::event::epoll::EventFlags;

use super::lease_history::{LeaseEnd, LeaseHistory};
use super::link_state::LinkState;
use crate::completion_queue::Cq;
use crate::link::{Armed, Reader};
use crate::polled_links::{PollInfo, PolledLink, Signal};
use crate::progress_mode::ProgressMode;
use crate::protocol::Transmit;
use crate::work_queues::WorkQueues;

pub(super) use table::LEASE_BOUND;
pub(crate) use table::{Event, State};

/// A link whose doorbell did not ring during this many checks returns to the driver.
const MAX_IDLE_CHECKS: u8 = 8;
/// After this many checks the doorbell is rung, because a broken peer may have cleared the bit.
const CHECKS_PER_RING: u8 = 4;
/// The link is lent after this many consecutive reads in which the poller found a frame before the driver,
const MIN_POLLER_READS: u32 = 4;
/// or after this many times as many reads that found nothing.
const IDLE_PER_READ: u32 = 128;
/// If a consumer polls this often after the last lease without awaiting a request of its own, it does not poll only for
/// its requests.
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

/// The reader of a link, and the state that determines it.
pub(crate) struct Attention {
    state: State,
    /// The event that the reader awaits, as announced to the link.
    armed: Armed,
    /// The events of the descriptor that the driver awaits; `None` until it watches the link.
    watched: Option<EventFlags>,
    /// The event of the descriptor that reports space for writing.
    space_event: EventFlags,
    /// How pollers detect data; `None` until the first one asks.
    signal: Option<Signal>,
    /// For each completion queue, true if every poll reads the link.
    hot: [bool; 2],
    /// Activity at the last check, and number of checks since it changed.
    activity_seen: u32,
    idle_checks: u8,
    /// Poll count of the completion queues at the last check.
    polls_seen: u64,
    /// Reads by pollers since the last read by the driver. A read that found a frame counts 128.
    poller_reads: u32,
    /// Polls since the last lease in which the consumer awaited none of its requests.
    free_polls: u32,
    /// True while the driver checks periodically that the consumer still polls.
    is_checked: bool,
    /// Pauses lending after the peer had to wait for a poll.
    pub(crate) leases: LeaseHistory,
    /// The same for leases that last until the consumer's requests complete.
    borrows: LeaseHistory,
}

impl Attention {
    pub(crate) fn new(reader: &dyn Reader, mode: ProgressMode) -> Self {
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
            leases: LeaseHistory::new(mode),
            borrows: LeaseHistory::new(mode),
        }
    }

    /// Excludes the polls so far from the decision to lend.
    pub(crate) fn note_polls(&mut self, queues: &WorkQueues) {
        self.polls_seen = queues.polls();
    }

    #[inline]
    pub(crate) const fn is_lent(&self) -> bool {
        self.state.is_lent()
    }

    /// The state, by its name in docs/attention.md.
    pub(crate) const fn reader(&self) -> &'static str {
        self.state.name()
    }

    /// Returns true if the link is lent until the consumer's requests complete.
    #[inline]
    pub(crate) fn is_borrowed(&self) -> bool {
        self.state == State::Borrowed
    }

    /// Returns true if a waiter sleeps on the link, or is about to, or has just woken up.
    pub(crate) fn is_slept_on(&self) -> bool {
        matches!(self.state, State::Waiter | State::WordWaiter)
    }

    /// Returns true if a waiter may sleep on the link and read it, which a thread that spins reads itself.
    pub(crate) const fn permits_waiter(&self) -> bool {
        self.leases.has_leases() && !matches!(self.state, State::NextPass | State::Closed)
    }

    /// Returns true if every poll reads the link.
    #[inline]
    pub(crate) fn is_read_by_every_poll(&self) -> bool {
        self.armed == Armed::Nothing
    }

    /// Returns the event that the reader awaits.
    pub(crate) const fn armed(&self) -> Armed {
        self.armed
    }

    /// Handles an event that does not lend the link. Returns true if the state changes.
    pub(crate) fn note(&mut self, event: Event, queues: &WorkQueues) -> bool {
        let before = self.state;
        self.state = before.after(event);
        if before.is_lent() && !self.is_lent() {
            queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
        before != self.state
    }

    /// Records the events of the descriptor that the driver awaits.
    pub(crate) const fn set_watched(&mut self, interest: EventFlags) {
        self.watched = Some(interest);
    }

    /// Returns the events of the descriptor that the driver must await, if they have changed and it watches the link.
    pub(crate) fn changed_interest(&mut self, link: &LinkState) -> Option<EventFlags> {
        let is_read_otherwise = self.is_lent() || self.state == State::Waiter;
        let readable = if is_read_otherwise { EventFlags::empty() } else { EventFlags::IN };
        let writable = if link.has_unsent() { self.space_event } else { EventFlags::empty() };
        let interest = readable | writable;
        let is_changed = self.watched.is_some_and(|watched| watched != interest);
        is_changed.then(|| *self.watched.insert(interest))
    }

    /// Returns the event that lends the link, which depends on how polls detect data.
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

    /// Announces to the link which event its reader awaits. Returns true if data may have arrived unannounced.
    pub(crate) fn arm(
        &mut self,
        queues: &WorkQueues,
        reader: &mut dyn Reader,
        link: &mut LinkState,
    ) -> bool {
        if self.state == State::WordWaiter {
            // `Reader::begin_sleep` has armed the word, and the driver awaits the descriptor, too.
            (self.armed, link.may_hold) = (Armed::Word, false);
            return false;
        }
        if self.is_lent() {
            let way = self.way(queues);
            if !self.is_borrowed() || way != Event::LentToEveryPoll {
                self.state = self.state.after(way);
            }
        }
        let armed = match self.state {
            // Only the descriptor reports free space.
            _ if link.has_unsent() => Armed::Descriptor,
            State::Borrowed | State::EveryPoll => Armed::Nothing,
            State::Doorbell => Armed::Doorbell,
            _ => Armed::Descriptor,
        };
        link.may_hold = armed == Armed::Nothing;
        std::mem::replace(&mut self.armed, armed) != armed && reader.arm(armed)
    }

    /// Returns true if polls read the link only when its descriptor is readable, so that no further poll of it is certain.
    pub(crate) fn is_read_by_poll_set(&self) -> bool {
        self.state == State::PollSet
    }

    /// Rings the doorbell, if the pollers wait for it.
    pub(crate) fn ring(&self) {
        if let (Armed::Doorbell, Some(Signal::Doorbell(doorbell))) = (self.armed, &self.signal) {
            doorbell.ring();
        }
    }

    /// Returns how pollers detect data on the link.
    pub(crate) fn signal(&mut self, reader: &dyn Reader) -> Option<Signal> {
        if self.signal.is_none() {
            self.signal = match reader.doorbell() {
                Some(doorbell) => Some(Signal::Doorbell(doorbell)),
                None => reader.descriptor().map(|_| Signal::Descriptor),
            };
        }
        self.signal.clone()
    }

    /// Returns true if the doorbell has not rung for several checks. The driver then takes the link back, to save the
    /// checks of idle links. `activity` changes when requests arrive or complete.
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

    /// Returns true if [`note_poll`](Self::note_poll) would have no effect.
    #[inline]
    pub(crate) fn has_noted(&self, queues: &WorkQueues, info: PollInfo) -> bool {
        let is_known = |(queue, is_hot): (&Arc<Cq>, bool)| {
            queue.links.number() == info.queue && is_hot == info.is_hot
        };
        info.is_hot && self.hot == [true; 2]
            || queues.completion_queues().zip(self.hot).any(is_known)
    }

    /// Records whether every poll of one completion queue reads the link. If so, the other queue is asked to do the
    /// same; `link` is its queue pair. Returns true on a change.
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
                    self.request_hot(queues, link);
                }
                return true;
            }
        }
        false
    }

    #[cold]
    fn request_hot(&mut self, queues: &WorkQueues, link: impl Fn() -> Weak<dyn PolledLink>) {
        for (queue, is_hot) in queues.completion_queues().zip(&mut self.hot) {
            if !*is_hot && queue.links.is_selective() {
                *is_hot = true;
                queue.links.request_hot(link());
            }
        }
    }

    /// The driver has read the link.
    pub(crate) fn note_driver_read(&mut self) {
        self.poller_reads = 0;
    }

    /// A poll has read the link, which is not lent to the poller, and executed `requests` of the peer;
    /// `awaits_requests` is true if the consumer polls for requests of its own. Lends the link if polls are faster than
    /// the driver, which the kernel still wakes for each frame. Returns true if it is now lent.
    ///
    /// The driver cannot decide this: it may see no event, and never notices a consumer that polls an idle link.
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

    /// Lends the link if the completion queues were polled since the last check. Returns true if it is lent. `activity`
    /// counts the requests of the connection that have arrived or completed.
    pub(crate) fn lend(&mut self, queues: &WorkQueues, activity: u32) -> bool {
        let polls = queues.polls();
        let count = polls.wrapping_sub(std::mem::replace(&mut self.polls_seen, polls));
        let is_trusted = self.free_polls >= MIN_FREE_POLLS || !self.leases.awaits_returns();
        let is_wanted = count != 0 && is_trusted && !self.is_slept_on();
        let may_lend = is_wanted && !self.leases.forbids_lease();
        if !may_lend || !self.is_borrowed() && !count_lease(queues) {
            return false;
        }
        self.state = self.state.after(self.way(queues));
        (self.poller_reads, self.free_polls) = (0, 0);
        self.leases.begin(activity);
        true
    }

    /// The consumer polls for its requests. Lends the link until they complete, if it is not lent and each poll reads
    /// it. Returns the time to the first check, unless the driver makes checks already; for `activity`, see
    /// [`lend`](Self::lend).
    pub(crate) fn borrow(&mut self, queues: &WorkQueues, activity: u32) -> Option<Duration> {
        let may_borrow = !self.is_slept_on()
            && self.way(queues) == Event::LentToEveryPoll
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

    /// The requests of the consumer are complete: ends the loan.
    pub(crate) fn note_requests_done(&mut self, queues: &WorkQueues) {
        self.note(Event::RequestsDone, queues);
        self.leases.note_return();
    }

    /// The driver stops its checks of the consumer.
    pub(crate) const fn end_checks(&mut self) {
        self.is_checked = false;
    }

    /// Ends a lease; `activity` is as for [`lend`](Self::lend), before the driver reads.
    pub(crate) fn end_lease(&mut self, kind: Lease, end: LeaseEnd, activity: u32) {
        match kind {
            Lease::Poller => self.leases.end(end, activity),
            Lease::Borrowed => self.borrows.end(end, activity),
        }
    }

    /// Returns the lease of the link, if any.
    pub(crate) const fn lease(&self) -> Option<Lease> {
        match self.state {
            State::Borrowed => Some(Lease::Borrowed),
            State::EveryPoll | State::Doorbell | State::PollSet => Some(Lease::Poller),
            State::Driver | State::NextPass | State::Waiter | State::WordWaiter | State::Closed => {
                None
            }
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
        let mut attention = Attention::new(&*reader, ProgressMode::Sleep);
        attention.note_polls(&queues);
        assert!(!attention.lend(&queues, 0));
        assert!(!polled.poll(), "the link is quiet");
        assert!(attention.lend(&queues, 0));
    }

    fn polled(mode: ProgressMode) -> (Attention, WorkQueues) {
        let queues = WorkQueues::unconfigured(1);
        let polled = &queues.requests.queue().links;
        polled.add(Arc::new(QuietLink));
        assert!(!polled.poll(), "the link is quiet");
        let [(reader, _), _] = links(MemoryLinkConfig::default());
        (Attention::new(&*reader, mode), queues)
    }

    #[test]
    fn a_consumer_that_polls_for_its_requests_only_borrows_the_link() {
        let (mut attention, queues) = polled(ProgressMode::Sleep);
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
        let (mut attention, queues) = polled(ProgressMode::Sleep);
        assert!(attention.borrow(&queues, 0).is_some());
        attention.note(Event::ConsumerAway, &queues);
        attention.end_checks();
        attention.end_lease(Lease::Borrowed, LeaseEnd::Late, 0);
        assert!(attention.borrow(&queues, 0).is_none());
        assert!(!attention.is_lent());
    }

    #[test]
    fn the_driver_awaits_the_descriptor_while_a_waiter_sleeps_on_a_word() {
        let queues = WorkQueues::unconfigured(1);
        let [(mut reader, writer), _] = links(MemoryLinkConfig::default());
        let mut link = LinkState::new(writer);
        let mut attention = Attention::new(&*reader, ProgressMode::Sleep);
        attention.set_watched(EventFlags::IN);
        let mut after = |event| {
            attention.note(event, &queues);
            attention.arm(&queues, &mut *reader, &mut link);
            (attention.armed(), attention.is_slept_on(), attention.changed_interest(&link))
        };
        assert_eq!(after(Event::WaiterSleepsOnWord), (Armed::Word, true, None));
        assert_eq!(after(Event::PassBegan), (Armed::Word, true, None));
        assert_eq!(after(Event::WaiterLeaves), (Armed::Descriptor, false, None));
        let unwatched = Some(EventFlags::empty());
        assert_eq!(after(Event::WaiterSleeps), (Armed::Descriptor, true, unwatched));
        assert_eq!(after(Event::WaiterLeaves), (Armed::Descriptor, false, Some(EventFlags::IN)));
    }

    #[test]
    fn nothing_is_lent_while_the_thread_spins() {
        let (mut attention, queues) = polled(ProgressMode::Spin);
        for _ in 0..2 * MIN_POLLER_READS {
            assert!(!attention.note_poller_read(&queues, (true, false), 1, 0));
        }
        assert!(attention.borrow(&queues, 0).is_none());
        assert!(!attention.lend(&queues, 0));
        assert!(!attention.is_lent());
    }
}
