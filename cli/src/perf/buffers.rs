//! The memory of one measurement: slots used in turn, their posts and their verification.

use dat_core::{CompletionFlags, DtoStatus, Evd, Event, LmrTriplet, RmrTriplet};

use super::fixture::Fixture;
use super::{Op, arrival};
use crate::error::CliError;
use crate::pattern;
use crate::session::{Buffer, poll};
use crate::side::{Side, operation_name};

/// The minimum distance between slots, which start at cache lines.
const ALIGN: u64 = 64;

/// The memory of all slots of a side, unless two slots need more.
const ROOM: u64 = 4 << 20;

/// The maximum number of slots, and so of transfers in flight.
pub(super) const MOST: u64 = 32;

/// The distance between slots of a size.
pub(super) fn stride(size: u64) -> u64 {
    size.next_multiple_of(ALIGN)
}

/// The number of slots of an operation and size, unless an adapter supports fewer transfers.
pub(super) fn slots(op: Op, size: u64) -> u64 {
    if op == Op::WriteLat { 1 } else { (ROOM / stride(size)).clamp(2, MOST) }
}

/// Transfers of one operation and size in one direction.
#[derive(Debug)]
pub(crate) struct Buffers<'a> {
    pub(crate) fixture: &'a Fixture,
    pub(crate) op: Op,
    pub(crate) size: u64,
    pub(crate) slots: u64,
    pub(crate) stride: u64,
    source: Buffer,
    target: Buffer,
    /// The side that posts requests.
    pub(crate) requester: &'a Side,
    /// The side that receives sends.
    pub(crate) receiver: &'a Side,
    /// The local segments of requests.
    local: Vec<LmrTriplet>,
    /// The remote memory of RDMA operations.
    remote: Vec<RmrTriplet>,
    /// The segments of receives.
    receives: Vec<LmrTriplet>,
}

impl<'a> Buffers<'a> {
    /// Requests of the active side.
    pub(crate) fn there(fixture: &'a Fixture, op: Op, size: u64) -> Result<Self, CliError> {
        let slots = slots(op, size).min(fixture.pair.depth.into());
        Self::new(fixture, op, size, slots, (&fixture.pair.active, &fixture.pair.passive))
    }

    /// Sends or writes of the passive side in reply to those of the active side.
    pub(crate) fn back(fixture: &'a Fixture, op: Op, size: u64) -> Result<Self, CliError> {
        Self::new(fixture, op, size, 1, (&fixture.pair.passive, &fixture.pair.active))
    }

    fn new(
        fixture: &'a Fixture,
        op: Op,
        size: u64,
        slots: u64,
        (requester, receiver): (&'a Side, &'a Side),
    ) -> Result<Self, CliError> {
        let stride = stride(size);
        let length = (stride * slots) as usize;
        let source = Buffer::source(&fixture.ia, &fixture.pz, length)?;
        let target = Buffer::target(&fixture.ia, &fixture.pz, length)?;
        let pieces = |buffer: &Buffer| {
            let piece = |slot| buffer.lmr.triplet(slot * stride, size);
            (0..slots).map(piece).collect::<Result<Vec<_>, _>>()
        };
        let remote = |buffer: &Buffer| {
            let piece = |slot| buffer.lmr.remote_triplet(slot * stride, size);
            (0..slots).map(piece).collect::<Result<Vec<_>, _>>()
        };
        let (local, remote, receives) = match op {
            Op::Send => (pieces(&source)?, Vec::new(), pieces(&target)?),
            Op::Write | Op::WriteLat => (pieces(&source)?, remote(&target)?, Vec::new()),
            Op::Read => (pieces(&target)?, remote(&source)?, Vec::new()),
        };
        Ok(Self {
            fixture,
            op,
            size,
            slots,
            stride,
            source,
            target,
            requester,
            receiver,
            local,
            remote,
            receives,
        })
    }

    /// The maximum number of transfers in flight.
    pub(crate) fn window(&self) -> u64 {
        match self.op {
            Op::Read => self.slots.min(self.fixture.reads.into()),
            _ => self.slots,
        }
    }

    /// Posts the request of a slot.
    #[inline]
    pub(crate) fn post(&self, slot: u64, flags: CompletionFlags) -> Result<(), CliError> {
        let index = slot as usize;
        let (ep, local) = (&self.requester.ep, &self.local[index..=index]);
        match self.op {
            Op::Send => ep.post_send(local, slot, flags)?,
            Op::Write | Op::WriteLat => {
                ep.post_rdma_write(local, slot, self.remote[index], flags)?
            }
            Op::Read => ep.post_rdma_read(local, slot, self.remote[index], flags)?,
        }
        Ok(())
    }

    /// Posts the receive of a slot.
    #[inline]
    pub(crate) fn post_receive(&self, slot: u64) -> Result<(), CliError> {
        let index = slot as usize;
        let local = &self.receives[index..=index];
        Ok(self.receiver.ep.post_recv(local, slot, CompletionFlags::empty())?)
    }

