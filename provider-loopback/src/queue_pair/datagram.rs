//! Datagrams: messages to any queue pair whose address is known. A datagram that finds no receive is
//! lost.

use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::{
    Completion, CompletionFeatures, DATAGRAM_PREFIX, RemoteAddress, Request, Service,
};
use dat_provider_kit::errors::{foreign_object, no_credit, wrong_state};
use dat_provider_kit::transfer::{self, AccessError, LocalMemory};
use dat_provider_kit::upcalls::Upcalls;
use dat_sync::SlabWeak;

use super::connection_state::ConnectionState;
use super::message::FillError;
use super::qp::LoopbackQp;
use super::receive_queue::Arrival;
use super::responder::{Inbound, Responder};

impl LoopbackQp {
    /// Fails unless the queue pair carries datagrams.
    pub(crate) fn check_datagrams(&self) -> Result<()> {
        let send_queue = self.send_queue.lock();
        if send_queue.is_retired || send_queue.service != Service::Datagram {
            return Err(send_queue
                .state
                .error()
                .because("the queue pair does not support datagrams"));
        }
        Ok(())
    }

    /// The address of this queue pair for datagrams.
    pub(crate) fn datagram_address(&self) -> RemoteAddress {
        let handle = Arc::new(SlabWeak::clone(&self.weak_self));
        RemoteAddress { address: self.host.address(), number: self.number, handle }
    }

    pub(super) fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        let Some(target) = to.handle.downcast_ref::<SlabWeak<Self>>() else {
            return Err(foreign_object("address", Subtype::InvalidArg4));
        };
        // If the target no longer exists, the datagram is lost without an error.
        let target = target.upgrade();
        let mut upcalls = Upcalls::default();
        let mut send_queue = self.send_queue.lock();
        if send_queue.is_retired || send_queue.service != Service::Datagram {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        if matches!(send_queue.state, ConnectionState::Disconnected)
            || !send_queue.credits.try_take()
        {
            return Err(no_credit());
        }
        let source = LocalMemory { segments: request.segments, domain: send_queue.context.domain };
        let status = match &target {
            Some(target) => {
                let mut responder = target.responder.lock();
                let (status, is_lost) = responder.receive_datagram(source, request, &mut upcalls);
                drop(responder);
                if is_lost {
                    target.host.count_dropped();
                }
                status
            }
            None => DtoStatus::Success,
        };
        let failed = status != DtoStatus::Success;
        if !failed && request.flags.contains(CompletionFlags::SUPPRESS) {
            send_queue.context.target.suppress();
        } else {
            let completion = Completion {
                cookie: request.cookie,
                length: request.length,
                operation: Operation::SendDatagram,
                status,
                ..Completion::default()
            };
            let unsignalled = request.flags.contains(CompletionFlags::UNSIGNALLED);
            let features = CompletionFeatures { unsignalled, solicited: false, failed };
            send_queue.context.target.complete(completion, features, &mut upcalls);
        }
        drop(send_queue);
        upcalls.deliver();
        Ok(())
    }
}

impl Responder {
    /// Copies a datagram into the next receive, after the prefix. Returns the sender's status, and whether the datagram
    /// is lost.
    fn receive_datagram(
        &mut self,
        source: LocalMemory<'_>,
        request: &Request<'_>,
        upcalls: &mut Upcalls,
    ) -> (DtoStatus, bool) {
        if !transfer::is_readable(source) {
            return (DtoStatus::LocalProtection, false);
        }
        let receives = &mut self.receives;
        if !matches!(self.inbound, Inbound::Idle) || !receives.has_receive() {
            return (DtoStatus::Success, true);
        }
        let total = request.length.saturating_add(DATAGRAM_PREFIX);
        let Some((posted, outcome)) = receives.fill_datagram(source, request.length, upcalls)
        else {
            return (DtoStatus::Success, true);
        };
        if outcome.is_ok() {
            receives.bytes_in += request.length;
        }
        let is_lost = matches!(outcome, Err(FillError::TooLong));
        let (received, sent) = match outcome {
            Ok(()) => (DtoStatus::Success, DtoStatus::Success),
            Err(FillError::TooLong) => (DtoStatus::LocalLength, DtoStatus::Success),
            // As for a message, the receive is lost.
            Err(FillError::Access(AccessError::Source)) => {
                (DtoStatus::Flushed, DtoStatus::LocalProtection)
            }
            Err(FillError::Access(AccessError::Target)) => {
                (DtoStatus::LocalProtection, DtoStatus::Success)
            }
        };
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let arrival = Arrival { operation: Operation::ReceiveDatagram, extra: 0, solicited };
        receives.complete(posted, (total, received), arrival, upcalls);
        (sent, is_lost)
    }
}
