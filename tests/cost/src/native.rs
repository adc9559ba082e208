//! The operations as a Rust program makes them: the same as in `operations.c`.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use dat_core::{
    CompletionFlags, Connect, ConnectionEventKind, DtoStatus, Endpoint, EpSpec, EpState, EvdFlags,
    EvdOptions, Event, EventDispatcher, InterfaceAdapter, Lmr, LmrTriplet, Memory, MemorySource,
    Privileges, PspMaker, Registry, RmrTriplet, Timeout,
};

use crate::operation::Operation;

const SIZE: u64 = 64;
const SOURCE_AT: u64 = 0;
const TARGET_AT: u64 = SIZE;
const PATIENCE: Duration = Duration::from_secs(10);

/// What went wrong.
pub(crate) type Failure = Box<dyn Error>;

/// One end of a connection.
struct End {
    ep: Endpoint,
    recv: EventDispatcher,
    send: EventDispatcher,
    connection: EventDispatcher,
    lmr: Lmr,
}

impl End {
    fn new(ia: &InterfaceAdapter) -> Result<Self, Failure> {
        let pz = ia.pz_create()?;
        let evd = |flags| ia.evd_create(&EvdOptions::new(8, flags));
        let (recv, send) = (evd(EvdFlags::DTO)?, evd(EvdFlags::DTO)?);
        let connection = evd(EvdFlags::CONNECTION)?;
        let spec = EpSpec::new(&pz).recv_evd(&recv).request_evd(&send).connect_evd(&connection);
        let ep = ia.ep_create(&spec)?;
        let memory = Memory::zeroed(2 * SIZE as usize)?;
        let lmr = ia.lmr_create(MemorySource::Memory(&memory), &pz, Privileges::ALL)?;
        Ok(Self { ep, recv, send, connection, lmr })
    }

    fn wait(&self) -> Result<(), Failure> {
        match wait(&self.connection)? {
            Event::Connection(event) if event.kind == ConnectionEventKind::Established => Ok(()),
            other => Err(format!("{other:?} came for a connection").into()),
        }
    }
}

fn wait(evd: &EventDispatcher) -> Result<Event, Failure> {
    let mut event = Event::default();
    if evd.wait(Timeout::After(PATIENCE), 1, &mut event)?.is_event() {
        return Ok(event);
    }
    Err("no event came".into())
}

/// Two connected endpoints of the loopback adapter.
pub(crate) struct Native {
    near: End,
    far: End,
}

impl Native {
    pub(crate) fn open() -> Result<Self, Failure> {
        let registry = Registry::new();
        registry.add_provider(provider_loopback::provider())?;
        let ia = registry.open("loopback")?;
        let (near, far) = (End::new(&ia)?, End::new(&ia)?);
        let requests = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST))?;
        let psp = ia.psp_create_any(&requests, PspMaker::Consumer)?;
        near.ep
            .connect(&Connect::to(ia.attributes().address, psp.qualifier()).timeout(PATIENCE))?;
        match wait(&requests)? {
            Event::ConnectionRequest(arrival) => arrival.request.accept(Some(&far.ep), &[])?,
            other => return Err(format!("{other:?} came for a request").into()),
        }
        near.wait()?;
        far.wait()?;
        Ok(Self { near, far })
    }

    pub(crate) fn run(&self, operation: Operation, times: u64) -> Result<(), Failure> {
        match operation {
            Operation::EmptyDequeue => self.empty_dequeue(times),
            Operation::SendCycle => self.send_cycle(times),
            Operation::RdmaWrite => self.rdma_write(times),
            Operation::RdmaRead => self.rdma_read(times),
            Operation::HandleType => self.handle_type(times),
            Operation::EpStatus => self.ep_status(times),
        }
    }

    #[inline(never)]
    fn empty_dequeue(&self, times: u64) -> Result<(), Failure> {
        let mut event = Event::default();
        for _ in 0..times {
            if self.near.send.dequeue(&mut event)? {
                return Err(unexpected(&event));
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn send_cycle(&self, times: u64) -> Result<(), Failure> {
        let flags = CompletionFlags::empty();
        let source = [self.local(&self.near, SOURCE_AT)?];
        let target = [self.local(&self.far, TARGET_AT)?];
        let mut event = Event::default();
        for at in 0..times {
            self.far.ep.post_recv(&target, at, flags)?;
            self.near.ep.post_send(&source, at, flags)?;
            reap(&self.far.recv, at, &mut event)?;
            reap(&self.near.send, at, &mut event)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn rdma_write(&self, times: u64) -> Result<(), Failure> {
        let flags = CompletionFlags::empty();
        let source = [self.local(&self.near, SOURCE_AT)?];
        let target = self.remote(&self.far, TARGET_AT)?;
        let mut event = Event::default();
        for at in 0..times {
            self.near.ep.post_rdma_write(&source, at, target, flags)?;
            reap(&self.near.send, at, &mut event)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn rdma_read(&self, times: u64) -> Result<(), Failure> {
        let flags = CompletionFlags::empty();
        let target = [self.local(&self.near, TARGET_AT)?];
        let source = self.remote(&self.far, SOURCE_AT)?;
        let mut event = Event::default();
        for at in 0..times {
            self.near.ep.post_rdma_read(&target, at, source, flags)?;
            reap(&self.near.send, at, &mut event)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn handle_type(&self, times: u64) -> Result<(), Failure> {
        for _ in 0..times {
            black_box(&self.near.ep);
        }
        Ok(())
    }

    #[inline(never)]
    fn ep_status(&self, times: u64) -> Result<(), Failure> {
        for _ in 0..times {
            let status = self.near.ep.status()?;
            if status.state != EpState::Connected || !status.recv_idle || !status.request_idle {
                return Err(format!("{status:?} is the state of the endpoint").into());
            }
        }
        Ok(())
    }

    fn local(&self, end: &End, offset: u64) -> Result<LmrTriplet, Failure> {
        Ok(end.lmr.triplet(offset, SIZE)?)
    }

    fn remote(&self, end: &End, offset: u64) -> Result<RmrTriplet, Failure> {
        Ok(end.lmr.remote_triplet(offset, SIZE)?)
    }
}

/// Takes the completion that is there.
#[inline]
fn reap(evd: &EventDispatcher, cookie: u64, event: &mut Event) -> Result<(), Failure> {
    let found = evd.dequeue(event)?;
    match event {
        Event::Dto(done) if found && done.status == DtoStatus::Success && done.cookie == cookie => {
            Ok(())
        }
        other => Err(unexpected(other)),
    }
}

#[cold]
fn unexpected(event: &Event) -> Failure {
    format!("{event:?} came, or nothing").into()
}
