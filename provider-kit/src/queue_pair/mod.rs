//! Queue pairs of the provider contract: their state, its lock, and the events that it produces.
//!
//! # Modules
//! - `adapter`, `handle`, `listener`: the objects of the contract; `create`: settings; `completions`: completion queues.
//! - `post`, and `fast_path` if nothing waits; `connect`: the active side.
//! - `connection`: a link in use; `driven` and `polled`: the operations of the driver and of pollers.
//! - `activity`: what operators see.
//! - `datagram`: queue pairs without a connection.

mod activity;
mod adapter;
mod completions;
mod connect;
mod connection;
mod create;
mod datagram;
mod driven;
mod event;
mod fast_path;
mod handle;
mod listener;
mod polled;
mod post;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::status::DtoStatus;
use dat_provider::verbs::{BreakCause, LossPolicy};
use dat_provider::{ConnectionSink, RefusalCause};
use dat_sync::Mutex;
use dat_sync::biased::{BiasedGuard, BiasedLock};
use rustix::io::Errno;

use connect::Dialling;
use connection::Connection;
use event::Event;

use crate::completion_queue::Cq;
use crate::datagram_counts::DatagramCounts;
use crate::domain::DomainUser;
use crate::errors::wrong_state;
use crate::frame::Reason;
use crate::polled_links::PolledLink;
use crate::progress::{Core, Driven, EventOrder, Job};
use crate::protocol::{EndCause, Ending, SendQueue, Stage};
use crate::shared_receive::Resume;
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

pub use adapter::open;

/// A queue pair. The crate documentation has the order of its locks.
struct SoftQp {
    weak_self: Weak<Self>,
    core: Arc<Core>,
    /// The state. One thread usually posts and polls; the driver revokes the bias if it must read the link.
    state: BiasedLock<QpState>,
    /// The completion queues whose polls read the link.
    polled_by: Mutex<Vec<PolledBy>>,
    /// Poll count of the completion queues at the driver's last check.
    polls_seen: AtomicU64,
    /// True if pollers do not read the link before its doorbell rings.
    waits_for_doorbell: AtomicBool,
    /// Consecutive checks in which the driver did not get the lock.
    refusals: AtomicU32,
    /// True if the driver found the lock held. The poller that holds it then borrows the link, because a poller without
    /// pauses would lock the driver out.
    thread_waits: AtomicBool,
}

/// A completion queue whose polls read the link, until this is dropped.
struct PolledBy {
    queue: Arc<Cq>,
    /// The key of the queue pair among the links of the queue.
    key: usize,
}

impl PolledBy {
    /// Makes the polls of exactly these completion queues read a link.
    fn join<L: PolledLink + 'static>(
        all: &mut Vec<Self>,
        queues: Vec<Arc<Cq>>,
        link: &Arc<L>,
        core: &Core,
    ) {
        all.retain(|one| queues.iter().any(|queue| Arc::ptr_eq(queue, &one.queue)));
        // Usually one or two for good; a vector would otherwise have space for four.
        all.reserve_exact(queues.len().saturating_sub(all.len()));
        for queue in queues {
            if !all.iter().any(|one| Arc::ptr_eq(&queue, &one.queue)) {
                let link: Arc<L> = Arc::clone(link);
                let key = queue.links.add(link);
                // The first link of the queue has this key. A later one that has it announces the queue again.
                if key == 0 {
                    core.submit_without_wakeup(Job::PollQueue(Arc::downgrade(&queue)));
                }
                all.push(Self { key, queue });
            }
        }
    }
}

impl Drop for PolledBy {
    fn drop(&mut self) {
        self.queue.links.remove(self.key);
    }
}

/// The state of a queue pair in the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Unconnected,
    /// The link is being connected, or the answer of the peer is awaited.
    Connecting,
    /// Accepted, or established.
    Connected,
    /// The connection or the attempt has ended, and the receives stay posted.
    Lost {
        /// Requests stay, too, until their owner gives up.
        keeps: bool,
    },
    Disconnected,
}

/// The queued events to report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    All,
    /// Those before the end of a connection.
    UntilEnd,
}

/// The state under the lock of a queue pair.
struct QpState {
    phase: Phase,
    /// The number of the latest attempt, assigned by the core.
    attempt: u64,
    /// The local port of the latest attempt.
    local_port: u64,
    /// The link of the latest attempt while it is being connected; there is no connection then.
    dialling: Option<Box<Dialling>>,
    conn: Option<Box<Connection>>,
    /// The requests of a lost connection.
    kept: SendQueue,
    queues: WorkQueues,
    /// The consumer disconnects; a graceful disconnect waits for outstanding requests.
    is_closing: bool,
    /// True if the core has dropped the queue pair, which reports no more events.
    is_retired: bool,
    /// Counts what unreliable connections drop.
    lost: Arc<DatagramCounts>,
    sink: Arc<dyn ConnectionSink>,
    /// Why this side has broken the latest connection.
    break_cause: Option<BreakCause>,
    /// Events to report, each with its attempt.
    events: VecDeque<(u64, Event)>,
    /// True if a thread is reporting events.
    is_delivering: bool,
}

