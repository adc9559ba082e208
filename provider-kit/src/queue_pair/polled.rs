//! The poller's operations on a queue pair, whose link the polls of its completion queues read.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use dat_provider::SleepTarget;
use dat_sync::biased::BiasedGuard;
use dat_sync::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::connection::Connection;
use super::{PolledBy, QpState, SoftQp};
use crate::polled_links::{PollInfo, PollOutcome, PolledLink, Signal};
use crate::progress::{Event, Job, Lease, LeaseEnd};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

impl Connection {
    /// Returns true if a poll gives no new information about the consumer.
    #[inline]
    fn knows_poller(&self, queues: &WorkQueues, info: PollInfo) -> bool {
        self.attention.is_lent()
            && !self.protocol.credit_delay.is_counting()
            && self.attention.has_noted(queues, info)
    }

    /// Completes requests after a read, if it found only plain frames. Returns true if nothing else remains to be done.
    #[inline]
    fn finish_plain_read(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) -> bool {
        let is_plain = self.protocol.has_read_plain
            && !self.is_ending()
            && queues.receives.shared.is_none()
            && !self.has_unread;
        if is_plain {
            self.protocol.complete(queues, upcalls);
        }
        is_plain && !self.is_ending()
    }

    /// The result of a poll in which something may have completed.
    #[inline]
    fn outcome(&self) -> PollOutcome {
        let again = self.has_unread || self.protocol.owes_acknowledgement();
        PollOutcome { again, activity: self.activity(), is_active: true }
    }
}

impl SoftQp {
    /// Makes the polls of exactly these completion queues read the link.
    pub(super) fn join_completion_queues(self: &Arc<Self>) {
        let queues: Vec<_> = self.state.lock().queues.completion_queues().map(Arc::clone).collect();
        PolledBy::join(&mut self.polled_by.lock(), queues, self, &self.core);
    }

    /// Polls of the completion queues no longer read the link.
    pub(super) fn leave_completion_queues(&self) {
        self.polled_by.lock().clear();
    }

    /// Records information of a poll about the consumer. Returns true if another thread reads the link from now on.
    #[inline(never)]
    fn note_poller(&self, conn: &mut Connection, queues: &WorkQueues, info: PollInfo) -> bool {
        let link = || -> Weak<dyn PolledLink> { Weak::<Self>::clone(&self.weak_self) };
        let mut is_changed = conn.attention.note_poll(queues, info, link);
        let may_lend = !conn.attention.is_lent() && conn.protocol.is_open();
        if self.thread_waits.load(Ordering::Relaxed) && may_lend {
            self.thread_waits.store(false, Ordering::Relaxed);
            let activity = conn.activity();
            is_changed |= conn.attention.lend(queues, activity);
        }
        conn.protocol.credit_delay.note_poll();
        is_changed
    }

    /// The slow path after a read: lends the link if a poller is faster than the driver, and advances the
    /// connection.
    #[inline(never)]
    fn finish_read(
        &self,
        mut state: BiasedGuard<'_, QpState>,
        mut upcalls: Upcalls,
        (has_arrived, is_due): (bool, bool),
        requests: u32,
    ) -> PollOutcome {
        let ended = PollOutcome { is_active: true, ..PollOutcome::default() };
        let QpState { conn: Some(conn), queues, .. } = &mut *state else { return ended };
        let is_borrowed = conn.attention.is_borrowed();
        let may_lend = (is_borrowed || !conn.attention.is_lent())
            && conn.protocol.is_open()
            && !conn.is_ending();
        let activity = conn.activity();
        let attention = &mut conn.attention;
        let awaits_requests = may_lend && conn.protocol.outbound.sends.is_awaited();
        let reads = (has_arrived, awaits_requests);
        if may_lend && attention.note_poller_read(queues, reads, requests, activity) {
            self.core.submit(Job::Progress(self.driven()));
        } else if awaits_requests && !has_arrived && !is_borrowed {
            if let Some(first_check) = attention.borrow(queues, activity) {
                self.core.submit(Job::CheckLease(self.driven(), first_check));
            }
        }
        if attention.is_slept_on() && requests != 0 {
            self.await_reply(conn);
        }
        let may_wait = conn.attention.is_lent() || conn.protocol.ack_delay.awaits_reply();
        state.advance(&self.core, &mut upcalls, may_wait && !is_due);
        self.update_interest(&mut state);
        let outcome = state.conn.as_ref().map_or(ended, |conn| conn.outcome());
        self.unlock_and_defer(state, upcalls);
        outcome
    }

    /// A waiter has executed requests of the peer: it usually replies soon, and the reply acknowledges them. If it does
    /// not, the thread does so.
    fn await_reply(&self, conn: &mut Connection) {
        if conn.protocol.note_driver_requests() && conn.protocol.replies.await_reply() {
            self.core.submit_reply_check(self.driven());
        }
    }

