//! The control side of an endpoint: its state, and the calls and upcalls that change it.
//!
//! Two locks: `call` (in [`EpInner`]) is held during a control call of the consumer, and so during
//! downcalls to the queue pair; `control` guards the state and is the only one that upcalls take,
//! so upcalls may arrive inside a downcall. Lock order: call, control, event dispatcher.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::state::EpState;
use super::table::{Action, EpEvent, Step, step};
use super::{Config, EpInner};
use crate::counters::IaCounter;
use crate::deferred_upcalls::UpcallFreeGuard;
use crate::error::{Error, Result, ReturnType};
use crate::evd::{EvdInner, Stream};
use crate::event::{ConnectionEvent, ConnectionEventKind, Event};
use crate::flags::{Close, ConnectFlags};
use crate::ia::Child;
use crate::kind::ObjectKind;
use crate::provider::{Address, ConnectionSink, ConnectionUpcall, PathCause, Peer, RefusalCause};
use crate::timer::{self, TimerKey};
use dat_sync::{SlabWeak, clock};

/// The state byte of an endpoint that was freed.
const ENDED: u8 = u8::MAX;

/// Receives the queue pair's connection events. Weak, because the endpoint owns the queue pair.
pub(super) struct Sink(pub(super) SlabWeak<EpInner>);

impl ConnectionSink for Sink {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.connection_event(attempt, event);
        }
    }
}

/// The part of an endpoint that changes with its state.
pub(super) struct Control {
    /// The number of the attempt or connection whose events are accepted.
    pub(super) attempt: u64,
    pub(super) connect_evd: Option<Arc<EvdInner>>,
    /// `None` unless a pending attempt has a time-out or holds receives back.
    pending: Option<Box<Pending>>,
    /// `None` while nothing is known of the peer.
    pub(super) other: Option<Box<Other>>,
    /// Datagram attempts in progress; `None` until there is one.
    resolving: Option<Box<Attempts>>,
}

/// State of a pending attempt that an established connection does not have.
#[derive(Default)]
struct Pending {
    /// The time-out.
    clock: Option<TimerKey>,
    /// The dispatcher that holds back the endpoint's receives.
    receives: Option<Arc<EvdInner>>,
}

/// The known state of the peer.
#[derive(Default)]
pub(super) struct Other {
    pub(super) remote: Option<Remote>,
    pub(super) peer: Option<Peer>,
    pub(super) local_port: u64,
    private_data: Arc<[u8]>,
    /// Why the last attempt failed.
    cause: RefusalCause,
}

/// Attempts of a datagram endpoint, by number.
#[derive(Default)]
struct Attempts(BTreeMap<u64, Resolving>);

/// A datagram attempt.
#[derive(Default)]
pub(super) struct Resolving {
    pub(super) clock: Option<TimerKey>,
    /// The private data of the request that it answers; `None` for an attempt that this side
    /// started.
    pub(super) answers: Option<Arc<[u8]>>,
    /// The address of the peer, of an attempt that this side started.
    pub(super) to: Option<Address>,
}

/// The destination of a connect; dat_ep_dup_connect uses it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) address: Address,
    pub(super) qualifier: u64,
    pub(super) flags: ConnectFlags,
}

impl EpInner {
    /// The state; `None` when the endpoint was freed.
    #[inline]
    pub(crate) fn state(&self) -> Option<EpState> {
        // Pairs with `set_state` and `end`.
        EpState::from_value(self.state.load(Ordering::Acquire))
    }

