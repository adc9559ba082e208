//! One endpoint of a connection, with its event dispatchers.

use std::sync::Arc;
use std::time::Duration;

use dat_core::{
    Address, Connect, ConnectionEventKind, DtoCompletion, DtoStatus, Ep, EpSpec, EpState, Evd,
    EvdFlags, EvdOptions, Event, Failure, Ia, Operation, Pz, Timeout,
};

use crate::error::CliError;

/// One endpoint with its event dispatchers.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) ep: Ep,
    pub(crate) recv: Evd,
    pub(crate) request: Evd,
    pub(crate) connection: Evd,
    /// The maximum number of outstanding operations per direction.
    pub(crate) depth: u32,
    /// The timeout of each wait.
    pub(crate) timeout: Duration,
}

impl Side {
    /// The first failed operation, if there is one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.ep.failure().ok().flatten()
    }

    /// Creates the objects for at most `depth` operations, or fewer if the adapter supports fewer.
    pub(crate) fn create(
        ia: &Ia,
        pz: &Pz,
        depth: u32,
        timeout: Duration,
    ) -> Result<Self, CliError> {
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
        Ok(Self { ep: ia.ep_create(&spec)?, recv, request, connection, depth, timeout })
    }

    /// Connects to a listener with private data, and returns the private data of its answer.
    pub(crate) fn connect(
        &self,
        to: Address,
        port: u64,
        data: &[u8],
    ) -> Result<Arc<[u8]>, CliError> {
        let connect = Connect::to(to, port).timeout(self.timeout).private_data(data);
        self.ep.connect(&connect)?;
        // The timeout of the attempt expires first.
        let patience = self.timeout + Duration::from_secs(1);
        let established = self.await_connection_within(patience, ConnectionEventKind::Established);
        established.map_err(|error| error.during(format!("connecting to {to}, port {port}")))
    }

    /// As [`connect`](Self::connect), to the first of several addresses that answers; returns the address too.
    /// If none does, the error is that of the first.
    pub(crate) fn connect_to_one_of(
        &self,
        addresses: &[Address],
        port: u64,
        data: &[u8],
    ) -> Result<(Address, Arc<[u8]>), CliError> {
        let mut failed = None;
        for to in addresses {
            if self.ep.status()?.state == EpState::Disconnected {
                self.ep.reset()?;
            }
            match self.connect(*to, port, data) {
                Ok(answer) => return Ok((*to, answer)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| CliError::unexpected("the host has no address".to_owned())))
    }

    /// Waits for the expected connection event and returns its private data.
    pub(crate) fn await_connection(
        &self,
        kind: ConnectionEventKind,
    ) -> Result<Arc<[u8]>, CliError> {
        self.await_connection_within(self.timeout, kind)
    }

    fn await_connection_within(
        &self,
        timeout: Duration,
        kind: ConnectionEventKind,
    ) -> Result<Arc<[u8]>, CliError> {
        let mut event = Event::default();
        await_event(&self.connection, kind.name(), timeout, &mut event)?;
        match event {
            Event::Connection(event) if event.kind == kind => Ok(event.private_data),
            Event::Connection(event) => Err(CliError::connection(&event)),
            other => {
                Err(CliError::unexpected(format!("expected a connection event, got {other:?}")))
            }
        }
    }

    /// Waits for an event of one of its dispatchers, blocking.
    pub(crate) fn await_event(
        &self,
        evd: &Evd,
        what: &str,
        event: &mut Event,
    ) -> Result<(), CliError> {
        await_event(evd, what, self.timeout, event)
    }

    /// Waits for the completion of a request, blocking, and checks it.
    pub(crate) fn await_request(
        &self,
        operation: Operation,
        cookie: u64,
        length: u64,
    ) -> Result<(), CliError> {
        let expected = DtoCompletion { operation, cookie, length, ..DtoCompletion::default() };
        self.await_completion(&self.request, expected)
    }

    /// Waits for the completion of a receive, blocking, and checks it.
    pub(crate) fn await_receive(
        &self,
        cookie: u64,
        length: u64,
        status: DtoStatus,
    ) -> Result<(), CliError> {
        let operation = Operation::Receive;
        let expected =
            DtoCompletion { operation, cookie, length, status, ..DtoCompletion::default() };
        self.await_completion(&self.recv, expected)
    }

    fn await_completion(&self, evd: &Evd, expected: DtoCompletion) -> Result<(), CliError> {
        let expected = DtoCompletion { ep: self.ep.id(), ..expected };
        let mut event = Event::default();
        let name = operation_name(expected.operation);
        self.await_event(evd, &format!("{name} completion"), &mut event)?;
        let Event::Dto(found) = event else {
            return Err(CliError::unexpected(format!(
                "expected a {name} completion, got {event:?}"
            )));
        };
        if found.status != expected.status && found.status != DtoStatus::Success {
            return Err(CliError::completion(name, found.status));
        }
        // A flushed operation transferred nothing, and the requester of an RDMA operation knows
        // the length.
        let counted = found.status == DtoStatus::Success && !expected.operation.is_request();
        let length = if counted { found.length } else { expected.length };
        if (DtoCompletion { length, ..found }) != expected {
            return Err(CliError::unexpected(format!("expected {expected:?}, got {found:?}")));
        }
        Ok(())
    }

    /// Frees all objects; continues after a failure.
    pub(crate) fn free(&self) -> [dat_core::Result<()>; 4] {
        [self.ep.free(), self.recv.free(), self.request.free(), self.connection.free()]
    }
}

/// The maximum number of connection requests that wait for a listener: a job starts all its ranks at once.
const BACKLOG: u32 = 4096;

/// A dispatcher for connection requests. Its length is the backlog of the listener.
pub(crate) fn arrivals(ia: &Ia) -> Result<Evd, CliError> {
    dispatcher(ia, EvdFlags::CONNECTION_REQUEST, BACKLOG)
}

/// A dispatcher of the given length, limited by the adapter.
fn dispatcher(ia: &Ia, flags: EvdFlags, least: u32) -> Result<Evd, CliError> {
    let length = least.min(ia.attributes().max_evd_qlen);
    Ok(ia.evd_create(&EvdOptions::new(length, flags))?)
}

/// The event streams of an endpoint's requests, if the provider can merge them.
fn request_streams(ia: &Ia) -> EvdFlags {
    let provider = ia.provider_attributes();
    let merged = provider.evd_stream_merging.conflict(EvdFlags::COMPLETIONS).is_none();
    if provider.rmr_supported && merged { EvdFlags::COMPLETIONS } else { EvdFlags::DTO }
}

/// The name of an operation in messages.
pub(crate) fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Send => "send",
        Operation::RdmaWrite => "RDMA write",
        Operation::RdmaRead => "RDMA read",
        Operation::Receive | Operation::ReceiveWithInvalidate | Operation::ReceiveSendImmediate => {
            "receive"
        }
        Operation::Bind => "bind",
        _ => "operation",
    }
}

/// Waits for an event, blocking.
fn await_event(
    evd: &Evd,
    what: &str,
    timeout: Duration,
    event: &mut Event,
) -> Result<(), CliError> {
    if evd.wait(Timeout::After(timeout), 1, event)?.is_event() {
        return Ok(());
    }
    Err(CliError::timed_out(what, timeout))
}
