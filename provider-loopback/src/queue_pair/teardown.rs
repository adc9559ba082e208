//! The end of connections.
//!
//! It has two steps. First both responders are shut: under each responder lock, all that is outstanding
//! completes as flushed, in order. Then the state of each side changes under its send queue lock, and
//! the thread that changed it reports it. Both steps check the id of the connection, so that several
//! threads may end the same connection, and each side gets one event.

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::flags::Close;
use dat_provider::status::DtoStatus;
use dat_provider::{ConnectionUpcall, RefusalCause};
use dat_provider_kit::receive_wakeup::ReceiveWakeup;
use dat_provider_kit::sync::BiasedGuard;
use dat_provider_kit::upcalls::Upcalls;
use dat_sync::SlabArc;

use super::connection_state::{ConnectionState, EndCause, EstablishedReport};
use super::qp::LoopbackQp;
use super::responder::{Inbound, InboundConnection, Responder};
use super::send_queue::SendQueue;

/// The end of a connection, to be run once the locks are released.
#[must_use]
pub(super) struct DeferredEnd {
    pub(super) connection_id: u64,
    pub(super) peer: SlabArc<LoopbackQp>,
    pub(super) cause: EndCause,
}

impl DeferredEnd {
    pub(super) fn run(self, qp: &LoopbackQp) {
        end(self.connection_id, qp, &self.peer, self.cause, Report::Always);
    }
}

/// True if the end is reported to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Always,
    /// Unless `Established` is not reported yet, because the side then ends its own attempt.
    IfEstablished,
    Never,
}

/// Ends a connection. `report` applies to the first side; the end is always reported to the other.
fn end(connection_id: u64, one: &LoopbackQp, other: &LoopbackQp, cause: EndCause, report: Report) {
    one.shut(connection_id);
    other.shut(connection_id);
    one.conclude(connection_id, cause, report);
    other.conclude(connection_id, cause, Report::Always);
}

impl Responder {
    /// Flushes the waiting requests of the peer and the receives of this side.
    pub(super) fn shut(
        &mut self,
        wakeup: &ReceiveWakeup,
        upcalls: &mut Upcalls,
    ) -> Option<Box<InboundConnection>> {
        let before = std::mem::replace(&mut self.inbound, Inbound::Shut);
        let inbound = match before {
            Inbound::Open(mut inbound) => {
                while let Some(posted) = inbound.waiting.pop() {
                    let status = DtoStatus::Flushed;
                    inbound.requester.complete(&posted.with_segments(&[]), 0, status, upcalls);
                }
                Some(inbound)
            }
            _ => None,
        };
        // The posters of later receives flush them.
        wakeup.request();
        self.receives.flush(upcalls);
        inbound
    }
}

impl LoopbackQp {
    /// Shuts the responder, if that connection is its current one.
    fn shut(&self, connection_id: u64) {
        let mut upcalls = Upcalls::default();
        let mut responder = self.responder.lock();
        if !responder.inbound.is_of(connection_id) {
            return;
        }
        let inbound = responder.shut(&self.poster.wakeup, &mut upcalls);
        drop(responder);
        upcalls.deliver();
        // It may hold the last reference to the peer, which is dropped without the lock.
        drop(inbound);
    }

    /// Changes the state of one side and reports that, unless another thread has changed it.
    fn conclude(&self, connection_id: u64, cause: EndCause, report: Report) {
        let mut send_queue = self.send_queue.lock();
        let Some(connection) = send_queue.state.connection(connection_id) else { return };
        // Checked under the same lock as the change, because `Established` may be reported at any time.
        let is_silent = match report {
            Report::Always => false,
            Report::IfEstablished => connection.established == EstablishedReport::Pending,
            Report::Never => true,
        };
        if !is_silent && connection.established != EstablishedReport::Done {
            // The thread that reports `Established` reports this after it.
            connection.ended.get_or_insert(cause);
            return;
        }
        let attempt = connection.attempt;
        let before = std::mem::replace(&mut send_queue.state, ConnectionState::Disconnected);
        let sink = Arc::clone(&send_queue.sink);
        drop(send_queue);
        drop(before);
        if !is_silent {
            sink.connection_event(attempt, cause.into());
        }
    }

    /// Disconnects this side and shuts its responder, then releases the lock of the send queue.
    fn disconnect_side(&self, mut send_queue: BiasedGuard<'_, SendQueue>) {
        let before = std::mem::replace(&mut send_queue.state, ConnectionState::Disconnected);
        let mut upcalls = Upcalls::default();
        let inbound = self.responder.lock().shut(&self.poster.wakeup, &mut upcalls);
        drop(send_queue);
        upcalls.deliver();
        drop((before, inbound));
    }

    /// Ends an attempt that waits for its answer, and reports the event, if any.
    pub(super) fn fail_attempt(&self, id: u64, event: Option<ConnectionUpcall<'_>>) {
        let send_queue = self.send_queue.lock();
        let Some(attempt) = send_queue.state.pending_attempt(id) else { return };
        let sink = Arc::clone(&send_queue.sink);
        self.disconnect_side(send_queue);
        if let Some(event) = event {
            sink.connection_event(attempt, event);
        }
    }

    /// Ends an accept whose connecting side has given up.
    pub(super) fn fail_accept(&self, connection_id: u64) {
        let mut send_queue = self.send_queue.lock();
        let Some(connection) = send_queue.state.connection(connection_id) else { return };
        let attempt = connection.attempt;
        let sink = Arc::clone(&send_queue.sink);
        self.disconnect_side(send_queue);
        sink.connection_event(
            attempt,
            ConnectionUpcall::AcceptFailed { cause: RefusalCause::Abandoned },
        );
    }

    pub(super) fn disconnect(&self, how: Close) {
        let mut send_queue = self.send_queue.lock();
        match &send_queue.state {
            ConnectionState::Unconnected | ConnectionState::Disconnected => {}
            ConnectionState::Connecting { connection_id, .. } => {
                let connection_id = *connection_id;
                drop(send_queue);
                // This does nothing if an accept came first, which the check below detects.
                self.fail_attempt(connection_id, None);
                if self.send_queue.lock().state.connection(connection_id).is_some() {
                    self.disconnect(how);
                }
            }
            ConnectionState::Connected(connection) => {
                let (connection_id, peer) = (connection.id, SlabArc::clone(&connection.peer));
                let is_deferred = how == Close::Graceful && send_queue.defer_disconnect();
                drop(send_queue);
                if !is_deferred {
                    end(connection_id, self, &peer, EndCause::Disconnected, Report::IfEstablished);
                }
            }
        }
    }

    pub(super) fn shutdown(&self) {
        let mut send_queue = self.send_queue.lock();
        send_queue.is_retired = true;
        if let ConnectionState::Connected(connection) = &send_queue.state {
            let (connection_id, peer) = (connection.id, SlabArc::clone(&connection.peer));
            drop(send_queue);
            end(connection_id, self, &peer, EndCause::Disconnected, Report::Never);
            return;
        }
        self.disconnect_side(send_queue);
    }

    pub(super) fn reset(&self) -> Result<()> {
        let mut send_queue = self.send_queue.lock();
        if send_queue.is_retired || !matches!(send_queue.state, ConnectionState::Disconnected) {
            return Err(send_queue.state.error());
        }
        send_queue.state = ConnectionState::Unconnected;
        send_queue.context.target.clear_failure();
        self.set_peer(None);
        let mut responder = self.responder.lock();
        responder.inbound = Inbound::Idle;
        self.poster.wakeup.settle();
        responder.receives.target.clear_failure();
        Ok(())
    }
}
