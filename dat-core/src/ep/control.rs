//! The control side of an endpoint: its state, and what calls and upcalls do to it.
//!
//! Two locks: `call` (in [`EpInner`]) is held over a control call of the consumer and so over
//! downcalls to the queue pair; `control` guards the state and is the only one that upcalls
//! take, so they may arrive inside a downcall. Lock order: call, control, event dispatcher.

use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;
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
use crate::provider::{ConnectionSink, ConnectionUpcall, Peer};
use crate::timer::{self, TimerKey};
use dat_sync::SlabWeak;

/// The state byte of an endpoint that was freed.
const ENDED: u8 = u8::MAX;

/// Where the provider's queue pair reports. It does not keep the endpoint, which keeps the queue
/// pair.
pub(super) struct Sink(pub(super) SlabWeak<EpInner>);

impl ConnectionSink for Sink {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.connection_event(attempt, event);
        }
    }
}

/// What changes with the state.
pub(super) struct Control {
    /// Which attempt the queue pair's events must be of to count.
    pub(super) attempt: u64,
    pub(super) connect_evd: Option<Arc<EvdInner>>,
    /// Only while an attempt is pending that has any of it.
    pending: Option<Box<Pending>>,
    /// Absent while there is nothing to say of it.
    pub(super) other: Option<Box<Other>>,
    /// Attempts of an endpoint for datagrams that are under way; mostly there never was one.
    resolving: Option<Box<Attempts>>,
}

/// What a pending attempt has and a connection does not.
#[derive(Default)]
struct Pending {
    /// The time-out.
    clock: Option<TimerKey>,
    /// The dispatcher that holds the endpoint's receives back.
    receives: Option<Arc<EvdInner>>,
}

/// The other side.
#[derive(Default)]
pub(super) struct Other {
    pub(super) remote: Option<Remote>,
    pub(super) peer: Option<Peer>,
    pub(super) local_port: u64,
    private_data: Arc<[u8]>,
}

/// Attempts of an endpoint for datagrams, by number.
#[derive(Default)]
struct Attempts(BTreeMap<u64, Resolving>);

/// One of them.
#[derive(Default)]
pub(super) struct Resolving {
    pub(super) clock: Option<TimerKey>,
    /// The private data of the request that it answers; none for an attempt of its own.
    pub(super) answers: Option<Arc<[u8]>>,
}

/// Where an endpoint connected to; what dat_ep_dup_connect repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) address: IpAddr,
    pub(super) qualifier: u64,
    pub(super) flags: ConnectFlags,
}

impl EpInner {
    /// The state, or nothing when the endpoint was freed.
    #[inline]
    pub(crate) fn state(&self) -> Option<EpState> {
        EpState::from_value(self.state.load(Ordering::Acquire))
    }

