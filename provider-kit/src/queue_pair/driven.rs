//! The driver's operations on a queue pair, whose link it reads, or checks while it is lent.

use std::sync::Weak;
use std::sync::atomic::Ordering;

use dat_provider::{LocalCause, RefusalCause};
use dat_sync::biased::BiasedGuard;
use dat_sync::clock;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::connect::Next;
use super::{Delivery, QpState, SoftQp};
use crate::frame::Reason;
use crate::link::{Armed, Liveness};
use crate::progress::{Driven, Event, EventOrder, Job, LeaseEnd, LinkStatus, MIN_CHECK_INTERVAL};
use crate::protocol::{EndCause, Stage, Transmit};

/// A lock that is biased to a poller refuses the driver. If the poller polls without reading the link, because the
/// doorbell does not ring, the driver takes the lock after this many refused checks.
const MAX_REFUSALS: u32 = 4;

impl SoftQp {
    /// Updates the events of the link that the driver awaits, and whether received frames are left.
    pub(super) fn update_interest(&self, state: &mut QpState) {
        let QpState { conn: Some(conn), queues, .. } = state else { return };
        if conn.attention.is_borrowed() && !conn.protocol.outbound.sends.is_awaited() {
            conn.attention.note_requests_done(queues);
        }
        conn.arm(queues);
        let waits_for_doorbell = conn.attention.armed() == Armed::Doorbell;
        self.waits_for_doorbell.store(waits_for_doorbell, Ordering::Relaxed);
        if let Some(interest) = conn.attention.changed_interest(&conn.link) {
            if let Some(descriptor) = conn.reader.descriptor() {
                self.core.change_interest(descriptor, conn.token, interest);
            }
        }
        if conn.attention.is_read_by_poll_set() {
            // No poll will read the frames received before.
            if conn.has_unread {
                self.core.submit(Job::Progress(self.driven()));
            }
        } else if conn.attention.is_lent() {
            if conn.has_unread || conn.protocol.owes_acknowledgement() {
                conn.attention.ring();
            }
        } else if conn.has_unread && conn.attention.note(Event::DataLeft, queues) {
            self.core.submit(Job::Progress(self.driven()));
        }
    }

    /// Announces the link of a new connection to the driver, before the lock is released and the end of the connection
    /// can be submitted.
    pub(super) fn announce_link(&self, token: u64, liveness: Option<Weak<dyn Liveness>>) {
        self.core.submit_without_wakeup(Job::Watch(token, self.driven(), liveness));
    }

    /// Makes the driver wait for the link of a connection, if that connection still exists. Ends the connection if the
    /// system has no memory for that.
    pub(super) fn watch(&self, token: u64) {
        let mut state = self.state.lock();
        let Some(conn) = state.conn.as_mut().filter(|conn| conn.token == token) else { return };
        let watched = conn.reader.descriptor().map(|it| self.core.watch(it, token, EventFlags::IN));
        if let Some(Err(errno)) = watched {
            return self.with_locked_state(state, |state, _| {
                let Some(conn) = &mut state.conn else { return };
                let what = "wait for the link of the connection (epoll)";
                let cause = LocalCause { what, errno: errno.raw_os_error() };
                let cause = match conn.protocol.stage {
                    Stage::AwaitAnswer | Stage::AwaitReady => {
                        EndCause::Refused(RefusalCause::Local(cause))
                    }
                    Stage::Open => EndCause::Broken,
                };
                conn.protocol.end(cause, Some(Reason::Abrupt));
            });
        }
        conn.attention.set_watched(EventFlags::IN);
        self.update_interest(&mut state);
        drop(state);
        self.polled_by.lock().iter().for_each(|one| one.queue.links.linked(one.key));
    }

    /// Returns true if the completion queues were polled since the last call. Only the driver calls this.
    fn was_polled(&self) -> bool {
        let polled_by = self.polled_by.lock();
        let polls =
            polled_by.iter().fold(0_u64, |sum, one| sum.wrapping_add(one.queue.links.polls()));
        self.polls_seen.swap(polls, Ordering::Relaxed) != polls
    }

    /// Acquires the lock for a check of the driver. Returns `None` if a poller holds it, unless that was so at the last
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

    /// Returns true if pollers wait for the doorbell, which has not rung for several checks.
    fn is_idle(&self) -> bool {
        let waits = self.waits_for_doorbell.load(Ordering::Relaxed);
        let state = if waits { self.lock_for_check() } else { None };
        state.is_some_and(|mut state| {
            state.conn.as_mut().is_some_and(|conn| {
                let activity = conn.activity();
                conn.attention.is_idle(activity)
            })
        })
    }
}

