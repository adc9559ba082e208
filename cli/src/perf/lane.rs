//! The memory of one measurement: places that take turns, their posts and their proof.

use dat_core::{CompletionFlags, DtoStatus, Event, EventDispatcher, LmrTriplet, RmrTriplet};

use super::Op;
use super::rig::Rig;
use crate::fault::Fault;
use crate::pattern;
use crate::session::{Buffer, poll};
use crate::side::{Side, operation_name};

/// Places are at least so far apart, and start where a processor's cache lines do.
const ALIGN: u64 = 64;

/// The memory that all places of a side take together, unless two need more.
const ROOM: u64 = 4 << 20;

/// The most places, and so the most transfers under way.
const MOST: u64 = 32;

/// Transfers of one operation and size in one direction.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub(super) rig: &'a Rig,
    pub(super) op: Op,
    pub(super) size: u64,
    pub(super) places: u64,
    pub(super) stride: u64,
    source: Buffer,
    target: Buffer,
    /// Who posts requests: the reader or the sender or writer.
    pub(super) requester: &'a Side,
    /// Who receives sends.
    pub(super) receiver: &'a Side,
    /// What requests name of their own side.
    local: Vec<LmrTriplet>,
    /// What RDMA names of the other side.
    remote: Vec<RmrTriplet>,
    /// What receives name.
    receives: Vec<LmrTriplet>,
}

impl<'a> Lane<'a> {
    /// Requests of the active side.
    pub(super) fn there(rig: &'a Rig, op: Op, size: u64) -> Result<Self, Fault> {
        let stride = size.next_multiple_of(ALIGN);
        let places = (ROOM / stride).clamp(2, MOST).min(rig.pair.depth.into());
        Self::new(rig, op, size, places, (&rig.pair.active, &rig.pair.passive))
    }

    /// Sends of the passive side, which answer those of the active side.
    pub(super) fn back(rig: &'a Rig, size: u64) -> Result<Self, Fault> {
        Self::new(rig, Op::Send, size, 1, (&rig.pair.passive, &rig.pair.active))
    }