    pub(super) fn control(&self) -> UpcallFreeGuard<'_, Control> {
        self.control.lock()
    }

    /// To be called under the control lock, so that the post checks follow.
    fn set_state(&self, state: EpState) {
        self.state.store(state as u8, Ordering::Release);
        self.post_checks.set_state(Some(state));
    }

    /// Ends the endpoint: nothing that is reported later counts.
    fn end(&self, control: &mut Control) {
        self.state.store(ENDED, Ordering::Release);
        self.post_checks.set_state(None);
        control.attempt += 1;
        control.connect_evd = None;
        stop_clock(control);
        self.let_receives_go(control);
        let resolving = control.resolving.take().unwrap_or_default();
        for key in resolving.0.into_values().filter_map(|it| it.clock) {
            timer::cancel(key);
        }
    }

    /// Takes the step of an event and returns what is left to do: nothing of it yet.
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

    /// An event from below, or of the service point or request that decides over the endpoint: it
    /// needs no downcall.
    pub(crate) fn report(&self, event: EpEvent) {
        let mut control = self.control.lock();
        self.report_locked(&mut control, event);
    }

    /// A request arrived for the endpoint, at that port: it knows its peer from now on
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
        let actions: &[Action] = match self.transit(control, event) {
            Some((_, Step::Go(_, actions))) => actions,
            _ => &[],
        };
        for action in actions {
            match action {
                Action::StopClock => stop_clock(control),
                Action::Raise(kind) => {
                    self.raise(control, *kind);
                    if *kind == ConnectionEventKind::Established
                        && self.post_checks.watermarks.are_set()
                    {
                        self.look_at_watermarks();
                    }
                }
                // The table has none of these for what comes from below.
                Action::StartAttempt
                | Action::AbortAttempt
                | Action::CloseGracefully
                | Action::CloseAbruptly
                | Action::ResetQueuePair => {}
            }
        }
        self.let_receives_go(control);
    }

    /// Holds the receives of the attempt that begins back until its outcome is raised, which
    /// consumers rely on to come first.
    pub(super) fn hold_receives_back(&self, control: &mut Control, config: &Config) {
        let Some(evd) = config.feeds.evd(Stream::Receive) else { return };
        let (endpoint, attempt) = (self.weak_self.clone(), control.attempt);
        evd.hold_back(self.base.id, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.communication_established(attempt);
            }
        });
        control.pending.get_or_insert_default().receives = Some(Arc::clone(evd.arc()));
    }

    /// Lets the receives go that were held back, unless the attempt is still pending. They follow
    /// the events that were raised before.
    fn let_receives_go(&self, control: &mut Control) {
        if control.pending.is_none() || self.state().is_some_and(EpState::is_attempt_pending) {
            return;
        }
        let pending = control.pending.take().and_then(|pending| pending.receives);
        if let Some(evd) = pending {
            evd.let_go(self.base.id);
        }
    }

    /// A receive completed that is held back.
    fn communication_established(&self, attempt: u64) {
        self.queue_pair.communication_established(attempt);
    }

    /// Has the watermarks looked at soon: a connection may break on them, which is not to be
    /// done inside an upcall.
    pub(super) fn look_at_watermarks(&self) {
        let now = Instant::now();
        let endpoint = self.weak_self.clone();
        let _ = timer::schedule(now, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.check_watermarks_patiently();
            }
        });
    }

    /// Delivers a connection event, under the lock, so that events keep their order.
    fn raise(&self, control: &mut Control, kind: ConnectionEventKind) {
        self.base.ia.tally.count(match kind {
            ConnectionEventKind::Established if control.remote().is_some() => {
                IaCounter::CmActiveEst
            }
            ConnectionEventKind::Established => IaCounter::CmPassiveEst,
            ConnectionEventKind::PeerRejected => IaCounter::CmUserRejRx,
            ConnectionEventKind::NonPeerRejected => IaCounter::CmErrRefused,
            ConnectionEventKind::TimedOut => IaCounter::CmErrTimeout,
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
        if let Some(evd) = &control.connect_evd {
            let private_data = private_data.unwrap_or_default();
            let event = ConnectionEvent { kind, ep: self.base.id, private_data };
            evd.raise_connection(Event::Connection(event));
        }
    }

    /// Has the attempt ended at a deadline.
    pub(super) fn schedule_timeout(&self, deadline: Instant, attempt: u64) -> Option<TimerKey> {
        let endpoint = self.weak_self.clone();
        timer::schedule(deadline, move || {
            if let Some(endpoint) = endpoint.upgrade() {
                endpoint.connect_timed_out(attempt);
            }
        })
    }

    /// The deadline of an attempt has passed.
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
        // Refused only where the attempt ended meanwhile.
        let _ = self.perform(EpEvent::ConnectTimedOut, "connect timeout");
    }
}

impl Control {
    pub(super) fn new(connect_evd: Option<Arc<EvdInner>>) -> Self {
        Self { attempt: 0, connect_evd, pending: None, other: None, resolving: None }
    }

    /// The other side, to say something of it.
    pub(super) fn other(&mut self) -> &mut Other {
        self.other.get_or_insert_default()
    }

    pub(super) fn remote(&self) -> Option<Remote> {
        self.other.as_ref().and_then(|other| other.remote)
    }