    pub(super) fn control(&self) -> UpcallFreeGuard<'_, Control> {
        self.control.lock()
    }

    /// Called under the control lock, so that the post checks follow the state.
    fn set_state(&self, state: EpState) {
        self.state.store(state as u8, Ordering::Release);
        self.post_checks.set_state(Some(state));
    }

    /// Ends the endpoint: anything that is reported later is ignored.
    fn end(&self, control: &mut Control) {
        self.state.store(ENDED, Ordering::Release);
        self.post_checks.set_state(None);
        control.attempt += 1;
        control.connect_evd = None;
        stop_clock(control);
        self.release_held_receives(control);
        let resolving = control.resolving.take().unwrap_or_default();
        for key in resolving.0.into_values().filter_map(|it| it.clock) {
            timer::cancel(key);
        }
    }

    /// Takes the step of an event. Returns the former state and the step, whose actions the caller
    /// must perform.
    fn transit(&self, control: &mut Control, event: EpEvent) -> Option<(EpState, Step)> {
        let state = self.state()?;
        let taken = step(state, event);
        match taken {
            Step::Go(next, actions) => {
                if event == EpEvent::Accept {
                    self.state_before_accept.store(state as u8, Ordering::Relaxed);
                    control.attempt += 1;
                }
                if actions.contains(&Action::StartAttempt)
                    || actions.contains(&Action::AbortAttempt)
                {
                    control.attempt += 1;
                }
                if matches!(next, EpState::Unconnected | EpState::UnconfiguredUnconnected) {
                    control.forget_peer();
                }
                self.set_state(next);
            }
            Step::Back => {
                let before = EpState::from_value(self.state_before_accept.load(Ordering::Relaxed))?;
                if before == EpState::Unconnected {
                    control.forget_peer();
                }
                self.set_state(before);
            }
            Step::End => self.end(control),
            Step::Ignore => _ = self.ignored.fetch_add(1, Ordering::Relaxed),
            Step::Stay | Step::Refuse => {}
        }
        Some((state, taken))
    }

    /// Handles an event that needs no downcall: from the provider, or from the service point or
    /// request that the endpoint belongs to.
    pub(crate) fn report(&self, event: EpEvent) {
        let mut control = self.control.lock();
        self.report_locked(&mut control, event);
    }

    /// A request arrived for the endpoint, at that port: its peer is known from now on
    /// (dat_ep_query(3DAT)).
    pub(crate) fn request_arrived(&self, peer: Peer, port: u64) {
        let mut control = self.control.lock();
        if let Some((_, Step::Go(..))) = self.transit(&mut control, EpEvent::RequestArrived) {
            let other = control.other();
            other.peer = Some(peer);
            other.local_port = port;
        }
    }

    fn report_locked(&self, control: &mut Control, event: EpEvent) {
        let Some((before, Step::Go(_, actions))) = self.transit(control, event) else {
            return self.release_held_receives(control);
        };
        for action in actions {
            match action {
                Action::StopClock => stop_clock(control),
                Action::Raise(kind) => {
                    self.raise(control, *kind, before);
                    if *kind == ConnectionEventKind::Established
                        && self.post_checks.watermarks.are_set()
                    {
                        self.schedule_watermark_check();
                    }
                }
                // The table has none of these actions for events from the provider.
                Action::StartAttempt
                | Action::AbortAttempt
                | Action::CloseGracefully
                | Action::CloseAbruptly
                | Action::ResetQueuePair => {}
            }
        }
        self.release_held_receives(control);
    }

    /// Holds back the receives of the attempt that begins until its outcome has been raised:
    /// consumers rely on that event coming first.
    pub(super) fn hold_receives_back(&self, control: &mut Control, config: &Config) {
        let Some(evd) = config.bindings.evd(Stream::Receive) else { return };
        let (endpoint, attempt) = (self.weak_self.clone(), control.attempt);
        evd.hold_back(self.base.id, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.communication_established(attempt);
            }
        });
        control.pending.get_or_insert_default().receives = Some(Arc::clone(evd.arc()));
    }

    /// Releases the receives that were held back, unless the attempt is still pending. They follow
    /// the events raised before.
    fn release_held_receives(&self, control: &mut Control) {
        if control.pending.is_none() || self.state().is_some_and(EpState::is_attempt_pending) {
            return;
        }
        let pending = control.pending.take().and_then(|pending| pending.receives);
        if let Some(evd) = pending {
            evd.release_held(self.base.id);
        }
    }

    /// A receive that is held back completed.
    fn communication_established(&self, attempt: u64) {
        if let Some(queue_pair) = self.queue_pair() {
            queue_pair.communication_established(attempt);
        }
    }

    /// Has the timer thread check the watermarks: they may break a connection, which must not
    /// happen inside an upcall.
    pub(super) fn schedule_watermark_check(&self) {
        let now = clock::now();
        let endpoint = self.weak_self.clone();
        let _ = timer::schedule(now, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.check_watermarks_and_wait();
            }
        });
    }

    /// Delivers a connection event, under the control lock, so that events keep their order.
    fn raise(&self, control: &mut Control, kind: ConnectionEventKind, before: EpState) {
        let counter_set = &self.base.ia.counter_set;
        let is_active = control.remote().is_some();
        if kind == ConnectionEventKind::Established {
            // The answer that the active side got, and its confirmation.
            let parts: &[_] = match is_active {
                true => &[IaCounter::CmRepRx, IaCounter::CmRtuTx],
                false => &[IaCounter::CmRtuRx],
            };
            parts.iter().for_each(|part| counter_set.count(*part));
        }
        counter_set.count(match kind {
            ConnectionEventKind::Established if is_active => IaCounter::CmActiveEst,
            ConnectionEventKind::Established => IaCounter::CmPassiveEst,
            ConnectionEventKind::PeerRejected => IaCounter::CmUserRejRx,
            ConnectionEventKind::NonPeerRejected => IaCounter::CmErrRefused,
            ConnectionEventKind::TimedOut => IaCounter::CmErrTimeout,
            // The answer to a disconnect of this side.
            ConnectionEventKind::Disconnected if before == EpState::DisconnectPending => {
                IaCounter::CmDrepRx
            }
            ConnectionEventKind::Disconnected | ConnectionEventKind::Broken => IaCounter::CmDreqRx,
            ConnectionEventKind::AcceptCompletionError | ConnectionEventKind::Unreachable => {
                IaCounter::CmErr
            }
        });
        let private_data = match kind {
            ConnectionEventKind::Established | ConnectionEventKind::PeerRejected => {
                control.other.as_ref().map(|other| Arc::clone(&other.private_data))
            }
            _ => None,
        };
        let cause = match (kind, &control.other) {
            (
                ConnectionEventKind::NonPeerRejected
                | ConnectionEventKind::TimedOut
                | ConnectionEventKind::AcceptCompletionError,
                Some(other),
            ) => other.cause,
            (ConnectionEventKind::Unreachable, Some(other)) => {
                let to = other.remote.as_ref().map(|remote| remote.address);
                self.why_unreachable(other.cause, to)
            }
            _ => RefusalCause::Unknown,
        };
        if let Some(evd) = &control.connect_evd {
            let private_data = private_data.unwrap_or_default();
            let event = ConnectionEvent { kind, ep: self.base.id, private_data, cause };
            evd.raise_connection(Event::Connection(event));
        }
    }

    /// The cause of an attempt to reach that address, of which the provider knows this.
    pub(super) fn why_unreachable(&self, told: RefusalCause, to: Option<Address>) -> RefusalCause {
        let own = self.base.ia.attributes.ia.address;
        let is_other = to.is_some_and(|address| address.differs_in_family(&own));
        match told {
            RefusalCause::Unknown
            | RefusalCause::Unreachable
            | RefusalCause::Path(PathCause::Address(_))
                if is_other =>
            {
                RefusalCause::OtherFamily
            }
            _ => told,
        }
    }

    /// Schedules the end of the attempt at a deadline.
    pub(super) fn schedule_timeout(&self, deadline: Instant, attempt: u64) -> Option<TimerKey> {
        let endpoint = self.weak_self.clone();
        timer::schedule(deadline, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.connect_timed_out(attempt);
            }
        })
    }

    /// The deadline of an attempt expired.
    fn connect_timed_out(&self, attempt: u64) {
        if self.is_datagram() {
            return self.resolution_timed_out(attempt);
        }
        let _call = self.call.lock();
        {
            let mut control = self.control.lock();
            if control.attempt != attempt {
                return;
            }
            if let Some(pending) = &mut control.pending {
                pending.clock = None;
            }
        }
        // Refused only if the attempt has ended in the meantime.
        let _ = self.perform(EpEvent::ConnectTimedOut, "connect timeout");
    }
}

