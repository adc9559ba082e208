//! Lending links: a link is read by the thread of the engine, or by the pollers of the completion
//! queues while they poll.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use dat_sync::biased::BiasedGuard;
use rustix::event::epoll::{self, EventFlags};

use super::connection::Connection;
use super::core::{Driven, Job, LinkStatus};
use super::event_order::EventOrder;
use super::queue_pair::{Delivery, PolledBy, QpState, SoftQp};
use super::work_queues::WorkQueues;
use crate::link::Armed;
use crate::polled_links::{Found, PolledLink, Signal, Visit};
use crate::upcalls::Upcalls;

/// The link is lent after this many reads in a row in which the poller found a frame before the thread,
const MIN_POLLER_READS: u32 = 4;
/// or this many times as many reads that found nothing.
const IDLE_PER_READ: u32 = 128;
/// A link whose doorbell did not ring during this many checks returns to the thread.
const MAX_IDLE_CHECKS: u8 = 8;
/// After this many checks the doorbell is rung, because a broken peer may have cleared the bit.
const CHECKS_PER_RING: u8 = 4;
/// A lock that is biased to a poller refuses the thread. If the poller polls and does not read the link,
/// because the doorbell does not ring, the thread takes the lock after this many refused checks.
const MAX_REFUSALS: u32 = 4;