    /// The target has seen no message yet.
    pub(crate) fn expect_writes(&self) -> Result<(), CliError> {
        arrival::store(&self.target.memory, self.size, 0)
    }

    /// Changes the last byte of the next message.
    #[inline]
    pub(crate) fn mark(&self, last: u8) -> Result<(), CliError> {
        arrival::store(&self.source.memory, self.size, last)
    }

    /// As [`arrival::await_mark`], at the target.
    #[inline]
    pub(crate) fn await_mark(
        &self,
        last: u8,
        is_over: impl FnMut() -> Result<bool, CliError>,
    ) -> Result<bool, CliError> {
        arrival::await_mark(&self.target.memory, (self.size, last), is_over)
    }

    /// Spins until a request completes.
    #[inline]
    pub(crate) fn finish(&self, event: &mut Event) -> Result<(), CliError> {
        poll(&self.requester.request, event, self.fixture.pair.timeout)?;
        succeeded(event)
    }

    /// Spins until a message arrives.
    #[inline]
    pub(crate) fn receive(&self, event: &mut Event) -> Result<(), CliError> {
        match poll(&self.receiver.recv, event, self.fixture.pair.timeout) {
            Ok(()) => {
                succeeded(event)?;
                self.whole(event)
            }
            Err(error) => {
                // The completion of the send may give the reason.
                if self.requester.request.dequeue(event)? {
                    succeeded(event)?;
                }
                Err(error)
            }
        }
    }

    /// Dequeues a completion, if there is one.
    #[inline]
    pub(crate) fn take(&self, evd: &Evd, event: &mut Event) -> Result<bool, CliError> {
        if !evd.dequeue(event)? {
            return Ok(false);
        }
        succeeded(event)?;
        Ok(true)
    }

    /// Checks that a message has the length that was sent.
    #[inline]
    pub(crate) fn whole(&self, event: &Event) -> Result<(), CliError> {
        match event {
            Event::Dto(completion) if completion.length == self.size => Ok(()),
            other => Err(CliError::unexpected(format!(
                "unexpected event for a message of {} bytes: {other:?}",
                self.size
            ))),
        }
    }

    fn seed(&self) -> u64 {
        self.size * 16 + self.op as u64 * 4
    }

    /// Transfers through every slot once and verifies all memory. Then refills the source, so
    /// that the measurement moves different bytes.
    pub(crate) fn verify(&self) -> Result<(), CliError> {
        let (seed, length) = (self.seed(), self.source.memory.len());
        let bytes = pattern::bytes(seed, 0, length);
        self.source.memory.write(0, &bytes)?;
        let mut expected = pattern::bytes(!seed, 0, length);
        self.target.memory.write(0, &expected)?;
        let mut event = Event::default();
        for slot in 0..self.slots {
            if self.op == Op::Send {
                self.post_receive(slot)?;
            }
            self.post(slot, CompletionFlags::empty())?;
            self.finish(&mut event)?;
            if self.op == Op::Send {
                self.receive(&mut event)?;
            }
            let start = (slot * self.stride) as usize;
            let piece = start..start + self.size as usize;
            expected[piece.clone()].copy_from_slice(&bytes[piece]);
        }
        let found = self.target.memory.to_vec(0, length)?;
        pattern::compare(&format!("{} before the measurement", self.op.name()), &expected, &found)?;
        self.source.memory.write(0, &pattern::bytes(seed + 1, 0, length))?;
        Ok(())
    }

    /// Verifies the beginning, the middle and the end of every slot after the measurement.
    pub(crate) fn sample(&self) -> Result<(), CliError> {
        const SAMPLE: u64 = 256;
        let length = self.size.min(SAMPLE);
        for slot in 0..self.slots {
            for offset in [0, (self.size - length) / 2, self.size - length] {
                let start = (slot * self.stride + offset) as usize;
                let expected = match self.op {
                    // The last byte of the source has changed.
                    Op::WriteLat => self.source.memory.to_vec(start, length as usize)?,
                    _ => pattern::bytes(self.seed() + 1, start, length as usize),
                };
                let found = self.target.memory.to_vec(start, length as usize)?;
                let what = format!("{} after the measurement", self.op.name());
                pattern::compare(&what, &expected, &found)?;
            }
        }
        Ok(())
    }
}

/// Checks that an event is a successful completion.
#[inline]
pub(super) fn succeeded(event: &Event) -> Result<(), CliError> {
    match event {
        Event::Dto(completion) if completion.status == DtoStatus::Success => Ok(()),
        Event::Dto(completion) => {
            Err(CliError::completion(operation_name(completion.operation), completion.status))
        }
        other => Err(CliError::unexpected(format!("expected a completion, got {other:?}"))),
    }
}