/// The reference to a queue pair that domains and shared receive queues hold.
struct QpRef(pub(super) Weak<SoftQp>);

impl DomainUser for QpRef {
    fn wait_for_copies(&self) {
        if let Some(queue_pair) = self.0.upgrade() {
            queue_pair.state.synchronize();
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        self.0.upgrade().is_none_or(|queue_pair| queue_pair.state.synchronize_without_fence())
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
    fn state_error(&self) -> Error {
        wrong_state(match self.phase {
            Phase::Unconnected => Subtype::InvalidStateEpUnconnected,
            Phase::Connecting => Subtype::InvalidStateEpActconnpending,
            Phase::Connected if self.is_closing => Subtype::InvalidStateEpDiscpending,
            Phase::Connected => Subtype::InvalidStateEpConnected,
            Phase::Lost { .. } | Phase::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }

    /// # Errors
    /// The queue pair cannot be connected in its current state.
    fn check_connectable(&self) -> Result<()> {
        let is_unconnected = matches!(self.phase, Phase::Unconnected | Phase::Lost { .. });
        if self.is_retired || !is_unconnected || !self.kept.is_empty() {
            return Err(self.state_error());
        }
        if self.queues.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }

    /// An attempt begins, which can be connected.
    fn begin_attempt(&mut self, attempt: u64, phase: Phase) {
        if matches!(self.phase, Phase::Lost { .. }) {
            self.forget_failures();
        }
        self.attempt = attempt;
        self.phase = phase;
        self.break_cause = None;
    }

    fn forget_failures(&self) {
        self.queues.requests.clear_failure();
        self.queues.receives.target.clear_failure();
    }

    /// Returns true if receives may be posted that no connection uses, and that only their owner flushes.
    fn keeps_receives_without_connection(&self) -> bool {
        let is_unconnected = matches!(self.phase, Phase::Unconnected | Phase::Lost { .. });
        is_unconnected && self.queues.losses == LossPolicy::Keep
    }

    /// The connection or the attempt is over: flushes the receives, unless they stay posted. `keeps` goes into
    /// [`Phase::Lost`].
    fn conclude(&mut self, keeps: bool, upcalls: &mut Upcalls) {
        let is_lost = !self.is_retired && !std::mem::take(&mut self.is_closing);
        if is_lost && self.queues.losses == LossPolicy::Keep {
            self.phase = Phase::Lost { keeps };
        } else {
            self.phase = Phase::Disconnected;
            self.queues.receives.flush(upcalls);
        }
    }

    /// Ends the requests of a lost connection: the oldest one with that status.
    fn flush_kept(&mut self, first: DtoStatus, upcalls: &mut Upcalls) {
        let mut status = first;
        while let Some((request, extra)) = self.kept.pop_lost() {
            self.queues.complete_request(&request, extra, status, upcalls);
            status = DtoStatus::Flushed;
        }
    }

    /// Flushes what was posted without a connection or stayed after its loss.
    fn flush_unconnected(&mut self, upcalls: &mut Upcalls) {
        self.flush_kept(DtoStatus::Flushed, upcalls);
        self.queues.receives.flush(upcalls);
    }

    /// Waits no longer for a peer that is lost, or a connection; see [`dat_provider::verbs::VerbsQueuePair::give_up`].
    fn give_up(&mut self, core: &Core, upcalls: &mut Upcalls) {
        let is_open = self.conn.as_ref().is_some_and(|conn| conn.protocol.is_open());
        if self.is_retired || self.is_closing || is_open || self.queues.losses != LossPolicy::Keep {
            return;
        }
        match self.phase {
            Phase::Lost { keeps: true } if !self.kept.is_empty() => {
                self.flush_kept(DtoStatus::Transport, upcalls);
                self.phase = Phase::Lost { keeps: false };
            }
            Phase::Lost { .. } | Phase::Disconnected => {}
            Phase::Unconnected | Phase::Connecting | Phase::Connected => {
                self.stop_dialling(core);
                let (before, reason) = (self.events.len(), Some(Reason::Abrupt));
                let cause = EndCause::Disconnected;
                self.end_connection(Ending { cause, reason }, core, upcalls);
                self.events.truncate(before);
                self.phase = Phase::Lost { keeps: true };
            }
        }
    }

    fn push_event(&mut self, event: Event) {
        if !self.is_retired {
            // There is seldom a second one.
            self.events.reserve_exact(1);
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

    /// Advances the connection: writes, completes and ends. Acknowledgements may wait for the next frame, or for the
    /// poll in which they are due (`may_wait`).
    fn advance(&mut self, core: &Core, upcalls: &mut Upcalls, may_wait: bool) {
        self.advance_connection(core, upcalls, may_wait);
        self.update_fast_path();
    }

    fn advance_connection(&mut self, core: &Core, upcalls: &mut Upcalls, may_wait: bool) {
        let Some(conn) = &mut self.conn else { return };
        if !conn.is_ending() {
            conn.progress(&mut self.queues, upcalls);
        }
        let dropped = std::mem::take(&mut conn.protocol.inbound.dropped);
        if dropped != 0 {
            self.lost.count_dropped(dropped);
        }
        if let Some(established) = conn.protocol.established.take() {
            // Polls before the connection do not predict polls of its link.
            conn.attention.note_polls(&self.queues);
            self.phase = Phase::Connected;
            self.push_event(Event::Established(established));
        }
        let is_awaited = self.conn.as_mut().is_some_and(|conn| conn.protocol.take_receive_wait());
        if is_awaited {
            self.push_event(Event::ReceiveAwaited);
        }
        let Some(conn) = &mut self.conn else { return };
        if self.is_closing && conn.protocol.outbound.sends.is_empty() {
            conn.protocol.end(EndCause::Disconnected, Some(Reason::Graceful));
        }
        match conn.protocol.ending.take() {
            Some(ending) => self.end_connection(ending, core, upcalls),
            None => conn.acknowledge(may_wait || conn.protocol.awaits_reply()),
        }
    }

    /// Ends the connection: flushes outstanding operations and queues the event.
    fn end_connection(&mut self, ending: Ending, core: &Core, upcalls: &mut Upcalls) {
        self.stop_dialling(core);
        let Some(mut conn) = self.conn.take() else { return };
        let protocol = &mut conn.protocol;
        protocol.grant = None;
        let may_keep = !self.is_retired && !self.is_closing;
        let keeps = protocol.end_requests(&mut self.queues, upcalls, may_keep);
        self.kept = std::mem::take(&mut protocol.outbound.sends);
        self.break_cause = protocol.break_cause();
        self.conclude(keeps, upcalls);
        let event = match (protocol.stage, ending.cause) {
            (Stage::AwaitAnswer, EndCause::Rejected(private_data)) => {
                Event::PeerRejected(private_data)
            }
            (Stage::AwaitAnswer, EndCause::Refused(cause)) => Event::NonPeerRejected(cause),
            (Stage::AwaitAnswer, _) => Event::NonPeerRejected(RefusalCause::Closed),
            (Stage::AwaitReady, EndCause::Refused(cause)) => Event::AcceptFailed(cause),
            (Stage::AwaitReady, EndCause::Broken) => Event::AcceptFailed(RefusalCause::Unknown),
            (Stage::AwaitReady, _) => Event::AcceptFailed(RefusalCause::Abandoned),
            (Stage::Open, EndCause::Broken) => Event::Broken,
            (Stage::Open, _) => Event::Disconnected,
        };
        self.push_event(event);
        if conn.link.has_lost_descriptor() {
            core.fail(Errno::BADF);
        }
        let last = ending.reason.map(|reason| conn.protocol.last_frame(reason));
        core.close(conn.close(last, &self.queues));
    }
}

impl SoftQp {
    /// The driver's reference to this queue pair.
    fn driven(&self) -> Weak<dyn Driven> {
        let weak: Weak<Self> = Weak::clone(&self.weak_self);
        weak
    }

    /// Releases the lock and leaves upcalls and events to the driver.
    #[inline]
    fn unlock_and_defer(&self, state: BiasedGuard<'_, QpState>, upcalls: Upcalls) {
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
    fn with_state<T>(&self, act: impl FnOnce(&mut QpState, &mut Upcalls) -> T) -> T {
        self.with_locked_state(self.state.lock(), act)
    }

    /// As [`with_state`](Self::with_state), with the lock already held.
    fn with_locked_state<T>(
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
    fn with_state_in_order<T>(
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

    /// Runs `act` and advances the connection. Makes the upcalls of the completion queues after releasing the lock.
    /// Returns true if events wait to be reported too.
    fn update<T>(
        &self,
        mut state: BiasedGuard<'_, QpState>,
        act: impl FnOnce(&mut QpState, &mut Upcalls) -> T,
    ) -> (T, bool) {
        let mut upcalls = Upcalls::default();
        let result = act(&mut state, &mut upcalls);
        // An acknowledgement cannot wait for a poll that is not certain.
        let may_wait = state
            .conn
            .as_ref()
            .is_some_and(|it| it.attention.is_lent() && !it.attention.is_read_by_poll_set());
        state.advance(&self.core, &mut upcalls, may_wait);
        self.update_interest(&mut state);
        let has_events = !state.events.is_empty();
        drop(state);
        upcalls.deliver();
        (result, has_events)
    }

    /// Reports the queued events up to an end, which waits in `order`.
    fn deliver_in_order(&self, order: &mut EventOrder) {
        if self.deliver_events(Delivery::UntilEnd) {
            order.add_end(self.driven());
        }
    }

    /// Reports queued events, in order. Only one thread at a time does so. Returns true if an end is left.
    fn deliver_events(&self, delivery: Delivery) -> bool {
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
        if state.events.is_empty() {
            // An established connection has none for long.
            state.events = VecDeque::new();
        }
        !state.events.is_empty()
    }
}