    fn new(
        rig: &'a Rig,
        op: Op,
        size: u64,
        places: u64,
        (requester, receiver): (&'a Side, &'a Side),
    ) -> Result<Self, Fault> {
        let stride = size.next_multiple_of(ALIGN);
        let length = (stride * places) as usize;
        let source = Buffer::source(&rig.ia, &rig.pz, length)?;
        let target = Buffer::target(&rig.ia, &rig.pz, length)?;
        let pieces = |buffer: &Buffer| {
            let piece = |place| buffer.lmr.triplet(place * stride, size);
            (0..places).map(piece).collect::<Result<Vec<_>, _>>()
        };
        let remote = |buffer: &Buffer| {
            let piece = |place| buffer.lmr.remote_triplet(place * stride, size);
            (0..places).map(piece).collect::<Result<Vec<_>, _>>()
        };
        let (local, remote, receives) = match op {
            Op::Send => (pieces(&source)?, Vec::new(), pieces(&target)?),
            Op::Write => (pieces(&source)?, remote(&target)?, Vec::new()),
            Op::Read => (pieces(&target)?, remote(&source)?, Vec::new()),
        };
        Ok(Self {
            rig,
            op,
            size,
            places,
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

    /// How many transfers may be under way.
    pub(super) fn window(&self) -> u64 {
        match self.op {
            Op::Read => self.places.min(self.rig.reads.into()),
            _ => self.places,
        }
    }

    /// Posts the request for a place.
    #[inline]
    pub(super) fn post(&self, place: u64, flags: CompletionFlags) -> Result<(), Fault> {
        let index = place as usize;
        let (ep, local) = (&self.requester.ep, &self.local[index..=index]);
        match self.op {
            Op::Send => ep.post_send(local, place, flags)?,
            Op::Write => ep.post_rdma_write(local, place, self.remote[index], flags)?,
            Op::Read => ep.post_rdma_read(local, place, self.remote[index], flags)?,
        }
        Ok(())
    }

    /// Posts the receive for a place.
    #[inline]
    pub(super) fn post_receive(&self, place: u64) -> Result<(), Fault> {
        let index = place as usize;
        let local = &self.receives[index..=index];
        Ok(self.receiver.ep.post_recv(local, place, CompletionFlags::empty())?)
    }

    /// Waits, awake, for the completion of a request.
    #[inline]
    pub(super) fn finish(&self, event: &mut Event) -> Result<(), Fault> {
        poll(&self.requester.request, event, self.rig.pair.patience)?;
        succeeded(event)
    }

    /// Waits, awake, for a message.
    #[inline]
    pub(super) fn receive(&self, event: &mut Event) -> Result<(), Fault> {
        match poll(&self.receiver.recv, event, self.rig.pair.patience) {
            Ok(()) => {
                succeeded(event)?;
                self.whole(event)
            }
            Err(fault) => {
                // The send may know better why nothing came.
                if self.requester.request.dequeue(event)? {
                    succeeded(event)?;
                }
                Err(fault)
            }
        }
    }

    /// Takes a completion if there is one.
    #[inline]
    pub(super) fn take(&self, evd: &EventDispatcher, event: &mut Event) -> Result<bool, Fault> {
        if !evd.dequeue(event)? {
            return Ok(false);
        }
        succeeded(event)?;
        Ok(true)
    }

    /// Checks that a message is as long as what was sent.
    #[inline]
    pub(super) fn whole(&self, event: &Event) -> Result<(), Fault> {
        match event {
            Event::Dto(completion) if completion.length == self.size => Ok(()),
            other => Err(Fault::unexpected(format!(
                "{other:?} came for a message of {} bytes",
                self.size
            ))),
        }
    }

    fn seed(&self) -> u64 {
        self.size * 16 + self.op as u64 * 4
    }

    /// Transfers by every place once and compares all memory; then fills the source anew, so
    /// that what is measured moves other bytes.
    pub(super) fn verify(&self) -> Result<(), Fault> {
        let (seed, length) = (self.seed(), self.source.memory.len());
        let bytes = pattern::bytes(seed, 0, length);
        self.source.memory.write(0, &bytes)?;
        let mut expected = pattern::bytes(!seed, 0, length);
        self.target.memory.write(0, &expected)?;
        let mut event = Event::default();
        for place in 0..self.places {
            if self.op == Op::Send {
                self.post_receive(place)?;
            }
            self.post(place, CompletionFlags::empty())?;
            self.finish(&mut event)?;
            if self.op == Op::Send {
                self.receive(&mut event)?;
            }
            let start = (place * self.stride) as usize;
            let piece = start..start + self.size as usize;
            expected[piece.clone()].copy_from_slice(&bytes[piece]);
        }
        let found = self.target.memory.to_vec(0, length)?;
        pattern::compare(&format!("{} before the measurement", self.op.name()), &expected, &found)?;
        self.source.memory.write(0, &pattern::bytes(seed + 1, 0, length))?;
        Ok(())
    }

    /// Compares the beginning, the middle and the end of every place with what was measured.
    pub(super) fn sample(&self) -> Result<(), Fault> {
        const SAMPLE: u64 = 256;
        let length = self.size.min(SAMPLE);
        for place in 0..self.places {
            for offset in [0, (self.size - length) / 2, self.size - length] {
                let start = (place * self.stride + offset) as usize;
                let expected = pattern::bytes(self.seed() + 1, start, length as usize);
                let found = self.target.memory.to_vec(start, length as usize)?;
                let what = format!("{} after the measurement", self.op.name());
                pattern::compare(&what, &expected, &found)?;
            }
        }
        Ok(())
    }
}

/// Checks that a completion is one, and of a success.
#[inline]
fn succeeded(event: &Event) -> Result<(), Fault> {
    match event {
        Event::Dto(completion) if completion.status == DtoStatus::Success => Ok(()),
        Event::Dto(completion) => {
            Err(Fault::completion(operation_name(completion.operation), completion.status))
        }
        other => Err(Fault::unexpected(format!("{other:?} came for a completion"))),
    }
}
