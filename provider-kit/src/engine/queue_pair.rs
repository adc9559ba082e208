//! Queue pairs: their state, its lock, and the events that it produces.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::{ConnectionSink, RefusalCause};
use dat_sync::Mutex;
use dat_sync::biased::{BiasedGuard, BiasedLock};
use rustix::io::Errno;

use super::connect::Dialling;
use super::connection::{Connection, EndCause, Ending, Stage};
use super::core::{Core, Driven, Job};
use super::event::Event;
use super::event_order::EventOrder;
use super::work_queues::WorkQueues;
use crate::completion_queue::Cq;
use crate::domain::{DomainUser, Membership};
use crate::errors::wrong_state;
use crate::frame::Reason;
use crate::shared_receive::Resume;
use crate::upcalls::Upcalls;

/// A queue pair. The crate documentation has the order of its locks.
pub(super) struct SoftQp {
    pub(super) weak_self: Weak<Self>,
    pub(super) core: Arc<Core>,
    /// One thread usually posts and polls. The driver revokes the bias if it must read
    /// the link.
    pub(super) state: BiasedLock<QpState>,
    /// The completion queues whose polls read the link.
    pub(super) polled_by: Mutex<Vec<PolledBy>>,
    /// How often the completion queues had been polled when the driver last looked.
    pub(super) polls_seen: AtomicU64,
    /// Pollers do not read the link before its doorbell rings.
    pub(super) waits_for_doorbell: AtomicBool,
    /// Number of checks in a row for which the driver did not get the lock.
    pub(super) refusals: AtomicU32,
    /// The driver found the lock held. The poller that holds it then borrows the link, because a
    /// poller that polls without a pause would lock the driver out.
    pub(super) thread_waits: AtomicBool,
}

/// A completion queue whose polls read the link, until this is dropped.
pub(super) struct PolledBy {
    pub(super) queue: Arc<Cq>,
    /// The key of the queue pair among the links of the queue.
    pub(super) key: usize,
}

impl Drop for PolledBy {
    fn drop(&mut self) {
        self.queue.links.remove(self.key);
    }
}

/// The state of a queue pair, as the contract has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Unconnected,
    /// The link is being connected, or the answer of the peer is awaited.
    Connecting,
    /// Accepted, or established.
    Connected,
    Disconnected,
}

/// Which of the queued events are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    All,
    /// Those before the end of a connection.
    UntilEnd,
}

/// What the lock of a queue pair guards.
pub(super) struct QpState {
    pub(super) phase: Phase,
    /// The latest attempt, as the core numbers them.
    pub(super) attempt: u64,
    /// The local port of the latest attempt.
    pub(super) local_port: u64,
    /// The link of the latest attempt while it is being connected; there is no connection then.
    pub(super) dialling: Option<Box<Dialling>>,
    pub(super) conn: Option<Box<Connection>>,
    pub(super) queues: WorkQueues,
    /// A graceful disconnect waits for outstanding requests.
    pub(super) is_closing: bool,
    /// The core has dropped the queue pair: it reports no more events.
    pub(super) is_retired: bool,
    pub(super) sink: Arc<dyn ConnectionSink>,
    /// Memberships in the domain of the queue pair and in that of its shared receive queue.
    pub(super) memberships: [Option<Membership>; 2],
    /// Events to report, each with its attempt.
    pub(super) events: VecDeque<(u64, Event)>,
    /// Whether a thread is reporting events.
    pub(super) is_delivering: bool,
}

/// A queue pair, as domains and shared receive queues refer to it.
pub(super) struct QpRef(pub(super) Weak<SoftQp>);