    /// The attempts that are under way, to add one or take one away.
    pub(super) fn resolving(&mut self) -> &mut BTreeMap<u64, Resolving> {
        &mut self.resolving.get_or_insert_default().0
    }

    fn forget_peer(&mut self) {
        self.other = None;
    }

    /// Starts the clock of the attempt.
    pub(super) fn start_clock(&mut self, key: Option<TimerKey>) {
        if key.is_some() {
            self.pending.get_or_insert_default().clock = key;
        }
    }
}

/// Bytes to hand out; none take no memory.
fn shared(bytes: &[u8]) -> Arc<[u8]> {
    if bytes.is_empty() { Arc::default() } else { Arc::from(bytes) }
}

fn stop_clock(control: &mut Control) {
    if let Some(key) = control.pending.as_mut().and_then(|pending| pending.clock.take()) {
        timer::cancel(key);
    }
}

impl EpInner {
    /// The transport's word on an attempt.
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
            ConnectionUpcall::NonPeerRejected => EpEvent::NonPeerRejected,
            ConnectionUpcall::Unreachable => EpEvent::Unreachable,
            ConnectionUpcall::TimedOut => EpEvent::TransportTimedOut,
            ConnectionUpcall::AcceptFailed => EpEvent::AcceptFailed,
            ConnectionUpcall::Disconnected => EpEvent::Disconnected,
            ConnectionUpcall::Broken => EpEvent::Broken,
            // Of no meaning to a connection.
            ConnectionUpcall::Resolved { .. } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        self.report_locked(&mut control, event);
    }

    /// Takes the step of a call and performs its actions; the caller holds `call`. Returns the
    /// step taken.
    pub(super) fn perform(&self, event: EpEvent, operation: &'static str) -> Result<Step> {
        let taken = {
            let mut control = self.control();
            let Some((state, taken)) = self.transit(&mut control, event) else {
                return Err(self.base.freed(operation));
            };
            if taken == Step::Refuse {
                return Err(self.refused(state, event, operation));
            }
            taken
        };
        if let Step::Go(_, actions) = taken {
            for action in actions {
                match action {
                    Action::StopClock => stop_clock(&mut self.control()),
                    Action::AbortAttempt | Action::CloseAbruptly => self.end_by(Close::Abrupt),
                    Action::CloseGracefully => self.end_by(Close::Graceful),
                    Action::ResetQueuePair => {
                        let reset = self.queue_pair.reset();
                        if let Err(error) = reset {
                            let control = self.control();
                            self.set_state(EpState::Disconnected);
                            drop(control);
                            return Err(self.base.describe(error, operation));
                        }
                    }
                    Action::Raise(kind) => {
                        self.raise(&mut self.control(), *kind);
                    }
                    // The connect call does that itself: it has the arguments.
                    Action::StartAttempt => {}
                }
            }
            self.let_receives_go(&mut self.control());
        }
        Ok(taken)
    }

    /// Ends the connection, or the attempt at one.
    fn end_by(&self, how: Close) {
        self.queue_pair.disconnect(how);
    }

    /// The error of a call that the state does not allow, with the states that would.
    #[cold]
    pub(super) fn refused(&self, state: EpState, event: EpEvent, operation: &'static str) -> Error {
        let allowed: Vec<&str> = EpState::ALL
            .iter()
            .filter(|state| !matches!(step(**state, event), Step::Refuse | Step::Ignore))
            .map(|state| state.name())
            .collect();
        let error = Error::new(ReturnType::InvalidState, state.invalid_state())
            .because(format!("the endpoint is in the state {state}"))
            .advise(format!("the call requires one of: {}", allowed.join(", ")));
        self.base.describe(error, operation)
    }
}

impl EpInner {
    /// Ends the endpoint even while others use it.
    pub(crate) fn abandon(&self) {
        let config: Option<Config> = {
            let mut call = self.call.lock();
            if self.base.lifecycle.force() {
                let mut control = self.control();
                self.end(&mut control);
                drop(control);
                self.queue_pair.retire();
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}
