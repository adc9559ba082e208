//! The operations in Rust, as in `operations.c`.

use std::hint::black_box;

use dat_core::{
    CompletionFlags, DtoStatus, EpState, Event, LmrTriplet, RmrTriplet, Timeout, WaitResult,
};

use crate::end::{End, Failure, SIZE, connect, loopback, reap, unexpected};
use crate::operation::Operation;

const SOURCE_AT: u64 = 0;
const TARGET_AT: u64 = SIZE;

/// Two connected endpoints of the loopback adapter.
pub(crate) struct Native {
    near: End,
    far: End,
}

impl Native {
    pub(crate) fn open() -> Result<Self, Failure> {
        let ia = loopback()?;
        let (near, far) = (End::new(&ia)?, End::new(&ia)?);
        connect(&near, &far)?;
        Ok(Self { near, far })
    }

    pub(crate) fn run(&self, operation: Operation, times: u64) -> Result<(), Failure> {
        match operation {
            Operation::EmptyDequeue => self.empty_dequeue(times),
            Operation::SendCycle => self.send_cycle(times),
            Operation::RdmaWrite => self.rdma_write(times),
            Operation::RdmaRead => self.rdma_read(times),
            Operation::WaitAtOnce => self.wait_at_once(times),
            Operation::HandleType => self.handle_type(times),
            Operation::EpStatus => self.ep_status(times),
            Operation::ConnectCycle
            | Operation::ShmEmptyDequeue
            | Operation::ShmStream
            | Operation::TcpEmptyDequeue => {
                Err(format!("{} is not made in Rust", operation.name()).into())
            }
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