impl DomainUser for QpRef {
    fn wait_for_copies(&self) {
        if let Some(queue_pair) = self.0.upgrade() {
            queue_pair.state.pass();
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        self.0.upgrade().is_none_or(|queue_pair| queue_pair.state.pass_without_fence())
    }
}

impl Resume for QpRef {
    fn resume(&self) {
        let Some(queue_pair) = self.0.upgrade() else { return };
        queue_pair.with_state(|state, _| {
            if let Some(shared) = &mut state.queues.receives.shared {
                shared.set_resumed();
            }
        });
    }
}

impl QpState {
    /// The error of a call that the current state does not allow.
    pub(super) fn state_error(&self) -> Error {
        wrong_state(match self.phase {
            Phase::Unconnected => Subtype::InvalidStateEpUnconnected,
            Phase::Connecting => Subtype::InvalidStateEpActconnpending,
            Phase::Connected if self.is_closing => Subtype::InvalidStateEpDiscpending,
            Phase::Connected => Subtype::InvalidStateEpConnected,
            Phase::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }

    /// # Errors
    /// The queue pair cannot be connected in its current state.
    pub(super) fn check_connectable(&self) -> Result<()> {
        if self.is_retired || self.phase != Phase::Unconnected {
            return Err(self.state_error());
        }
        if self.queues.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }

    pub(super) fn push_event(&mut self, event: Event) {
        if !self.is_retired {
            self.events.push_back((self.attempt, event));
        }
    }

    /// Takes the next event to report.
    fn next_event(&mut self, delivery: Delivery) -> Option<(u64, Event)> {
        let (_, event) = self.events.front()?;
        if delivery == Delivery::UntilEnd && event.is_end() {
            None
        } else {
            self.events.pop_front()
        }
    }

    /// Advances the connection: writes, completes and ends. While the link is lent, acknowledgements
    /// wait for the next frame, or for the poll in which they are due (`is_due`).
    pub(super) fn advance(&mut self, core: &Core, upcalls: &mut Upcalls, is_due: bool) {
        self.advance_connection(core, upcalls, is_due);
        self.update_fast_path();
    }

    fn advance_connection(&mut self, core: &Core, upcalls: &mut Upcalls, is_due: bool) {
        let Some(conn) = &mut self.conn else { return };
        if conn.ending.is_none() {
            conn.progress(&mut self.queues, upcalls);
        }
        if let Some(established) = conn.established.take() {
            self.phase = Phase::Connected;
            self.push_event(Event::Established(established));
        }
        let Some(conn) = &mut self.conn else { return };
        if self.is_closing && conn.sends.is_empty() {
            conn.end(EndCause::Disconnected, Some(Reason::Graceful));
        }
        match conn.ending.take() {
            Some(ending) => self.end_connection(ending, core, upcalls),
            None => conn.acknowledge(conn.is_lent && !is_due || conn.replies.is_awaited),
        }
    }

    /// Ends the connection: flushes what is outstanding and queues the event.
    pub(super) fn end_connection(&mut self, ending: Ending, core: &Core, upcalls: &mut Upcalls) {
        self.stop_dialling(core);
        let Some(mut conn) = self.conn.take() else { return };
        conn.grant = None;
        conn.complete(&mut self.queues, upcalls);
        conn.flush(None, &mut self.queues, upcalls);
        self.queues.receives.flush(upcalls);
        self.phase = Phase::Disconnected;
        self.is_closing = false;
        let event = match (conn.stage, ending.cause) {
            (Stage::AwaitAnswer, EndCause::Rejected(private_data)) => {
                Event::PeerRejected(private_data)
            }
            (Stage::AwaitAnswer, EndCause::Refused(cause)) => Event::NonPeerRejected(cause),
            (Stage::AwaitAnswer, _) => Event::NonPeerRejected(RefusalCause::Unknown),
            (Stage::AwaitReady, _) => Event::AcceptFailed,
            (Stage::Open, EndCause::Broken) => Event::Broken,
            (Stage::Open, _) => Event::Disconnected,
        };
        self.push_event(event);
        if std::mem::take(&mut conn.is_lent) {
            self.queues.completion_queues().for_each(|queue| queue.links.take_back());
        }
        if conn.has_lost_descriptor {
            core.fail(Errno::BADF);
        }
        core.linger(conn, ending.reason);
    }
}

impl SoftQp {
    /// This queue pair, as the driver refers to it.
    pub(super) fn driven(&self) -> Weak<dyn Driven> {
        let weak: Weak<Self> = Weak::clone(&self.weak_self);
        weak
    }

    /// Releases the lock and leaves upcalls and events to the driver.
    #[inline]
    pub(super) fn unlock_and_defer(&self, state: BiasedGuard<'_, QpState>, upcalls: Upcalls) {
        let has_events = !state.events.is_empty();
        drop(state);
        let upcalls = upcalls.pending();
        if has_events || upcalls.is_some() {
            self.defer(upcalls.unwrap_or_default());
        }
    }

    #[cold]
    fn defer(&self, upcalls: Upcalls) {
        self.core.submit(Job::Deliver(self.driven(), upcalls));
    }

    /// Runs `act` under the lock and advances the connection. Makes the upcalls after releasing the
    /// lock.
    pub(super) fn with_state<T>(&self, act: impl FnOnce(&mut QpState, &mut Upcalls) -> T) -> T {
        self.with_locked_state(self.state.lock(), act)
    }

    /// As [`with_state`](Self::with_state), with the lock already held.
    pub(super) fn with_locked_state<T>(
        &self,
        state: BiasedGuard<'_, QpState>,
        act: impl FnOnce(&mut QpState, &mut Upcalls) -> T,
    ) -> T {
        let (result, has_events) = self.update(state, act);
        if has_events {
            self.deliver_events(Delivery::All);
        }
        result
    }

    /// As [`with_locked_state`](Self::with_locked_state), for the driver, which reports an end in the
    /// order of all links.
    pub(super) fn with_state_in_order<T>(
        &self,
        state: BiasedGuard<'_, QpState>,
        order: &mut EventOrder,
        act: impl FnOnce(&mut QpState, &mut Upcalls) -> T,
    ) -> T {
        let (result, has_events) = self.update(state, act);
        if has_events {
            self.deliver_in_order(order);
        }
        result
    }

    /// Runs `act` and advances the connection. Makes the upcalls of the completion queues after
    /// releasing the lock. Returns whether events wait to be reported, too.
    fn update<T>(
        &self,
        mut state: BiasedGuard<'_, QpState>,
        act: impl FnOnce(&mut QpState, &mut Upcalls) -> T,
    ) -> (T, bool) {
        let mut upcalls = Upcalls::default();
        let result = act(&mut state, &mut upcalls);
        state.advance(&self.core, &mut upcalls, false);
        self.update_interest(&mut state);
        let has_events = !state.events.is_empty();
        drop(state);
        upcalls.deliver();
        (result, has_events)
    }

    /// Reports the queued events up to an end, which waits in `order`.
    pub(super) fn deliver_in_order(&self, order: &mut EventOrder) {
        if self.deliver_events(Delivery::UntilEnd) {
            order.add_end(self.driven());
        }
    }

    /// Reports queued events, in order. Only one thread at a time does so. Returns whether an end is
    /// left.
    pub(super) fn deliver_events(&self, delivery: Delivery) -> bool {
        let mut state = self.state.lock();
        if state.is_delivering {
            return false;
        }
        state.is_delivering = true;
        while let Some((attempt, event)) = state.next_event(delivery) {
            let sink = Arc::clone(&state.sink);
            drop(state);
            event.report(attempt, &*sink);
            state = self.state.lock();
        }
        state.is_delivering = false;
        !state.events.is_empty()
    }
}
