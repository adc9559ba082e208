//! The operations in Rust, as in `operations.c`.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, DtoStatus, Endpoint, EpSpec, EpState, Event,
    EventDispatcher, Lmr, LmrTriplet, Memory, MemorySource, Privileges, RmrTriplet, Timeout,
    WaitResult,
};

use crate::crowd::Crowd;
use crate::end::{End, Failure, Meeting, SIZE, loopback, reap, unexpected};
use crate::operation::{Operation, When};

const SOURCE_AT: u64 = 0;
const TARGET_AT: u64 = SIZE;

/// Size of a region, in bytes.
const PAGE: usize = 4096;

fn expect(evd: &EventDispatcher, kind: ConnectionEventKind) -> Result<(), Failure> {
    let mut event = Event::default();
    let found = evd.dequeue(&mut event)?;
    match &event {
        Event::Connection(connection) if found && connection.kind == kind => Ok(()),
        other => Err(unexpected(other)),
    }
}

fn fence_floor(times: u64) {
    /// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`, which the library has registered.
    const PRIVATE_EXPEDITED: i32 = 1 << 3;
    for _ in 0..times {
        // SAFETY: the call takes three numbers and touches no memory of the program.
        unsafe { libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) };
    }
}

/// Two connected endpoints of the loopback adapter.
pub(crate) struct Native {
    near: End,
    far: End,
    /// Created by the operations on many endpoints.
    crowd: RefCell<Option<Crowd>>,
    caller: End,
    callee: End,
    meeting: Meeting,
    memory: Memory,
    lmrs: RefCell<Vec<Lmr>>,
    eps: RefCell<Vec<Endpoint>>,
}

impl Native {
    pub(crate) fn open() -> Result<Self, Failure> {
        let ia = loopback()?;
        let (near, far) = (End::new(&ia)?, End::new(&ia)?);
        Meeting::new(&ia)?.connect(&near.ep, &far.ep)?;
        near.wait()?;
        far.wait()?;
        Ok(Self {
            near,
            far,
            crowd: RefCell::new(None),
            caller: End::new(&ia)?,
            callee: End::new(&ia)?,
            meeting: Meeting::new(&ia)?,
            memory: Memory::zeroed(PAGE)?,
            lmrs: RefCell::default(),
            eps: RefCell::default(),
        })
    }

    pub(crate) fn run(&self, operation: Operation, times: u64) -> Result<(), Failure> {
        match operation {
            Operation::EmptyDequeue => self.empty_dequeue(times),
            Operation::SendCycle => self.send_cycle(times),
            Operation::SendCycleAmong100 => self.cycles_among(100, times),
            Operation::SendCycleAmong10000 => self.cycles_among(10_000, times),
            Operation::RdmaWrite => self.rdma_write(times),
            Operation::RdmaRead => self.rdma_read(times),
            Operation::WaitAtOnce => self.wait_at_once(times),
            Operation::HandleType => self.handle_type(times),
            Operation::EpStatus => self.ep_status(times),
            Operation::ShmEmptyDequeue | Operation::ShmStream | Operation::TcpEmptyDequeue => {
                Err(format!("{} is not made in Rust", operation.name()).into())
            }
            Operation::ConnectEndless => self.connect(times, Timeout::Infinite),
            Operation::ConnectTimed => self.connect(times, Duration::from_secs(10).into()),
            Operation::LmrCreate => self.lmr_create(times),
            Operation::CheckFloor => {
                self.check_floor(times);
                Ok(())
            }
            Operation::LmrFree => self.lmr_free(),
            Operation::FenceFloor => {
                fence_floor(times);
                Ok(())
            }
            Operation::EpCreate => self.ep_create(times),
            Operation::EpFree => self.ep_free(),
        }
    }

    /// The untimed work before or after a round.
    pub(crate) fn beside(
        &self,
        operation: Operation,
        when: When,
        times: u64,
    ) -> Result<(), Failure> {
        match (operation, when) {
            (Operation::LmrCreate, When::After) => self.lmr_free(),
            (Operation::LmrFree, When::Before) => self.lmr_create(times),
            (Operation::EpCreate, When::After) => self.ep_free(),
            (Operation::EpFree, When::Before) => self.ep_create(times),
            _ => Ok(()),
        }
    }

