//! Two endpoints of one adapter and the connection between them.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use dat_core::{
    Close, Connect, ConnectionEventKind, DtoCompletion, DtoStatus, Endpoint, EpSpec, EvdFlags,
    EvdOptions, Event, EventDispatcher, InterfaceAdapter, Lmr, Memory, MemorySource, Operation,
    Privileges, ProtectionZone, Psp, PspMaker, Timeout,
};

use crate::fault::Fault;

/// One endpoint with the dispatchers that its operations complete into.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) ep: Endpoint,
    pub(crate) recv: EventDispatcher,
    pub(crate) request: EventDispatcher,
    connection: EventDispatcher,
}

/// Two endpoints of an adapter, to be connected to each other.
#[derive(Debug)]
pub(crate) struct Pair {
    ia: InterfaceAdapter,
    /// The one that asks for the connection.
    pub(crate) active: Side,
    /// The one on which the request is accepted.
    pub(crate) passive: Side,
    /// How many operations a side can have outstanding in each direction.
    pub(crate) depth: u32,
    arrivals: EventDispatcher,
    psp: Option<Psp>,
    /// How long each wait may take.
    pub(crate) patience: Duration,
}

/// Private data as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Exchanged {
    /// With the request.
    pub(crate) by_passive: Arc<[u8]>,
    /// With the acceptance.
    pub(crate) by_active: Arc<[u8]>,
}

/// How many event dispatchers a pair has.
pub(crate) const DISPATCHERS: usize = 7;

impl Pair {
    /// Makes the objects, for at most `depth` operations, fewer where the adapter has less.
    pub(crate) fn create(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        depth: u32,
        patience: Duration,
    ) -> Result<Self, Fault> {
        let limits = ia.attributes();
        let depth = depth.min(limits.max_dto_per_ep).min(limits.max_evd_qlen);
        let evd = |flags, least: u32| {
            let length = least.min(limits.max_evd_qlen);
            ia.evd_create(&EvdOptions::new(length, flags))
        };
        let arrivals = evd(EvdFlags::CONNECTION_REQUEST, 8)?;
        let requests = request_streams(ia);
        let mut attributes = ia.default_ep_attributes().clone();
        attributes.max_message_size = limits.max_message_size;
        attributes.max_rdma_size = limits.max_rdma_size;
        attributes.max_recv_dtos = depth;
        attributes.max_request_dtos = depth;
        let side = || -> Result<Side, Fault> {
            let (recv, request) = (evd(EvdFlags::DTO, depth)?, evd(requests, depth)?);
            let connection = evd(EvdFlags::CONNECTION, 8)?;
            let spec = EpSpec::new(pz)
                .recv_evd(&recv)
                .request_evd(&request)
                .connect_evd(&connection)
                .attributes(&attributes);
            Ok(Side { ep: ia.ep_create(&spec)?, recv, request, connection })
        };
        let (active, passive) = (side()?, side()?);
        let ia = ia.clone();
        Ok(Self { ia, active, passive, depth, arrivals, psp: None, patience })
    }

    /// Listens on a qualifier of the adapter's choice, which is returned.
    pub(crate) fn listen(&mut self) -> Result<u64, Fault> {
        let psp = self.ia.psp_create_any(&self.arrivals, PspMaker::Consumer)?;
        Ok(self.psp.insert(psp).qualifier())
    }

    /// Connects the two endpoints, with private data both ways.
    pub(crate) fn connect(&self, asked: &[u8], answered: &[u8]) -> Result<Exchanged, Fault> {
        let qualifier = self.psp.as_ref().map_or(0, Psp::qualifier);
        let connect = Connect::to(self.ia.attributes().address, qualifier)
            .timeout(self.patience)
            .private_data(asked);
        self.active.ep.connect(&connect)?;
        let request = self.arrival()?;
        let by_passive = request.query()?.private_data;
        request.accept(Some(&self.passive.ep), answered)?;
        let by_active = self.told(&self.active, ConnectionEventKind::Established)?;
        self.told(&self.passive, ConnectionEventKind::Established)?;
        Ok(Exchanged { by_passive, by_active })
    }