impl Control {
    pub(super) fn new(connect_evd: Option<Arc<EvdInner>>) -> Self {
        Self { attempt: 0, connect_evd, pending: None, other: None, resolving: None }
    }

    /// The record of the peer, created if it does not exist.
    pub(super) fn other(&mut self) -> &mut Other {
        self.other.get_or_insert_default()
    }

    pub(super) fn remote(&self) -> Option<Remote> {
        self.other.as_ref().and_then(|other| other.remote)
    }

    /// The address and the port of the peer; before they are known, what the connect names.
    pub(super) fn peer(&self) -> Option<(Address, u64)> {
        let named = self.remote().map(|remote| (remote.address, remote.qualifier));
        let peer = self.other.as_ref().and_then(|other| other.peer);
        peer.map(|peer| (peer.address, peer.port)).or(named)
    }

    /// The attempts in progress.
    pub(super) fn resolving(&mut self) -> &mut BTreeMap<u64, Resolving> {
        &mut self.resolving.get_or_insert_default().0
    }

    fn forget_peer(&mut self) {
        self.other = None;
    }

    /// Stores the timer of the attempt.
    pub(super) fn start_clock(&mut self, key: Option<TimerKey>) {
        if key.is_some() {
            self.pending.get_or_insert_default().clock = key;
        }
    }
}

/// A shared copy; empty data allocates nothing.
fn shared(bytes: &[u8]) -> Arc<[u8]> {
    if bytes.is_empty() { Arc::default() } else { Arc::from(bytes) }
}

fn stop_clock(control: &mut Control) {
    if let Some(key) = control.pending.as_mut().and_then(|pending| pending.clock.take()) {
        timer::cancel(key);
    }
}

