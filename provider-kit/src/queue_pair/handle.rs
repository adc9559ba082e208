//! The queue pair of the provider contract.

use std::cell::Cell;
use std::sync::Arc;

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::{Close, CompletionFlags, Privileges};
use dat_provider::verbs::{BreakCause, VerbsQueuePair};
use dat_provider::{
    Activity, BindRequest, Buffer, ConnectRequest, Epoch, Failure, Outstanding, QueuePair,
    QueuePairSpec, ReceiveRequest, Request, Work, unsupported,
};

use super::{Phase, QpState, SoftQp};
use crate::errors::{foreign_object, no_credit, wrong_state};
use crate::frame::Reason;
use crate::protocol::{EndCause, Ending, PostedRequest};
use crate::receive_ring::PostedReceive;
use crate::window::Bind;

/// The core's reference to a queue pair.
pub(super) struct QpHandle(pub(super) Arc<SoftQp>);

impl QpHandle {
    /// The slow path: the peer needs the new credit, or the queue pair is not connected.
    #[inline(never)]
    fn post_receive_slow(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.with_state(|state, upcalls| {
            let receives = &mut state.queues.receives;
            if receives.shared.is_some() {
                return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                    .because("the queue pair uses a shared receive queue"));
            }
            if !receives.credits.try_take() {
                return Err(no_credit());
            }
            if receives.ring.push(PostedReceive::new(receive), receive.segments).is_err() {
                receives.credits.give_back();
                return Err(Error::no_memory("the receives of the endpoint"));
            }
            if state.phase == Phase::Disconnected {
                receives.flush(upcalls);
            } else if let Some(conn) = &mut state.conn {
                conn.protocol.counts.note_posted();
            }
            Ok(())
        })
    }
}

impl QueuePair for QpHandle {
    #[inline]
    fn post_one_send(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        self.0.core.owner_process.check()?;
        let segment = buffer.with_key(key);
        if self.0.post_message_fast(segment, cookie, flags, checked.number()) {
            return Ok(());
        }
        let (segments, length) = (&[segment], buffer.length);
        self.post_request(&Request { work: Work::Send, segments, length, cookie, flags, checked })
    }

    #[inline]
    fn post_one_receive(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        self.0.core.owner_process.check()?;
        let segment = buffer.with_key(key);
        let receive = PostedReceive::with_one_segment(buffer.length, cookie, flags, checked);
        if self.0.post_one_receive_fast(receive, segment) {
            return Ok(());
        }
        self.post_receive(&ReceiveRequest { segments: &[segment], cookie, flags, checked })
    }

    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.core.owner_process.check()?;
        if self.0.post_receive_fast(PostedReceive::new(receive), receive.segments) {
            return Ok(());
        }
        self.post_receive_slow(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.0.core.owner_process.check()?;
        if self.0.post_request_fast(request) {
            return Ok(());
        }
        self.0.post(|state| {
            let posted = PostedRequest::new(request);
            if state.queues.is_unreliable && posted.expects_answer() {
                return Err(unsupported("RDMA reads and atomics over unreliable connections"));
            }
            Ok(posted)
        })
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let key = Cell::new(0);
        self.0.post(|state| {
            let bound = Bind::new(bind, state.queues.number)?;
            key.set(bound.key());
            Ok(PostedRequest::bind(bound, bind.cookie, bind.flags))
        })?;
        Ok(key.get())
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        self.0.core.check()?;
        self.0.connect(request)
    }

    fn connecting_port(&self) -> Option<u64> {
        self.0.core.owner_process.check().ok()?;
        let state = self.0.state.lock();
        matches!(state.phase, Phase::Connecting).then_some(state.local_port)
    }

    fn disconnect(&self, close: Close) {
        if self.0.core.owner_process.check().is_err() {
            return;
        }
        // Requests that the peer has already acknowledged complete as successes.
        self.0.read_until(|state| {
            let conn = state.conn.as_ref().filter(|conn| conn.protocol.is_open());
            let sends = conn.map(|conn| &conn.protocol.outbound.sends);
            sends.is_none_or(|sends| !sends.waiting.is_empty() || !sends.has_in_flight())
        });
        self.0.with_state(|state, upcalls| {
            if let Some(conn) = state.conn.as_mut().filter(|conn| conn.protocol.is_open()) {
                conn.read(&mut state.queues, upcalls);
                conn.protocol.complete(&mut state.queues, upcalls);
            }
            let is_attempt = matches!(state.phase, Phase::Connecting)
                || state.conn.as_ref().is_some_and(|conn| !conn.protocol.is_open());
            let keeps_receives = state.keeps_receives_without_connection();
            match &mut state.conn {
                _ if keeps_receives => {
                    state.phase = Phase::Disconnected;
                    state.flush_unconnected(upcalls);
                }
                _ if !matches!(state.phase, Phase::Connecting | Phase::Connected) => {}
                Some(conn)
                    if !is_attempt
                        && close == Close::Graceful
                        && !conn.protocol.outbound.sends.is_empty() =>
                {
                    state.is_closing = true;
                }
                Some(conn) => {
                    let reason = match close {
                        Close::Graceful => Reason::Graceful,
                        Close::Abrupt => Reason::Abrupt,
                    };
                    let ending = Ending { cause: EndCause::Disconnected, reason: Some(reason) };
                    conn.protocol.ending = None;
                    state.is_closing = true;
                    let before = state.events.len();
                    state.end_connection(ending, &self.0.core, upcalls);
                    if is_attempt {
                        state.events.truncate(before);
                    }
                }
                None => {
                    state.stop_dialling(&self.0.core);
                    state.is_closing = true;
                    state.conclude(true, upcalls);
                }
            }
        });
    }