    fn connect(&self, times: u64, timeout: Timeout) -> Result<(), Failure> {
        let (caller, callee) = (&self.caller, &self.callee);
        for _ in 0..times {
            self.meeting.connect_within(&caller.ep, &callee.ep, timeout)?;
            expect(&callee.connection, ConnectionEventKind::Established)?;
            expect(&caller.connection, ConnectionEventKind::Established)?;
            caller.ep.disconnect(Close::Abrupt)?;
            expect(&caller.connection, ConnectionEventKind::Disconnected)?;
            expect(&callee.connection, ConnectionEventKind::Disconnected)?;
            caller.ep.reset()?;
            callee.ep.reset()?;
        }
        Ok(())
    }

    fn lmr_create(&self, times: u64) -> Result<(), Failure> {
        let mut lmrs = self.lmrs.borrow_mut();
        for _ in 0..times {
            let source = MemorySource::Memory(&self.memory);
            lmrs.push(self.near.ia.lmr_create(source, &self.near.pz, Privileges::ALL)?);
        }
        Ok(())
    }

    fn lmr_free(&self) -> Result<(), Failure> {
        for lmr in self.lmrs.borrow_mut().drain(..) {
            lmr.free()?;
        }
        Ok(())
    }

    fn ep_create(&self, times: u64) -> Result<(), Failure> {
        let (mut eps, near) = (self.eps.borrow_mut(), &self.near);
        let spec = EpSpec::new(&near.pz).recv_evd(&near.recv).request_evd(&near.send);
        let spec = spec.connect_evd(&near.connection);
        for _ in 0..times {
            eps.push(near.ia.ep_create(&spec)?);
        }
        Ok(())
    }

    fn ep_free(&self) -> Result<(), Failure> {
        for ep in self.eps.borrow_mut().drain(..) {
            ep.free()?;
        }
        Ok(())
    }

    fn check_floor(&self, times: u64) {
        let address = self.memory.address() as usize & !(PAGE - 1);
        let start = std::ptr::with_exposed_provenance_mut(address);
        for _ in 0..times {
            // SAFETY: populates pages and changes no byte, whatever is mapped there.
            unsafe { libc::madvise(start, PAGE, libc::MADV_POPULATE_WRITE) };
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

    /// Frees the crowd, so that its memory does not displace that of others from the caches.
    pub(crate) fn disperse(&self) {
        *self.crowd.borrow_mut() = None;
    }

    #[inline(never)]
    fn cycles_among(&self, endpoints: usize, times: u64) -> Result<(), Failure> {
        let mut crowd = self.crowd.borrow_mut();
        let crowd = match &mut *crowd {
            Some(crowd) => crowd,
            none => none.insert(Crowd::open(endpoints / 2)?),
        };
        let flags = CompletionFlags::empty();
        let source = [self.local(&crowd.hub, SOURCE_AT)?];
        let target = [self.local(&crowd.hub, TARGET_AT)?];
        let mut event = Event::default();
        for at in 0..times {
            let (from, to) = crowd.any();
            to.post_recv(&target, at, flags)?;
            from.post_send(&source, at, flags)?;
            reap(&crowd.hub.recv, at, &mut event)?;
            reap(&crowd.hub.send, at, &mut event)?;
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
    fn wait_at_once(&self, times: u64) -> Result<(), Failure> {
        let flags = CompletionFlags::empty();
        let source = [self.local(&self.near, SOURCE_AT)?];
        let target = self.remote(&self.far, TARGET_AT)?;
        let mut event = Event::default();
        for at in 0..times {
            self.near.ep.post_rdma_write(&source, at, target, flags)?;
            let waited = self.near.send.wait(Timeout::Infinite, 1, &mut event)?;
            let Event::Dto(done) = &event else { return Err(unexpected(&event)) };
            if (waited, done.cookie, done.status)
                != (WaitResult::Event { more: 0 }, at, DtoStatus::Success)
            {
                return Err(unexpected(&event));
            }
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