    /// Waits until a side is told of an event of its connection; returns the private data.
    fn told(&self, side: &Side, kind: ConnectionEventKind) -> Result<Arc<[u8]>, Fault> {
        let mut event = Event::default();
        self.await_event(&side.connection, kind.name(), &mut event)?;
        match event {
            Event::Connection(event) if event.kind == kind => Ok(event.private_data),
            Event::Connection(event) => Err(Fault::connection(event.kind)),
            other => Err(Fault::unexpected(format!("{other:?} came for a connection"))),
        }
    }

    /// The request that the passive side gets, unless the attempt fails first.
    fn arrival(&self) -> Result<dat_core::ConnectionRequest, Fault> {
        let deadline = Instant::now() + self.patience;
        let mut event = Event::default();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let step = Timeout::After(left.min(Duration::from_millis(20)));
            if self.arrivals.wait(step, 1, &mut event)?.is_event() {
                if let Event::ConnectionRequest(arrival) = event {
                    return Ok(arrival.request);
                }
            }
            if self.active.connection.dequeue(&mut event)? {
                if let Event::Connection(event) = &event {
                    return Err(Fault::connection(event.kind));
                }
            }
            if left.is_zero() {
                return Err(Fault::timed_out("request for the connection", self.patience));
            }
        }
    }

    /// Disconnects gracefully and waits until both sides know.
    pub(crate) fn disconnect(&self) -> Result<(), Fault> {
        self.active.ep.disconnect(Close::Graceful)?;
        for side in [&self.active, &self.passive] {
            self.told(side, ConnectionEventKind::Disconnected)?;
        }
        Ok(())
    }

    /// Frees everything; goes on after a failure and returns the first.
    pub(crate) fn free(self) -> Result<(), Fault> {
        let mut done = vec![self.psp.as_ref().map_or(Ok(()), Psp::free)];
        done.extend([self.active.ep.free(), self.passive.ep.free()]);
        for side in [&self.active, &self.passive] {
            done.extend([side.recv.free(), side.request.free(), side.connection.free()]);
        }
        done.push(self.arrivals.free());
        Ok(done.into_iter().collect::<dat_core::Result<()>>()?)
    }

    /// Waits for an event, asleep.
    pub(crate) fn await_event(
        &self,
        evd: &EventDispatcher,
        what: &str,
        event: &mut Event,
    ) -> Result<(), Fault> {
        if evd.wait(Timeout::After(self.patience), 1, event)?.is_event() {
            return Ok(());
        }
        Err(Fault::timed_out(what, self.patience))
    }

    /// Waits, asleep, for the completion of one operation and checks all of it.
    pub(crate) fn await_completion(
        &self,
        evd: &EventDispatcher,
        expected: &DtoCompletion,
    ) -> Result<(), Fault> {
        let mut event = Event::default();
        let name = operation_name(expected.operation);
        self.await_event(evd, &format!("completion of the {name}"), &mut event)?;
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

/// Waits for an event, awake.
#[inline]
pub(crate) fn poll(
    evd: &EventDispatcher,
    event: &mut Event,
    patience: Duration,
) -> Result<(), Fault> {
    if evd.dequeue(event)? { Ok(()) } else { poll_longer(evd, event, patience) }
}

#[cold]
fn poll_longer(evd: &EventDispatcher, event: &mut Event, patience: Duration) -> Result<(), Fault> {
    let start = Instant::now();
    for turn in 0_u32.. {
        if evd.dequeue(event)? {
            return Ok(());
        }
        if turn % 256 == 255 {
            if start.elapsed() > patience {
                break;
            }
            // A provider may need the processor to get on.
            yield_now();
        }
        spin_loop();
    }
    Err(Fault::timed_out("completion", patience))
}

/// Memory with its registration.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) memory: Memory,
    pub(crate) lmr: Lmr,
}

impl Buffer {
    /// New memory, registered.
    pub(crate) fn new(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
        privileges: Privileges,
    ) -> Result<Self, Fault> {
        let memory = Memory::zeroed(length)?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), pz, privileges)?;
        Ok(Self { memory, lmr })
    }

    /// What a side sends from: local reads and those of the peer.
    pub(crate) fn source(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
    ) -> Result<Self, Fault> {
        Self::new(ia, pz, length, Privileges::LOCAL_READ | Privileges::REMOTE_READ)
    }

    /// What a side receives into: local operations and those of the peer may write.
    pub(crate) fn target(
        ia: &InterfaceAdapter,
        pz: &ProtectionZone,
        length: usize,
    ) -> Result<Self, Fault> {
        Self::new(ia, pz, length, Privileges::ALL)
    }
}
