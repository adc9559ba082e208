//! A queue pair whose link the polls of its completion queues read.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dat_sync::biased::BiasedGuard;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::connection::Connection;
use super::core::Job;
use super::queue_pair::{PolledBy, QpState, SoftQp};
use super::work_queues::WorkQueues;
use crate::polled_links::{Found, PolledLink, Signal, Visit};
use crate::upcalls::Upcalls;

/// The link is lent after this many reads in a row in which the poller found a frame before the driver,
const MIN_POLLER_READS: u32 = 4;
/// or this many times as many reads that found nothing.
const IDLE_PER_READ: u32 = 128;

impl Connection {
    /// Whether a poll tells the connection nothing new about its consumer.
    #[inline]
    fn knows_poller(&self, queues: &WorkQueues, visit: Visit) -> bool {
        self.is_lent && !self.credit_delay.is_counting() && self.has_noted(queues, visit)
    }

    /// Completes requests after a read, if it found nothing but plain frames. Returns whether that was all there
    /// is to do.
    #[inline]
    fn finish_plain_read(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) -> bool {
        let is_plain = self.has_read_plain
            && self.ending.is_none()
            && queues.receives.shared.is_none()
            && !self.has_unread;
        if is_plain {
            self.complete(queues, upcalls);
        }
        is_plain && self.ending.is_none()
    }

    /// The result of a poll in which something may have completed.
    #[inline]
    fn found(&self) -> Found {
        let again = self.has_unread || self.owes_acknowledgement();
        Found { again, activity: self.activity(), is_active: true }
    }
}

impl SoftQp {
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

    /// Notes what a poll says about the consumer. Returns whether another thread reads the link from now on.
    #[inline(never)]
    fn note_poller(&self, conn: &mut Connection, queues: &WorkQueues, visit: Visit) -> bool {
        let mut is_changed = conn.note_visit(queues, visit, &self.weak_self);
        if self.thread_waits.load(Ordering::Relaxed) && !conn.is_lent && conn.is_open() {
            self.thread_waits.store(false, Ordering::Relaxed);
            is_changed |= conn.lend(queues);
        }
        conn.credit_delay.note_poll();
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
    ) -> Found {
        let ended = Found { is_active: true, ..Found::default() };
        let QpState { conn: Some(conn), queues, .. } = &mut *state else { return ended };
        // The poller is faster than the driver, which the system still wakes for each frame. The driver
        // may see no event then, so it does not lend the link by itself. A consumer that polls an idle
        // link would never be noticed by the driver.
        if !conn.is_lent && conn.is_open() && conn.ending.is_none() {
            conn.leases.note_poll(requests);
            conn.poller_reads += if has_arrived { IDLE_PER_READ } else { 1 };
            if conn.poller_reads >= MIN_POLLER_READS * IDLE_PER_READ {
                conn.poller_reads = 0;
                if conn.lend(queues) {
                    self.core.submit(Job::Progress(self.driven()));
                }
            }
        }
        state.advance(&self.core, &mut upcalls, is_due);
        self.update_interest(&mut state);
        let found = state.conn.as_ref().map_or(ended, |conn| conn.found());
        self.unlock_and_defer(state, upcalls);
        found
    }
}

impl PolledLink for SoftQp {
    fn poll(&self, visit: Visit) -> Found {
        let nothing = Found::default();
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
        let is_changed = !conn.knows_poller(queues, visit) && self.note_poller(conn, queues, visit);
        let executed = conn.executed;
        let has_arrived = conn.read(queues, &mut upcalls);
        if has_arrived {
            conn.send_held();
        } else {
            conn.send_held_if_due();
        }
        let owed = conn.executed.wrapping_sub(conn.reported_executed);
        let is_due = conn.ack_delay.is_due(conn.executed != executed, owed);
        let must_write = is_due && owed != 0 || conn.owes_credits();
        // `writes_at_once` was decided after the last change of the state, and plain frames change nothing of
        // it. It implies that no answer is queued, so that all that was executed can be acknowledged.
        if conn.is_lent && conn.writes_at_once && !is_changed {
            let is_plain = !has_arrived || conn.finish_plain_read(queues, &mut upcalls);
            if is_plain && (!must_write || conn.write_ack()) {
                let again = conn.has_unread || owed != 0 && !must_write;
                let found = Found { again, activity: conn.activity(), is_active: has_arrived };
                self.unlock_and_defer(state, upcalls);
                return found;
            }
        }
        let requests = conn.executed.wrapping_sub(executed);
        self.finish_read(state, upcalls, (has_arrived, is_due), requests)
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

    fn join(&self, set: BorrowedFd<'_>, key: u64) -> bool {
        let state = self.state.lock();
        let reader = state.conn.as_ref().and_then(|conn| conn.reader.as_ref());
        reader.and_then(|reader| reader.descriptor()).is_none_or(|descriptor| {
            let added = epoll::add(set, descriptor, epoll::EventData::new_u64(key), EventFlags::IN);
            matches!(added, Ok(()) | Err(Errno::EXIST))
        })
    }
}
