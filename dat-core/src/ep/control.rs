//! The control side of an endpoint: its state, and what calls and upcalls do to it.
//!
//! Two locks: `call` (in [`EpInner`]) is held over a control call of the consumer and so over
//! downcalls to the queue pair; `control` guards the state and is the only one that upcalls
//! take, so they may arrive inside a downcall. Lock order: call, control, event dispatcher.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard};

use super::gate::Gate;
use super::state::EpState;
use super::table::{Action, EpEvent, Step, step};
use super::{Config, EpInner};
use crate::counters::{EpCounter, IaCounter, Tally};
use crate::error::{Error, Result, ReturnType};
use crate::evd::EvdInner;
use crate::event::{ConnectionEvent, ConnectionEventKind, Event};
use crate::flags::{Close, ConnectFlags};
use crate::provider::{ConnectionSink, ConnectionUpcall, Peer};
use crate::timer::{self, Job, TimerKey};

/// The state byte of an endpoint that was freed.
const ENDED: u8 = u8::MAX;

/// The part of an endpoint that the provider's queue pair refers to.
pub(crate) struct EpShared {
    pub(super) id: u64,
    state: AtomicU8,
    pub(super) gate: Gate,
    pub(super) tally: Arc<Tally<EpCounter>>,
    control: Mutex<Control>,
    owner: OnceLock<Weak<EpInner>>,
    /// Late and impossible events, by the table.
    pub(super) ignored: AtomicU64,
}

pub(super) struct Control {
    /// Which attempt the queue pair's events must be of to count.
    pub(super) attempt: u64,
    before_accept: EpState,
    pub(super) connect_evd: Option<Arc<EvdInner>>,
    clock: Option<TimerKey>,
    pub(super) remote: Option<Remote>,
    pub(super) peer: Option<Peer>,
    pub(super) local_port: u64,
    private_data: Arc<[u8]>,
    /// Attempts of an endpoint for datagrams that are under way.
    pub(super) resolving: BTreeMap<u64, Resolving>,
}

/// An attempt of an endpoint for datagrams.
#[derive(Default)]
pub(super) struct Resolving {
    pub(super) clock: Option<TimerKey>,
    /// It answers the request of another endpoint.
    pub(super) passive: bool,
}

/// Where an endpoint connected to; what dat_ep_dup_connect repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) address: IpAddr,
    pub(super) qualifier: u64,
    pub(super) flags: ConnectFlags,
}

impl EpShared {
    pub(super) fn new(id: u64, unconfigured: bool) -> Self {
        let state =
            if unconfigured { EpState::UnconfiguredUnconnected } else { EpState::Unconnected };
        let gate = Gate::default();
        gate.set_state(Some(state));
        Self {
            id,
            state: AtomicU8::new(state as u8),
            gate,
            tally: Arc::default(),
            control: Mutex::new(Control {
                attempt: 0,
                before_accept: EpState::Unconnected,
                connect_evd: None,
                clock: None,
                remote: None,
                peer: None,
                local_port: 0,
                private_data: Arc::from([]),
                resolving: BTreeMap::new(),
            }),
            owner: OnceLock::new(),
            ignored: AtomicU64::new(0),
        }
    }

    pub(super) fn bind(&self, owner: &Arc<EpInner>) {
        let _ = self.owner.set(Arc::downgrade(owner));
    }

    /// The state, or nothing when the endpoint was freed.
    #[inline]
    pub(super) fn state(&self) -> Option<EpState> {
        EpState::from_value(self.state.load(Ordering::Acquire))
    }

    pub(super) fn ignored(&self) -> u64 {
        self.ignored.load(Ordering::Relaxed)
    }