impl Connection {
    /// The events of the descriptor that the thread must wait for.
    fn interest(&self) -> EventFlags {
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

    /// What the reader of the link waits for: the thread of the engine for the descriptor, pollers that
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
    fn arm(&mut self, queues: &WorkQueues) {
        let armed = self.wanted_signal(queues);
        if std::mem::replace(&mut self.armed, armed) != armed {
            self.has_unread |= self.reader.as_mut().is_some_and(|reader| reader.arm(armed));
        }
    }

    /// Makes the pollers read the link, if they wait for the doorbell.
    fn ring(&self) {
        if let (Armed::Doorbell, Some(Signal::Doorbell(doorbell))) = (self.armed, &self.signal) {
            doorbell.ring();
        }
    }

    /// Changes when requests arrive or complete.
    fn activity(&self) -> u32 {
        self.executed.wrapping_add(self.sends.executed)
    }

    /// Whether the doorbell did not ring during several checks. The thread waits for the link then, so
    /// that its checks do not take time for each idle link.
    fn is_idle(&mut self) -> bool {
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

    /// A completion queue says whether each of its polls reads the link. If one begins to, the other
    /// one shall, too. Returns whether this is news.
    fn note_visit(&mut self, queues: &WorkQueues, visit: Visit, link: &Weak<SoftQp>) -> bool {
        if visit.is_hot && self.hot == [true; 2] {
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
    fn lend(&mut self, queues: &WorkQueues) -> bool {
        let polls = queues.polls();
        let count = polls.wrapping_sub(std::mem::replace(&mut self.polls_seen, polls));
        if count == 0 || self.backoff.forbids(count) {
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

    fn take_back(&mut self, queues: &WorkQueues) {
        if std::mem::take(&mut self.is_lent) {
            queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
    }
}

impl SoftQp {
    /// Tells the thread which events of the link to wait for, and whether received frames are left.
    pub(super) fn update_interest(&self, state: &mut QpState) {
        let QpState { conn: Some(conn), queues, .. } = state else { return };
        conn.arm(queues);
        self.waits_for_doorbell.store(conn.armed == Armed::Doorbell, Ordering::Relaxed);
        let interest = conn.interest();
        if conn.interest_set.is_some_and(|watched| watched != interest) {
            conn.interest_set = Some(interest);
            let reader = conn.reader.as_ref();
            if let Some(descriptor) = reader.and_then(|reader| reader.descriptor()) {
                self.core.watch(descriptor, conn.token, interest);
            }
        }
        if conn.is_lent {
            if conn.has_unread || conn.owes_acknowledgement() {
                conn.ring();
            }
        } else if conn.has_unread && !std::mem::replace(&mut conn.is_queued, true) {
            self.core.submit(Job::Progress(self.driven()));
        }
    }

    /// Announces to the thread the link of a new connection, before the lock is released and the end of
    /// the connection can be submitted.
    pub(super) fn announce_link(&self, token: u64) {
        self.core.submit_without_wakeup(Job::Watch(token, self.driven()));
    }

    /// Makes the thread wait for the link of a connection, if that connection still exists.
    pub(super) fn watch(&self, token: u64) {
        let mut state = self.state.lock();
        let Some(conn) = state.conn.as_mut().filter(|conn| conn.token == token) else { return };
        conn.interest_set = Some(EventFlags::IN);
        if let Some(descriptor) = conn.reader.as_ref().and_then(|reader| reader.descriptor()) {
            self.core.watch(descriptor, token, EventFlags::IN);
        }
        self.update_interest(&mut state);
        drop(state);
        self.polled_by.lock().iter().for_each(|one| one.queue.links.linked(one.key));
    }

    /// Makes polls of the completion queues read the link, and no others.
    pub(super) fn join_completion_queues(self: &Arc<Self>) {
        let queues: Vec<_> = self.state.lock().queues.completion_queues().map(Arc::clone).collect();
        let mut polled_by = self.polled_by.lock();
        polled_by.retain(|one| queues.iter().any(|queue| Arc::ptr_eq(queue, &one.queue)));
        for queue in queues {
            if !polled_by.iter().any(|one| Arc::ptr_eq(&queue, &one.queue)) {
                let link: Arc<Self> = Arc::clone(self);
                polled_by.push(PolledBy { key: queue.links.add(link), queue });
            }
        }
    }

    /// Polls of the completion queues no longer read the link.
    pub(super) fn leave_completion_queues(&self) {
        self.polled_by.lock().clear();
    }

    /// Whether the completion queues were polled since the last call. Only the thread calls this.
    fn was_polled(&self) -> bool {
        let polled_by = self.polled_by.lock();
        let polls =
            polled_by.iter().fold(0_u64, |sum, one| sum.wrapping_add(one.queue.links.polls()));
        self.polls_seen.swap(polls, Ordering::Relaxed) != polls
    }

    /// The lock, for a check of the thread. Nothing if a poller has it, unless that was so at the last
    /// checks.
    fn lock_for_check(&self) -> Option<BiasedGuard<'_, QpState>> {
        let refusals = self.refusals.load(Ordering::Relaxed);
        let state = match self.state.try_lock() {
            None if refusals >= MAX_REFUSALS => Some(self.state.lock()),
            state => state,
        };
        self.refusals.store(if state.is_some() { 0 } else { refusals + 1 }, Ordering::Relaxed);
        state
    }

    /// Whether pollers have waited for the doorbell for long, and it did not ring.
    fn is_idle(&self) -> bool {
        let waits = self.waits_for_doorbell.load(Ordering::Relaxed);
        let state = if waits { self.lock_for_check() } else { None };
        state.is_some_and(|mut state| state.conn.as_mut().is_some_and(|conn| conn.is_idle()))
    }

    /// Reads the link for a poller.
    fn poll_once(&self, visit: Visit) -> Found {
        let nothing = Found::default();
        let ended = Found { is_active: true, ..nothing };
        if !self.core.origin.is_here() {
            return nothing;
        }
        let mut state = self.state.lock();
        let mut upcalls = Upcalls::default();
        let QpState { conn: Some(conn), queues, .. } = &mut *state else { return nothing };
        if conn.ending.is_some() {
            return nothing;
        }
        // Whether another thread reads the link from now on, which `update_interest` announces.
        let mut is_changed = conn.note_visit(queues, visit, &self.weak_self);
        if self.thread_waits.load(Ordering::Relaxed) && !conn.is_lent && conn.is_open() {
            self.thread_waits.store(false, Ordering::Relaxed);
            is_changed |= conn.lend(queues);
        }
        conn.credit_delay.note_poll();
        let executed = conn.executed;
        let has_arrived = conn.read(queues, &mut upcalls);
        if has_arrived {
            conn.send_held();
        } else {
            conn.send_held_if_due();
        }
        let has_requests = conn.executed != executed;
        let is_due =
            conn.ack_delay.is_due(has_requests, conn.executed.wrapping_sub(conn.reported_executed));
        let must_write = is_due && conn.owes_acknowledgement() || conn.owes_credits();
        let is_quiet = !has_arrived && !is_changed && !must_write;
        if is_quiet && conn.is_lent && conn.writes_at_once {
            let again = conn.owes_acknowledgement();
            return Found { again, activity: conn.activity(), is_active: false };
        }
        // The poller is faster than the thread, which the system still wakes for each frame. The thread
        // may see no event then, so it does not lend the link by itself. A consumer that polls an idle
        // link would never be noticed by the thread.
        if !conn.is_lent && conn.is_open() && conn.ending.is_none() {
            conn.poller_reads += if has_arrived { IDLE_PER_READ } else { 1 };
            if conn.poller_reads >= MIN_POLLER_READS * IDLE_PER_READ {
                conn.poller_reads = 0;
                if conn.lend(queues) {
                    is_changed = true;
                    self.core.submit(Job::Progress(self.driven()));
                }
            }
        }
        if !is_changed && state.finish_read(is_due, &mut upcalls) {
            let found = state.conn.as_ref().map_or(ended, |conn| Found {
                again: conn.owes_acknowledgement(),
                activity: conn.activity(),
                is_active: true,
            });
            self.unlock_and_defer(state, upcalls);
            return found;
        }
        state.advance(&self.core, &mut upcalls, is_due);
        self.update_interest(&mut state);
        let found = state.conn.as_ref().map_or(ended, |conn| Found {
            again: conn.has_unread || conn.owes_acknowledgement(),
            activity: conn.activity(),
            is_active: true,
        });
        self.unlock_and_defer(state, upcalls);
        found
    }
}

impl Driven for SoftQp {
    fn progress(&self, order: &mut EventOrder) -> LinkStatus {
        let state = if self.was_polled() { self.state.try_lock() } else { Some(self.state.lock()) };
        let Some(state) = state else {
            self.thread_waits.store(true, Ordering::Relaxed);
            std::thread::yield_now();
            return LinkStatus::Lent;
        };
        let mut status = LinkStatus::Idle;
        self.with_state_in_order(state, order, |state, upcalls| {
            let QpState { conn: Some(conn), queues, .. } = state else { return };
            conn.is_queued = false;
            conn.poller_reads = 0;
            if conn.ending.is_some() {
                return;
            }
            if !conn.is_lent && conn.is_open() && conn.lend(queues) {
                status = LinkStatus::Lent;
                return;
            }
            conn.read(queues, upcalls);
            if conn.is_lent {
                status = LinkStatus::Lent;
            } else if conn.has_unread {
                conn.is_queued = true;
                status = LinkStatus::HasMore;
            }
        });
        status
    }

    fn check_lease(&self, order: &mut EventOrder) -> bool {
        let is_polled = self.was_polled();
        // A poller that polls uses the lock of a link that it reads all the time.
        let state = if !is_polled {
            Some(self.state.lock())
        } else if self.thread_waits.load(Ordering::Relaxed) {
            self.lock_for_check()
        } else {
            self.is_idle().then(|| self.state.lock())
        };
        let Some(state) = state else { return true };
        self.with_state_in_order(state, order, |state, upcalls| {
            self.thread_waits.store(false, Ordering::Relaxed);
            let QpState { conn: Some(conn), queues, .. } = state else { return false };
            let is_lent = conn.is_lent;
            if is_lent {
                conn.polls_seen = queues.polls();
                conn.take_back(queues);
            } else if !std::mem::take(&mut conn.is_queued) {
                return false;
            }
            // A link that is not lent has frames that the thread was to read when it did not get the lock.
            if conn.ending.is_none() {
                let executed = conn.executed;
                conn.read(queues, upcalls);
                if is_lent {
                    conn.backoff.update(!is_polled && executed != conn.executed);
                }
            }
            false
        })
    }

    fn deliver(&self, order: &mut EventOrder) {
        self.deliver_in_order(order);
    }

    fn deliver_all(&self) {
        self.deliver_events(Delivery::All);
    }
}

impl PolledLink for SoftQp {
    fn poll(&self, visit: Visit) -> Found {
        self.poll_once(visit)
    }

    fn give_back(&self) {
        if !self.core.origin.is_here() {
            return;
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(conn) = state.conn.as_mut().filter(|conn| conn.is_lent) {
            conn.take_back(&state.queues);
            conn.acknowledge(false);
            conn.send_held();
            self.update_interest(state);
        }
    }

    fn signal(&self) -> Option<Signal> {
        let mut state = self.state.lock();
        state.conn.as_mut().and_then(|conn| {
            let reader = conn.reader.as_ref()?;
            if conn.signal.is_none() {
                conn.signal = match reader.doorbell() {
                    Some(doorbell) => Some(Signal::Doorbell(doorbell)),
                    None => reader.descriptor().map(|_| Signal::Descriptor),
                };
            }
            conn.signal.clone()
        })
    }

    fn join(&self, set: BorrowedFd<'_>, key: u64) {
        let state = self.state.lock();
        let reader = state.conn.as_ref().and_then(|conn| conn.reader.as_ref());
        if let Some(descriptor) = reader.and_then(|reader| reader.descriptor()) {
            let data = epoll::EventData::new_u64(key);
            let _ = epoll::add(set, descriptor, data, EventFlags::IN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use dat_provider::Peer;

    use super::super::connection::Stage;
    use super::*;
    use crate::memory_link::{Wire, links};
    use crate::polled_links::quiet_link::QuietLink;

    /// Otherwise the thread would leave the first frames to a poller that no longer polls.
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
