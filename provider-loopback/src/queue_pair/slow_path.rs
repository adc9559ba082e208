//! The slow path of requests, which handles every case.

use dat_provider::error::{Error, Result};
use dat_provider::status::DtoStatus;
use dat_provider::{BindRequest, Request};
use dat_provider_kit::errors::no_credit;
use dat_provider_kit::upcalls::Upcalls;
use dat_provider_kit::window::Bind;
use dat_sync::SlabArc;

use super::connection_state::{ConnectionState, EndCause, EstablishedReport};
use super::execute::{Execution, execute};
use super::qp::LoopbackQp;
use super::request::{TaskRef, WorkRequest};
use super::send_queue::SendQueue;
use super::teardown::DeferredEnd;

impl LoopbackQp {
    #[cold]
    #[inline(never)]
    pub(super) fn post_request_slow(&self, request: &Request<'_>) -> Result<()> {
        let &Request { ref work, segments, length, cookie, flags, .. } = request;
        self.post(&WorkRequest { task: TaskRef::Work(work), segments, length, cookie, flags })
    }

    /// Posts a bind. Returns the new key of the window.
    pub(super) fn post_bind(&self, request: &BindRequest<'_>) -> Result<u32> {
        let bind = Bind::new(request, self.number)?;
        let key = bind.key();
        let BindRequest { cookie, flags, .. } = *request;
        let task = TaskRef::Bind(&bind);
        self.post(&WorkRequest { task, segments: &[], length: 0, cookie, flags })?;
        Ok(key)
    }

    fn post(&self, request: &WorkRequest<'_>) -> Result<()> {
        let mut upcalls = Upcalls::default();
        let mut send_queue = self.send_queue.lock();
        let posted = send_queue.post(request, &mut upcalls);
        drop(send_queue);
        upcalls.deliver();
        if let Some(end) = posted? {
            end.run(self);
        }
        Ok(())
    }
}

impl SendQueue {
    /// Executes the request, or stores it at the peer, or flushes it if the connection has ended.
    fn post(
        &mut self,
        request: &WorkRequest<'_>,
        upcalls: &mut Upcalls,
    ) -> Result<Option<DeferredEnd>> {
        let connection = match &self.state {
            ConnectionState::Connected(connection) if !connection.is_closing => Some(connection),
            ConnectionState::Disconnected => None,
            state => return Err(state.error()),
        };
        if !self.credits.try_take() {
            return Err(no_credit());
        }
        let Some(connection) = connection else {
            self.context.complete(request, 0, DtoStatus::Flushed, upcalls);
            return Ok(None);
        };
        let peer = &*connection.peer;
        let mut responder = peer.responder.lock();
        let responder = &mut *responder;
        let Some(inbound) = responder.inbound.open(connection.id) else {
            // The connection has just ended, and all earlier requests were flushed.
            self.context.complete(request, 0, DtoStatus::Flushed, upcalls);
            return Ok(None);
        };
        if inbound.waiting.is_empty() {
            let (receives, wakeup) = (&mut responder.receives, &peer.poster.wakeup);
            let mut execution = execute(request, &self.context, receives, upcalls);
            if matches!(execution, Execution::NoReceive) && receives.request_wakeup(wakeup) {
                execution = execute(request, &self.context, receives, upcalls);
            }
            match execution {
                Execution::Completed => return Ok(None),
                Execution::Suppressed => {
                    self.credits.give_back();
                    return Ok(None);
                }
                Execution::NoReceive => {}
                Execution::Failed => {
                    responder.shut(wakeup, upcalls);
                    return Ok(Some(DeferredEnd {
                        connection_id: connection.id,
                        peer: SlabArc::clone(&connection.peer),
                        cause: EndCause::Broken,
                    }));
                }
            }
        }
        if inbound.waiting.push(request.to_posted(), request.segments).is_err() {
            self.credits.give_back();
            return Err(Error::no_memory("the requests that wait for receives of the peer"));
        }
        Ok(None)
    }

    /// Number of requests that wait at the peer.
    #[inline(always)]
    pub(super) fn waiting_requests(&self) -> u32 {
        let ConnectionState::Connected(connection) = &self.state else { return 0 };
        let mut responder = connection.peer.responder.lock();
        responder.inbound.open(connection.id).map_or(0, |inbound| inbound.waiting.count())
    }

    /// Returns whether a graceful disconnect has to wait for requests. If so, the peer's responder
    /// disconnects after the last of them.
    pub(super) fn defer_disconnect(&mut self) -> bool {
        let ConnectionState::Connected(connection) = &mut self.state else { return false };
        if connection.established == EstablishedReport::Pending {
            return false;
        }
        let mut responder = connection.peer.responder.lock();
        let Some(inbound) = responder.inbound.open(connection.id) else { return false };
        if inbound.waiting.is_empty() {
            return false;
        }
        inbound.is_closing = true;
        connection.is_closing = true;
        true
    }
}