    /// Changes the reader of the link of a connection. `change` returns true if it did.
    fn change_reader(&self, change: impl FnOnce(&mut Connection, &WorkQueues) -> bool) {
        if !self.core.owner_process.is_current() {
            return;
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.conn.as_mut().is_some_and(|conn| change(conn, &state.queues)) {
            self.update_interest(state);
        }
    }

    /// Ends the lease of the link, because a waiter is about to sleep as the event says. Returns false, without effect, if
    /// there is none. Not inlined, so that writing an acknowledgement stays inlined where polls do it.
    #[inline(never)]
    fn end_lease(conn: &mut Connection, queues: &WorkQueues, event: Event) -> bool {
        let Some(lease) = conn.attention.lease() else { return false };
        let activity = conn.activity();
        // A consumer that sleeps until its requests are complete gets the next lease later.
        let end = if lease == Lease::Borrowed { LeaseEnd::Late } else { LeaseEnd::Polled };
        conn.attention.end_lease(lease, end, activity);
        conn.attention.note(event, queues);
        conn.acknowledge(false);
        conn.send_held();
        true
    }
}

impl PolledLink for SoftQp {
    fn poll(&self, info: PollInfo) -> PollOutcome {
        let nothing = PollOutcome::default();
        if !self.core.owner_process.is_current() {
            return nothing;
        }
        let mut state = self.state.lock();
        let mut upcalls = Upcalls::default();
        let QpState { conn: Some(conn), queues, .. } = &mut *state else { return nothing };
        if conn.is_ending() {
            return nothing;
        }
        // True if another thread reads the link from now on, which `update_interest` announces.
        let is_changed = !conn.knows_poller(queues, info) && self.note_poller(conn, queues, info);
        let executed = conn.protocol.inbound.executed;
        let has_arrived = conn.read(queues, &mut upcalls);
        if has_arrived {
            conn.send_held();
        } else {
            conn.send_held_if_due();
        }
        let requests = conn.protocol.inbound.executed.wrapping_sub(executed);
        let owed = conn.protocol.unreported();
        let is_borrowed = conn.attention.is_borrowed();
        let lease = (conn.attention.is_lent(), is_borrowed);
        let is_due = conn.protocol.note_requests(requests, owed, lease);
        let must_write = is_due && owed != 0 || conn.protocol.counts.owes_credits();
        // `writes_at_once` was decided after the last change of the state, which plain frames do not affect. It implies
        // that no answer is queued, so all executed requests can be acknowledged.
        let is_kept = conn.attention.is_lent() && !(is_borrowed && has_arrived);
        if is_kept && conn.protocol.writes_at_once && !is_changed {
            let is_plain = !has_arrived || conn.finish_plain_read(queues, &mut upcalls);
            if is_plain && (!must_write || conn.protocol.write_ack(&mut conn.link)) {
                let again = conn.has_unread || owed != 0 && !must_write;
                let outcome =
                    PollOutcome { again, activity: conn.activity(), is_active: has_arrived };
                self.unlock_and_defer(state, upcalls);
                return outcome;
            }
        }
        self.finish_read(state, upcalls, (has_arrived, is_due), requests)
    }

    fn give_back(&self) {
        self.change_reader(|conn, queues| {
            conn.attention.note_polls(queues);
            Self::end_lease(conn, queues, Event::ConsumerSleeps)
        });
    }

    fn begin_sleep(&self, is_again: bool) -> Option<SleepTarget> {
        if !self.core.owner_process.is_current() {
            return None;
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        let conn = state.conn.as_mut()?;
        let is_free = is_again || !conn.attention.is_slept_on();
        let may_sleep = is_free && conn.attention.permits_waiter();
        if !may_sleep || !conn.protocol.is_open() || conn.is_ending() || conn.has_unread {
            return None;
        }
        let (target, has_unread) = conn.reader.begin_sleep()?;
        conn.has_unread = has_unread;
        let event = match &target {
            SleepTarget::Descriptor(_) => Event::WaiterSleeps,
            SleepTarget::Word { .. } => Event::WaiterSleepsOnWord,
        };
        if !Self::end_lease(conn, &state.queues, event) {
            conn.attention.note(event, &state.queues);
        }
        self.update_interest(state);
        Some(target)
    }

    fn end_sleep(&self) {
        self.change_reader(|conn, queues| conn.attention.note(Event::WaiterLeaves, queues));
    }

    fn signal(&self) -> Option<Signal> {
        let mut state = self.state.lock();
        state.conn.as_mut().and_then(|conn| conn.attention.signal(&*conn.reader))
    }

    fn join(&self, set: BorrowedFd<'_>, key: u64) -> bool {
        let state = self.state.lock();
        let descriptor = state.conn.as_ref().and_then(|conn| conn.reader.descriptor());
        descriptor.is_none_or(|descriptor| {
            let added = epoll::add(set, descriptor, epoll::EventData::new_u64(key), EventFlags::IN);
            matches!(added, Ok(()) | Err(Errno::EXIST))
        })
    }
}
