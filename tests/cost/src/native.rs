//! The operations as a Rust program makes them: the same as in `operations.c`.

use std::cell::RefCell;
use std::hint::black_box;

use dat_core::{CompletionFlags, EpState, Event, LmrTriplet, RmrTriplet};

use crate::crowd::Crowd;
use crate::end::{End, Failure, Meeting, SIZE, loopback, reap, unexpected};
use crate::operation::Operation;

const SOURCE_AT: u64 = 0;
const TARGET_AT: u64 = SIZE;

/// Two connected endpoints of the loopback adapter.
pub(crate) struct Native {
    near: End,
    far: End,
    /// Made by an operation among many, which then has it for itself.
    crowd: RefCell<Option<Crowd>>,
}

impl Native {
    pub(crate) fn open() -> Result<Self, Failure> {
        let ia = loopback()?;
        let (near, far) = (End::new(&ia)?, End::new(&ia)?);
        Meeting::new(&ia)?.connect(&near.ep, &far.ep)?;
        near.wait()?;
        far.wait()?;
        Ok(Self { near, far, crowd: RefCell::new(None) })
    }

    pub(crate) fn run(&self, operation: Operation, times: u64) -> Result<(), Failure> {
        match operation {
            Operation::EmptyDequeue => self.empty_dequeue(times),
            Operation::SendCycle => self.send_cycle(times),
            Operation::SendCycleAmong100 => self.cycles_among(100, times),
            Operation::SendCycleAmong10000 => self.cycles_among(10_000, times),
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

    /// Frees what is many, so that it takes no cache from others.
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