impl EpInner {
    /// A connection event of an attempt, from the provider.
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        let mut control = self.control.lock();
        if self.is_datagram() {
            return self.resolved(&mut control, attempt, event);
        }
        if control.attempt != attempt {
            self.ignored.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let event = match event {
            ConnectionUpcall::Established { private_data, peer, local_port } => {
                let other = control.other();
                other.private_data = shared(private_data);
                other.peer = Some(peer);
                other.local_port = local_port;
                EpEvent::Established
            }
            ConnectionUpcall::PeerRejected { private_data } => {
                control.other().private_data = shared(private_data);
                EpEvent::PeerRejected
            }
            ConnectionUpcall::NonPeerRejected { cause } => {
                control.other().cause = cause;
                EpEvent::NonPeerRejected
            }
            ConnectionUpcall::Unreachable => EpEvent::Unreachable,
            ConnectionUpcall::TimedOut => EpEvent::TransportTimedOut,
            ConnectionUpcall::NoPath { cause } => {
                control.other().cause = RefusalCause::Path(cause);
                match cause.is_timeout() {
                    true => EpEvent::TransportTimedOut,
                    false => EpEvent::Unreachable,
                }
            }
            ConnectionUpcall::AcceptFailed { cause } => {
                control.other().cause = cause;
                EpEvent::AcceptFailed
            }
            ConnectionUpcall::Disconnected => EpEvent::Disconnected,
            ConnectionUpcall::Broken => EpEvent::Broken,
            // Only datagram endpoints have this event.
            ConnectionUpcall::Resolved { .. } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        self.report_locked(&mut control, event);
    }

    /// Takes the step of a call and performs its actions; the caller holds `call`. Returns the
    /// step.
    pub(super) fn perform(&self, event: EpEvent, operation: &'static str) -> Result<Step> {
        let (before, taken) = {
            let mut control = self.control();
            let Some((state, taken)) = self.transit(&mut control, event) else {
                return Err(self.base.freed(operation));
            };
            if taken == Step::Refuse {
                return Err(self.refused(state, event, operation));
            }
            (state, taken)
        };
        if let Step::Go(_, actions) = taken {
            for action in actions {
                match action {
                    Action::StopClock => stop_clock(&mut self.control()),
                    Action::AbortAttempt | Action::CloseAbruptly => self.end_by(Close::Abrupt),
                    Action::CloseGracefully => self.end_by(Close::Graceful),
                    Action::ResetQueuePair => {
                        let reset = self.queue_pair().map(|queue_pair| queue_pair.reset());
                        if let Some(Err(error)) = reset {
                            let control = self.control();
                            self.set_state(EpState::Disconnected);
                            drop(control);
                            return Err(self.base.describe(error, operation));
                        }
                    }
                    Action::Raise(kind) => {
                        self.raise(&mut self.control(), *kind, before);
                    }
                    // The connect call does this itself, because it has the arguments.
                    Action::StartAttempt => {}
                }
            }
            self.release_held_receives(&mut self.control());
        }
        Ok(taken)
    }

    /// Ends the connection or the attempt.
    fn end_by(&self, how: Close) {
        if let Some(queue_pair) = self.queue_pair() {
            queue_pair.disconnect(how);
        }
    }

    /// The error of a call that the state does not allow; it lists the states that do.
    #[cold]
    pub(super) fn refused(&self, state: EpState, event: EpEvent, operation: &'static str) -> Error {
        let allowed: Vec<&str> = EpState::ALL
            .iter()
            .filter(|state| !matches!(step(**state, event), Step::Refuse | Step::Ignore))
            .map(|state| state.name())
            .collect();
        let advice = match way_to_unconnected(state) {
            Some(way) if allowed.contains(&EpState::Unconnected.name()) => {
                format!("{way}: the call requires one of: {}", allowed.join(", "))
            }
            _ => format!("the call requires one of: {}", allowed.join(", ")),
        };
        let error = Error::new(ReturnType::InvalidState, state.invalid_state())
            .because(format!("the endpoint is in the state {state}"))
            .advise(advice);
        self.base.describe(error, operation)
    }
}

/// How a consumer makes an endpoint in that state unconnected, if it can.
fn way_to_unconnected(state: EpState) -> Option<&'static str> {
    match state {
        EpState::Disconnected => Some("call dat_ep_reset first"),
        state if state.is_connected() || state == EpState::ActiveConnectionPending => {
            Some("call dat_ep_disconnect first, and dat_ep_reset after the event")
        }
        _ => None,
    }
}

impl EpInner {
    /// Ends the endpoint even while it is in use.
    pub(crate) fn abandon(&self) {
        let config: Option<Config> = {
            let mut call = self.call.lock();
            if self.base.lifecycle.force() {
                let mut control = self.control();
                self.end(&mut control);
                drop(control);
                self.shut_queue_pair_down();
            }
            call.take()
        };
        drop(config);
        self.base.leave();
    }
}

impl Child for SlabWeak<EpInner> {
    fn kind(&self) -> ObjectKind {
        ObjectKind::Ep
    }

    fn abandon(&self) {
        if let Some(endpoint) = self.upgrade() {
            endpoint.abandon();
        }
    }
}
