//! One endpoint of a connection, with what its operations complete into.

use std::sync::Arc;
use std::time::Duration;

use dat_core::{
    ConnectionEventKind, DtoCompletion, DtoStatus, Endpoint, EpSpec, EvdFlags, EvdOptions, Event,
    EventDispatcher, Failure, InterfaceAdapter, Operation, ProtectionZone, Timeout,
};

use crate::fault::Fault;

/// One endpoint with the dispatchers that its operations complete into.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) ep: Endpoint,
    pub(crate) recv: EventDispatcher,
    pub(crate) request: EventDispatcher,
    pub(crate) connection: EventDispatcher,
    /// How many operations it can have outstanding in each direction.
    pub(crate) depth: u32,
    /// How long each wait may take.
    pub(crate) patience: Duration,
}

impl Side {
    /// The first operation that failed, if any did.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.ep.failure().ok().flatten()
    }

    /// Makes the objects, for at most `depth` operations, fewer where the adapter has less.
    pub(crate) fn create(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        depth: u32,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let limits = ia.attributes();
        let depth = depth.min(limits.max_dto_per_ep).min(limits.max_evd_qlen);
        let mut attributes = ia.default_ep_attributes().clone();
        attributes.max_message_size = limits.max_message_size;
        attributes.max_rdma_size = limits.max_rdma_size;
        attributes.max_recv_dtos = depth;
        attributes.max_request_dtos = depth;
        let recv = dispatcher(ia, EvdFlags::DTO, depth)?;
        let request = dispatcher(ia, request_streams(ia), depth)?;
        let connection = dispatcher(ia, EvdFlags::CONNECTION, 8)?;
        let spec = EpSpec::new(pz)
            .recv_evd(&recv)
            .request_evd(&request)
            .connect_evd(&connection)
            .attributes(&attributes);
        Ok(Self { ep: ia.ep_create(&spec)?, recv, request, connection, depth, patience })
    }

    /// Waits until it is told of an event of its connection; returns the private data.
    pub(crate) fn told(&self, kind: ConnectionEventKind) -> Result<Arc<[u8]>, Fault> {
        self.told_within(self.patience, kind)
    }

    /// The same with another patience.
    pub(crate) fn told_within(
        &self,
        patience: Duration,
        kind: ConnectionEventKind,
    ) -> Result<Arc<[u8]>, Fault> {
        let mut event = Event::default();
        await_event(&self.connection, kind.name(), patience, &mut event)?;
        match event {
            Event::Connection(event) if event.kind == kind => Ok(event.private_data),
            Event::Connection(event) => Err(Fault::connection(event.kind)),
            other => Err(Fault::unexpected(format!("{other:?} came for a connection"))),
        }
    }

    /// Frees everything; goes on after a failure.
    pub(crate) fn free(&self) -> [dat_core::Result<()>; 4] {
        [self.ep.free(), self.recv.free(), self.request.free(), self.connection.free()]
    }
}

/// A dispatcher for requests that arrive.
pub(crate) fn arrivals(ia: &InterfaceAdapter) -> Result<EventDispatcher, Fault> {
    dispatcher(ia, EvdFlags::CONNECTION_REQUEST, 8)
}

/// A dispatcher as long as that, or as long as the adapter has them.
fn dispatcher(
    ia: &InterfaceAdapter,
    flags: EvdFlags,
    least: u32,
) -> Result<EventDispatcher, Fault> {
    let length = least.min(ia.attributes().max_evd_qlen);
    Ok(ia.evd_create(&EvdOptions::new(length, flags))?)
}

/// The streams that the requests of an endpoint need, where the provider lets them meet.
fn request_streams(ia: &InterfaceAdapter) -> EvdFlags {
    let provider = ia.provider_attributes();
    let merged = provider.evd_stream_merging.conflict(EvdFlags::COMPLETIONS).is_none();
    if provider.rmr_supported && merged { EvdFlags::COMPLETIONS } else { EvdFlags::DTO }
}

/// What an operation is called in a sentence.
pub(crate) fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Send => "send",
        Operation::RdmaWrite => "RDMA write",
        Operation::RdmaRead => "RDMA read",
        Operation::Receive | Operation::ReceiveWithInvalidate => "receive",
        Operation::Bind => "bind",
        _ => "operation",
    }
}

/// Waits for an event, asleep.
pub(crate) fn await_event(
    evd: &EventDispatcher,
    what: &str,
    patience: Duration,
    event: &mut Event,
) -> Result<(), Fault> {
    if evd.wait(Timeout::After(patience), 1, event)?.is_event() {
        return Ok(());
    }
    Err(Fault::timed_out(what, patience))
}

/// Waits, asleep, for the completion of one operation and checks all of it.
pub(crate) fn await_completion(
    evd: &EventDispatcher,
    expected: &DtoCompletion,
    patience: Duration,
) -> Result<(), Fault> {
    let mut event = Event::default();
    let name = operation_name(expected.operation);
    await_event(evd, &format!("completion of the {name}"), patience, &mut event)?;
    let Event::Dto(found) = event else {
        return Err(Fault::unexpected(format!("{event:?} came for a {name}")));
    };
    if found.status != expected.status && found.status != DtoStatus::Success {
        return Err(Fault::completion(name, found.status));
    }
    // A flushed operation moved nothing that could be counted, and who requests knows
    // how much that was.
    let counted = found.status == DtoStatus::Success && !expected.operation.is_request();
    let length = if counted { found.length } else { expected.length };
    if (DtoCompletion { length, ..found }) != *expected {
        return Err(Fault::unexpected(format!("{found:?} came instead of {expected:?}")));
    }
    Ok(())
}
