//! Datagrams: messages to any queue pair whose address is known. What finds no receive is lost.

use std::sync::Arc;

use dat_core::error::{Result, Subtype};
use dat_core::flags::CompletionFlags;
use dat_core::provider::{
    Completion, CompletionFeatures, DATAGRAM_PREFIX, RemoteAddress, Request, Service,
};
use dat_core::{DtoStatus, Operation};
use dat_sync::SlabWeak;

use super::receive::{Arrival, Inbound, Rq};
use super::state::{Endpoint, State};
use crate::errors::{foreign_object, no_credit, wrong_state};
use crate::transfer::{self, AccessError, LocalMemory};
use crate::upcalls::Upcalls;

impl Endpoint {
    /// Refuses unless the queue pair carries datagrams.
    pub(crate) fn check_datagrams(&self) -> Result<()> {
        let sq = self.sq.lock();
        if sq.retired || sq.service != Service::Datagram {
            return Err(sq.state.refusal().because("the queue pair does not support datagrams"));
        }
        Ok(())
    }

    /// Where datagrams to this queue pair go.
    pub(crate) fn datagram_address(&self) -> RemoteAddress {
        let handle = Arc::new(SlabWeak::clone(&self.me));
        RemoteAddress { address: self.host.address(), number: self.number, handle }
    }

    pub(super) fn datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        let Some(target) = to.handle.downcast_ref::<SlabWeak<Self>>() else {
            return Err(foreign_object("address", Subtype::InvalidArg4));
        };
        // A target that is gone gets nothing, and the sender learns nothing: datagrams are unreliable.
        let target = target.upgrade();
        let mut upcalls = Upcalls::default();
        let mut sq = self.sq.lock();
        if sq.retired || sq.service != Service::Datagram {
            return Err(wrong_state(Subtype::InvalidStateEpNotready));
        }
        if matches!(sq.state, State::Disconnected) || !sq.room.try_take() {
            return Err(no_credit());
        }
        let source = LocalMemory { segments: request.segments, domain: sq.requests.domain };
        let status = match &target {
            Some(target) => target.rq.lock().deliver(source, request, &mut upcalls),
            None => DtoStatus::Success,
        };
        let failed = status != DtoStatus::Success;
        if !failed && request.flags.contains(CompletionFlags::SUPPRESS) {
            sq.requests.outlet.suppress();
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
            sq.requests.outlet.complete(completion, features, &mut upcalls);
        }
        drop(sq);
        upcalls.deliver();
        Ok(())
    }
}

impl Rq {
    /// Moves a datagram into the next receive, behind the prefix; the sender's status.
    fn deliver(
        &mut self,
        source: LocalMemory<'_>,
        request: &Request<'_>,
        upcalls: &mut Upcalls,
    ) -> DtoStatus {
        if !transfer::is_readable(source) {
            return DtoStatus::LocalProtection;
        }
        let receives = &mut self.receives;
        if !matches!(self.inbound, Inbound::Idle) || !receives.has_receive() {
            return DtoStatus::Success;
        }
        let total = request.length.saturating_add(DATAGRAM_PREFIX);
        let Some((posted, outcome)) = receives.fill_datagram(source, request.length, upcalls)
        else {
            return DtoStatus::Success;
        };
        let received = match outcome {
            Ok(()) => DtoStatus::Success,
            Err(None) => DtoStatus::LocalLength,
            Err(Some(AccessError::Source | AccessError::Target)) => DtoStatus::LocalProtection,
        };
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let arrival = Arrival { operation: Operation::ReceiveDatagram, extra: 0, solicited };
        receives.finish(posted, (total, received), arrival, upcalls);
        DtoStatus::Success
    }
}
