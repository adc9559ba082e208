//! The client's half of a measurement: its memory, and the connections to the listener.

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, DtoStatus, Event, LmrTriplet, RmrTriplet,
};

use super::client::Client;
use super::order::{DATA, Mode, Order};
use crate::error::CliError;
use crate::pattern;
use crate::perf::arrival;
use crate::perf::buffers::{self, slots, stride};
use crate::perf::op::Op;
use crate::session::{Buffer, poll};
use crate::side::Side;

/// One operation and size.
pub(super) struct Cell<'a> {
    pub(crate) client: &'a Client,
    pub(crate) op: Op,
    pub(crate) size: u64,
    pub(crate) slots: u64,
    pub(crate) stride: u64,
    /// The memory that is sent, written, or read into; the first slot of `back` takes echoes.
    own: Buffer,
    back: Buffer,
    local: Vec<LmrTriplet>,
    remote: Vec<RmrTriplet>,
}

/// A connection to the listener that serves it in a mode.
pub(super) struct Lane<'a> {
    pub(crate) cell: &'a Cell<'a>,
    pub(crate) side: Side,
    /// The number of receives that the listener has posted.
    pub(crate) granted: u64,
    /// The number of receives in one of its reports.
    pub(crate) batch: u64,
    /// The number of requests posted so far.
    pub(crate) posted: u64,
}

impl<'a> Cell<'a> {
    /// Memory on both sides.
    pub(super) fn create(client: &'a Client, op: Op, size: u64) -> Result<Self, CliError> {
        let (stride, slots) = (stride(size), slots(op, size));
        let length = slots * stride;
        let seed = seed(op, size);
        let [address, context, ..] =
            client.control.ask(Order::Prepare { op, slots, stride, seed })?;
        let context = u32::try_from(context).unwrap_or(0);
        let (ia, pz) = (&client.ia, &client.pz);
        let own = Buffer::target(ia, pz, length as usize)?;
        let back = Buffer::target(ia, pz, size as usize)?;
        let piece = |slot| own.lmr.triplet(slot * stride, size);
        let local = (0..slots).map(piece).collect::<Result<_, _>>()?;
        let piece = |slot: u64| RmrTriplet {
            address: address.wrapping_add(slot * stride),
            length: size,
            context,
        };
        let remote = (0..slots).map(piece).collect();
        Ok(Self { client, op, size, slots, stride, own, back, local, remote })
    }

    /// Connects to the listener, which serves the connection in a mode.
    pub(super) fn lane(&self, mode: Mode) -> Result<Lane<'_>, CliError> {
        let Client { ia, pz, control, timeout, .. } = self.client;
        let [granted, batch, ..] = control.ask(Order::Serve(mode))?;
        let side = Side::create(ia, pz, buffers::MOST as u32, *timeout)?;
        let lane = Lane { cell: self, side, granted, batch: batch.max(1), posted: 0 };
        match mode {
            Mode::Sink => (0..8.min(lane.side.depth)).try_for_each(|_| lane.post_report())?,
            Mode::Echo => lane.post_echo()?,
            Mode::Idle | Mode::Mirror { .. } => {}
        }
        lane.side.connect(self.client.address, self.client.port, &DATA)?;
        Ok(lane)
    }

    /// The maximum number of transfers in flight.
    pub(super) fn window(&self, depth: u32) -> u64 {
        let slots = self.slots.min(depth.into());
        if self.op == Op::Read { slots.min(self.client.limits.reads).max(1) } else { slots }
    }

    /// Transfers through every slot once and verifies all memory of the side that was written.
    pub(super) fn verify(&self) -> Result<(), CliError> {
        let length = self.own.memory.len();
        let filled = self.op != Op::Read;
        if filled {
            self.own.memory.write(0, &pattern::bytes(seed(self.op, self.size), 0, length))?;
        } else {
            self.own.memory.write(0, &vec![0; length])?;
        }
        let mut lane = self.lane(if self.op == Op::Send { Mode::Sink } else { Mode::Idle })?;
        let mut event = Event::default();
        for _ in 0..self.slots {
            while self.op == Op::Send && lane.posted == lane.granted {
                poll(&lane.side.recv, &mut event, self.client.timeout)?;
                lane.reported(&event)?;
            }
            lane.post(CompletionFlags::empty())?;
            lane.finish(&mut event)?;
        }
        lane.end()?;
        self.check()
    }

    /// Verifies the memory of the side that was written.
    pub(super) fn check(&self) -> Result<(), CliError> {
        let Self { op, size, slots, stride, .. } = *self;
        let length = (slots * stride) as usize;
        let full = pattern::bytes(seed(op, size), 0, length);
        // Between the slots nothing was written.
        let mut expected = vec![0; length];
        for slot in 0..slots as usize {
            let start = slot * stride as usize;
            let piece = start..start + size as usize;
            expected[piece.clone()].copy_from_slice(&full[piece]);
        }
        if op == Op::Read {
            let found = self.own.memory.to_vec(0, length)?;
            return pattern::compare("read", &expected, &found);
        }
        let [found, ..] = self.client.control.ask(Order::Digest)?;
        if found == pattern::digest(&expected) {
            return Ok(());
        }
        let what = op.name();
        Err(CliError::data(format!(
            "{what} of {size} bytes: the peer has other bytes than were sent"
        )))
    }

    /// The mode of the listener for the latency of writes: it writes them back.
    pub(super) fn mirror(&self) -> Result<Mode, CliError> {
        let RmrTriplet { address, context, .. } = self.back.lmr.remote_triplet(0, self.size)?;
        Ok(Mode::Mirror { address, context, size: self.size })
    }

    /// Verifies an echo.
    pub(super) fn check_echo(&self) -> Result<(), CliError> {
        let expected = self.own.memory.to_vec(0, self.size as usize)?;
        let found = self.back.memory.to_vec(0, self.size as usize)?;
        pattern::compare("the echoed message", &expected, &found)
    }

    /// Frees the memory.
    pub(super) fn free(&self) -> Result<(), CliError> {
        Ok(self.own.lmr.free().and(self.back.lmr.free())?)
    }
}