impl Driven for SoftQp {
    fn break_off(&self, order: &mut EventOrder) {
        self.with_state_in_order(self.state.lock(), order, |state, upcalls| {
            let what = "connect with descriptors that the program has closed";
            state.fail_dialling(&self.core, upcalls, what, Errno::BADF);
            if let Some(conn) = &mut state.conn {
                conn.lose_descriptor();
            }
        });
    }

    fn progress(&self, order: &mut EventOrder) -> LinkStatus {
        let state = if self.was_polled() { self.state.try_lock() } else { Some(self.state.lock()) };
        let Some(state) = state else {
            self.thread_waits.store(true, Ordering::Relaxed);
            clock::pause();
            return LinkStatus::Lent(MIN_CHECK_INTERVAL);
        };
        let mut status = LinkStatus::Idle;
        let mut next = Next::Nothing;
        self.with_state_in_order(state, order, |state, upcalls| {
            if state.dialling.is_some() {
                next = self.advance_dial(state, upcalls);
                return;
            }
            let QpState { conn: Some(conn), queues, .. } = state else { return };
            conn.attention.note(Event::PassBegan, queues);
            conn.attention.note_driver_read();
            if conn.is_ending() {
                return;
            }
            let may_lend = !conn.attention.is_lent() && conn.protocol.is_open();
            let activity = conn.activity();
            if may_lend && conn.attention.lend(queues, activity) {
                status = LinkStatus::Lent(conn.attention.leases.first_interval());
                return;
            }
            conn.reader.note_readable();
            let executed = conn.protocol.inbound.executed;
            conn.read(queues, upcalls);
            let mut may_wait = false;
            if executed != conn.protocol.inbound.executed {
                conn.attention.leases.note_driver();
                may_wait = conn.protocol.note_driver_requests();
            }
            if conn.attention.is_lent() {
                status = LinkStatus::Lent(conn.attention.leases.first_interval());
            } else if conn.has_unread {
                conn.attention.note(Event::DataLeft, queues);
                status = LinkStatus::HasMore;
            } else if may_wait && conn.protocol.replies.await_reply() {
                status = LinkStatus::AwaitsReply;
            }
        });
        match next {
            Next::Nothing => {}
            Next::Watch(token) => self.watch(token),
            Next::Retry(at) => status = LinkStatus::Retry(at),
        }
        status
    }

    fn check_lease(&self, order: &mut EventOrder) -> bool {
        let is_polled = self.was_polled();
        // A poller that reads the link in each poll holds its lock most of the time.
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
            let QpState { conn: Some(conn), queues, .. } = state else {
                if state.dialling.is_some() {
                    self.core.submit(Job::Progress(self.driven()));
                }
                return false;
            };
            conn.attention.end_checks();
            let lease = conn.attention.lease();
            if lease.is_some() {
                conn.attention.note_polls(queues);
                let why = if is_polled { Event::DriverRecalls } else { Event::ConsumerAway };
                conn.attention.note(why, queues);
            } else if !conn.attention.note(Event::PassBegan, queues) {
                return false;
            }
            // A link that is not lent has frames that the driver did not read because it did not get the lock.
            if !conn.is_ending() {
                let (executed, activity) = (conn.protocol.inbound.executed, conn.activity());
                let is_holding = conn.link.is_holding();
                conn.read(queues, upcalls);
                if let Some(lease) = lease {
                    let has_waited = is_holding || executed != conn.protocol.inbound.executed;
                    let end = match (is_polled, has_waited) {
                        (true, _) => LeaseEnd::Polled,
                        (false, true) => LeaseEnd::Late,
                        (false, false) => LeaseEnd::Unused,
                    };
                    conn.attention.end_lease(lease, end, activity);
                }
            }
            false
        })
    }

    fn send_held(&self, order: &mut EventOrder) -> bool {
        self.with_state_in_order(self.state.lock(), order, |state, _| {
            let Some(conn) = &mut state.conn else { return false };
            let is_any = conn.link.is_holding() || conn.protocol.is_leaving();
            conn.send_held();
            is_any
        })
    }

    fn acknowledge(&self, order: &mut EventOrder) -> bool {
        self.with_state_in_order(self.state.lock(), order, |state, _| {
            let Some(conn) = &mut state.conn else { return false };
            let is_owed = conn.protocol.owes_acknowledgement();
            let waits_again = conn.protocol.replies.waits_again(is_owed);
            if is_owed && !waits_again {
                conn.protocol.replies.note_silence();
            }
            waits_again
        })
    }

    fn deliver(&self, order: &mut EventOrder) {
        self.deliver_in_order(order);
    }

    fn deliver_all(&self) {
        self.deliver_events(Delivery::All);
    }
}