    pub(super) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock()
    }

    /// To be called under the control lock, so that the gate follows.
    fn set_state(&self, state: EpState) {
        self.state.store(state as u8, Ordering::Release);
        self.gate.set_state(Some(state));
    }

    /// Ends the endpoint: nothing that is reported later counts.
    fn end(&self, control: &mut Control) {
        self.state.store(ENDED, Ordering::Release);
        self.gate.set_state(None);
        control.attempt += 1;
        control.connect_evd = None;
        stop_clock(control);
        let resolving = std::mem::take(&mut control.resolving);
        for key in resolving.into_values().filter_map(|it| it.clock) {
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
                    control.before_accept = state;
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
                if control.before_accept == EpState::Unconnected {
                    control.forget_peer();
                }
                self.set_state(control.before_accept);
            }
            Step::End => self.end(control),
            Step::Ignore => _ = self.ignored.fetch_add(1, Ordering::Relaxed),
            Step::Stay | Step::Refuse => {}
        }
        Some((state, taken))
    }

    /// An event that comes from below or from a service point: it needs no downcall.
    pub(super) fn report(&self, event: EpEvent) {
        let mut control = self.control.lock();
        self.report_locked(&mut control, event);
    }

    /// A request arrived for the endpoint, at that port: it knows its peer from now on
    /// (dat_ep_query(3DAT)).
    pub(super) fn report_request(&self, peer: Peer, port: u64) {
        let mut control = self.control.lock();
        if let Some((_, Step::Go(..))) = self.transit(&mut control, EpEvent::RequestArrived) {
            control.peer = Some(peer);
            control.local_port = port;
        }
    }

    fn report_locked(&self, control: &mut Control, event: EpEvent) {
        let Some((_, Step::Go(_, actions))) = self.transit(control, event) else { return };
        for action in actions {
            match action {
                Action::StopClock => stop_clock(control),
                Action::Raise(kind) => {
                    self.raise(control, *kind);
                    if *kind == ConnectionEventKind::Established && self.gate.watermarks.are_set() {
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
    }

    /// Has the watermarks looked at soon: a connection may break on them, which is not to be
    /// done inside an upcall.
    pub(super) fn look_at_watermarks(&self) {
        let Some(owner) = self.owner.get().and_then(Weak::upgrade) else { return };
        let now = std::time::Instant::now();
        let _ = timer::schedule(now, Arc::downgrade(&owner.shared), Job::CheckWatermark);
    }

    /// Delivers a connection event, under the lock, so that events keep their order.
    fn raise(&self, control: &mut Control, kind: ConnectionEventKind) {
        if let Some(owner) = self.owner.get().and_then(Weak::upgrade) {
            owner.base.ia.tally.count(match kind {
                ConnectionEventKind::Established if control.remote.is_some() => {
                    IaCounter::CmActiveEst
                }
                ConnectionEventKind::Established => IaCounter::CmPassiveEst,
                ConnectionEventKind::PeerRejected => IaCounter::CmUserRejRx,
                ConnectionEventKind::NonPeerRejected => IaCounter::CmErrRefused,
                ConnectionEventKind::TimedOut => IaCounter::CmErrTimeout,
                ConnectionEventKind::Disconnected | ConnectionEventKind::Broken => {
                    IaCounter::CmDreqRx
                }
                ConnectionEventKind::AcceptCompletionError | ConnectionEventKind::Unreachable => {
                    IaCounter::CmErr
                }
            });
        }
        let private_data = match kind {
            ConnectionEventKind::Established | ConnectionEventKind::PeerRejected => {
                Arc::clone(&control.private_data)
            }
            _ => Arc::from([]),
        };
        if let Some(evd) = &control.connect_evd {
            let event = ConnectionEvent { kind, ep: self.id, private_data };
            evd.raise_connection(Event::Connection(event));
        }
    }

    /// Looks at the watermarks outside the upcall that made it worth a look.
    pub(crate) fn check_watermark_later(&self) {
        if let Some(owner) = self.owner.get().and_then(Weak::upgrade) {
            owner.check_watermarks_patiently();
        }
    }

    /// The clock of an attempt ran out.
    pub(crate) fn connect_timed_out(&self, attempt: u64) {
        let Some(owner) = self.owner.get().and_then(Weak::upgrade) else { return };
        if self.is_datagram() {
            return self.resolution_timed_out(attempt);
        }
        let _call = owner.call.lock();
        {
            let mut control = self.control.lock();
            control.clock = None;
            if control.attempt != attempt {
                return;
            }
        }
        // Refused only where the attempt ended meanwhile.
        let _ = owner.perform(EpEvent::ConnectTimedOut, "connect time-out");
    }
}

impl Control {
    fn forget_peer(&mut self) {
        self.remote = None;
        self.peer = None;
        self.local_port = 0;
        self.private_data = Arc::from([]);
    }

    /// Starts the clock of the attempt.
    pub(super) fn start_clock(&mut self, key: Option<TimerKey>) {
        self.clock = key;
    }
}

fn stop_clock(control: &mut Control) {
    if let Some(key) = control.clock.take() {
        timer::cancel(key);
    }
}

impl ConnectionSink for EpShared {
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
                control.private_data = Arc::from(private_data);
                control.peer = Some(peer);
                control.local_port = local_port;
                EpEvent::Established
            }
            ConnectionUpcall::PeerRejected { private_data } => {
                control.private_data = Arc::from(private_data);
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
}

impl EpInner {
    /// Takes the step of a call and performs its actions; the caller holds `call`. Returns the
    /// step taken.
    pub(super) fn perform(&self, event: EpEvent, operation: &'static str) -> Result<Step> {
        let taken = {
            let mut control = self.shared.control();
            let Some((state, taken)) = self.shared.transit(&mut control, event) else {
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
                    Action::StopClock => stop_clock(&mut self.shared.control()),
                    Action::AbortAttempt | Action::CloseAbruptly => {
                        self.queue_pair.disconnect(Close::Abrupt);
                    }
                    Action::CloseGracefully => self.queue_pair.disconnect(Close::Graceful),
                    Action::ResetQueuePair => {
                        if let Err(error) = self.queue_pair.reset() {
                            let control = self.shared.control();
                            self.shared.set_state(EpState::Disconnected);
                            drop(control);
                            return Err(self.base.describe(error, operation));
                        }
                    }
                    Action::Raise(kind) => {
                        self.shared.raise(&mut self.shared.control(), *kind);
                    }
                    // The connect call does that itself: it has the arguments.
                    Action::StartAttempt => {}
                }
            }
        }
        Ok(taken)
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
            .advise(format!("the call needs one of: {}", allowed.join(", ")));
        self.base.describe(error, operation)
    }

    /// Ends the endpoint whoever uses it.
    pub(crate) fn abandon(&self) {
        let config: Option<Config> = {
            let mut call = self.call.lock();
            if self.base.lifecycle.force() {
                let mut control = self.shared.control();
                self.shared.end(&mut control);
                drop(control);
                self.queue_pair.retire();
            }
            call.take()
        };
        drop(config);
        self.base.leave();
    }
}