/// The seed of the bytes of a cell.
fn seed(op: Op, size: u64) -> u64 {
    size * 16 + op as u64 * 4
}

impl Lane<'_> {
    /// Posts the next request; the slots are used in turn.
    #[inline]
    pub(super) fn post(&mut self, flags: CompletionFlags) -> Result<(), CliError> {
        let cell = self.cell;
        let slot = self.posted % cell.slots;
        let index = slot as usize;
        let (ep, local) = (&self.side.ep, &cell.local[index..=index]);
        match cell.op {
            Op::Send => ep.post_send(local, slot, flags)?,
            Op::Write | Op::WriteLat => {
                ep.post_rdma_write(local, slot, cell.remote[index], flags)?
            }
            Op::Read => ep.post_rdma_read(local, slot, cell.remote[index], flags)?,
        }
        self.posted += 1;
        Ok(())
    }

    /// Posts the receive of an echo.
    #[inline]
    pub(super) fn post_echo(&self) -> Result<(), CliError> {
        let piece = self.cell.back.lmr.triplet(0, self.cell.size)?;
        Ok(self.side.ep.post_recv(&[piece], 0, CompletionFlags::empty())?)
    }

    /// Posts the receive of a report.
    fn post_report(&self) -> Result<(), CliError> {
        Ok(self.side.ep.post_recv(&[], 0, CompletionFlags::empty())?)
    }

    /// A report arrived: the listener has posted receives again.
    pub(super) fn reported(&mut self, event: &Event) -> Result<(), CliError> {
        buffers::succeeded(event)?;
        self.granted += self.batch;
        self.post_report()
    }

    /// Spins until a request completes.
    #[inline]
    pub(super) fn finish(&self, event: &mut Event) -> Result<(), CliError> {
        poll(&self.side.request, event, self.side.timeout)?;
        buffers::succeeded(event)
    }

    /// Changes the last byte of the message that is written next.
    #[inline]
    pub(super) fn mark(&self, turn: u64) -> Result<(), CliError> {
        arrival::store(&self.cell.own.memory, self.cell.size, arrival::mark(turn))
    }

    /// Spins until the answer to the message of a turn is in memory.
    #[inline]
    pub(super) fn mirrored(&self, turn: u64) -> Result<(), CliError> {
        let in_time = arrival::time_limit(self.side.timeout);
        let awaited = (self.cell.size, arrival::mark(turn));
        arrival::await_mark(&self.cell.back.memory, awaited, || in_time().map(|()| false))?;
        Ok(())
    }

    /// Spins until an echo arrives.
    #[inline]
    pub(super) fn echoed(&self, event: &mut Event) -> Result<(), CliError> {
        poll(&self.side.recv, event, self.side.timeout)?;
        buffers::succeeded(event)?;
        match event {
            Event::Dto(done) if done.length == self.cell.size => Ok(()),
            other => Err(CliError::unexpected(format!("unexpected echo: {other:?}"))),
        }
    }

    /// Ends the connection.
    pub(super) fn end(self) -> Result<(), CliError> {
        self.side.ep.disconnect(Close::Graceful)?;
        self.side.await_connection(ConnectionEventKind::Disconnected)?;
        let freed = self.side.free().into_iter().collect::<dat_core::Result<()>>();
        Ok(freed?)
    }

    /// The error of a failed measurement, with the transport's own.
    pub(super) fn caused(&self, error: CliError) -> CliError {
        // The first failure may wait behind the flushed receives.
        let mut event = Event::default();
        let error = match self.side.request.dequeue(&mut event) {
            Ok(true) => match &event {
                Event::Dto(done) if done.status != DtoStatus::Flushed => {
                    buffers::succeeded(&event).err().unwrap_or(error)
                }
                _ => error,
            },
            _ => error,
        };
        error.caused_by(self.side.failure())
    }
}