    fn reset(&self) -> Result<()> {
        self.0.core.owner_process.check()?;
        self.0.with_state(|state, upcalls| {
            let is_over = matches!(state.phase, Phase::Lost { .. } | Phase::Disconnected);
            if state.is_retired || !is_over {
                return Err(state.state_error());
            }
            // A lost connection has left them.
            state.flush_unconnected(upcalls);
            state.phase = Phase::Unconnected;
            state.forget_failures();
            Ok(())
        })
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.0.core.owner_process.check()?;
        let mut state = self.0.state.lock();
        if state.is_retired || state.phase != Phase::Unconnected {
            return Err(state.state_error());
        }
        let replaced = state.apply(&spec, &self.0.weak_self)?;
        drop(state);
        drop(replaced);
        self.0.join_completion_queues();
        Ok(())
    }

    fn outstanding(&self) -> Outstanding {
        if self.0.core.owner_process.check().is_err() {
            return Outstanding::default();
        }
        // Suppressed requests end without a completion; only acknowledgements report their end.
        self.0.read_until(|state| !state.has_suppressed());
        let state = self.0.state.lock();
        let protocol = state.conn.as_ref().map(|conn| &conn.protocol);
        let requests = protocol.map_or(&state.kept, |protocol| &protocol.outbound.sends).len();
        let held = protocol.map_or(0, |protocol| u32::from(protocol.inbound.holds_receive()));
        let receives = &state.queues.receives;
        Outstanding {
            receives: receives.ring.count() + receives.interrupted.len() as u32 + held,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.0.core.owner_process.check().ok()?;
        let state = self.0.state.lock();
        state.queues.requests.failure().or_else(|| state.queues.receives.target.failure())
    }

    fn for_verbs(&self) -> &dyn VerbsQueuePair {
        self
    }

    fn activity(&self) -> Activity {
        self.0.activity()
    }

    fn shutdown(&self) {
        if self.0.core.owner_process.check().is_err() {
            return;
        }
        self.0.with_state(|state, upcalls| {
            state.is_retired = true;
            state.events.clear();
            let ending = Ending { cause: EndCause::Disconnected, reason: Some(Reason::Abrupt) };
            state.end_connection(ending, &self.0.core, upcalls);
            state.phase = Phase::Disconnected;
            state.flush_unconnected(upcalls);
        });
    }
}

impl VerbsQueuePair for QpHandle {
    fn set_peer_privileges(&self, granted: Privileges) -> Result<()> {
        self.0.core.owner_process.check()?;
        let mut state = self.0.state.lock();
        state.queues.peer_privileges = granted;
        let denied = state.queues.denied();
        if let Some(grant) = state.conn.as_ref().and_then(|conn| conn.protocol.grant.as_ref()) {
            grant.deny(denied);
        }
        Ok(())
    }

    fn break_cause(&self) -> Option<BreakCause> {
        self.0.core.owner_process.check().ok()?;
        self.0.state.lock().break_cause
    }

    fn limit_receive_wait(&self, is_limited: bool) -> Result<()> {
        self.0.core.owner_process.check()?;
        self.0.state.lock().queues.limits_receive_wait = is_limited;
        Ok(())
    }

    fn end_receive_wait(&self) {
        if self.0.core.owner_process.check().is_err() {
            return;
        }
        self.0.with_state(|state, upcalls| {
            let QpState { conn: Some(conn), queues, .. } = state else { return };
            if !conn.is_ending() {
                conn.protocol.end_receive_wait(queues, upcalls);
            }
        });
    }

    fn give_up(&self) {
        if self.0.core.owner_process.check().is_ok() {
            self.0.with_state(|state, upcalls| state.give_up(&self.0.core, upcalls));
        }
    }
}

impl Drop for QpHandle {
    fn drop(&mut self) {
        // In a child of `fork`, the locks may have been held by another thread at the time of the fork.
        if self.0.core.owner_process.is_current() {
            self.0.leave_completion_queues();
        }
    }
}

/// The queue pair behind an object of the contract.
///
/// # Errors
/// The object belongs to another provider.
pub(super) fn downcast(queue_pair: &dyn QueuePair) -> Result<Arc<SoftQp>> {
    match queue_pair.as_any().downcast_ref::<QpHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("queue pair", Subtype::InvalidHandleEp)),
    }
}
