//! The listener's half of a measurement: its memory, and the end that answers.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, Cr, DtoStatus, EpState, Evd, Event, Ia, Pz,
    RmrTriplet, Timeout,
};

use super::order::{self, Mode};
use crate::error::CliError;
use crate::pattern;
use crate::perf::op::Op;
use crate::perf::{LONGEST, arrival};
use crate::session::{Buffer, poll};
use crate::side::Side;

/// The maximum number of posted receives.
const DEPTH: u32 = 64;

/// After this time without an event, a poller sleeps.
const SPIN: Duration = Duration::from_millis(100);

/// The memory for one operation and size.
pub(super) struct Responder {
    buffer: Buffer,
    slots: u64,
    stride: u64,
    place: [u64; 4],
}

impl Responder {
    /// Allocates memory; what a peer may read has a pattern, all else zeros.
    pub(super) fn prepare(
        ia: &Ia,
        pz: &Pz,
        (op, slots, stride, seed): (Op, u64, u64, u64),
    ) -> Result<Self, CliError> {
        // More than a client of this version asks for.
        let most = (LONGEST * 2).min(ia.attributes().max_lmr_block_size);
        let length = slots.checked_mul(stride).filter(|length| (1..=most).contains(length));
        let length = length.ok_or_else(|| order::other_version("the size of the memory"))?;
        let buffer = Buffer::target(ia, pz, length as usize)?;
        if op == Op::Read {
            buffer.memory.write(0, &pattern::bytes(seed, 0, length as usize))?;
        }
        let remote = buffer.lmr.remote_triplet(0, length)?;
        let place = [remote.address, remote.context.into(), 0, 0];
        Ok(Self { buffer, slots, stride, place })
    }

    /// The address and the context of the memory, for the client.
    pub(super) fn place(&self) -> [u64; 4] {
        self.place
    }

    /// The digest of all memory.
    pub(super) fn digest(&self) -> Result<[u64; 4], CliError> {
        let bytes = self.buffer.memory.to_vec(0, self.buffer.memory.len())?;
        Ok([pattern::digest(&bytes), 0, 0, 0])
    }

    /// An endpoint for the next connection, with its receives posted.
    pub(super) fn lane(
        &self,
        ia: &Ia,
        pz: &Pz,
        mode: Mode,
        timeout: Duration,
    ) -> Result<Lane<'_>, CliError> {
        let side = Side::create(ia, pz, DEPTH, timeout)?;
        let mut lane = Lane { memory: self, mode, side, posted: 0 };
        match mode {
            Mode::Idle => {}
            Mode::Mirror { size, .. } => {
                if !(1..=self.buffer.memory.len() as u64).contains(&size) {
                    return Err(order::other_version("the length of a write"));
                }
                arrival::store(&self.buffer.memory, size, 0)?;
            }
            Mode::Sink | Mode::Echo => {
                for _ in 0..lane.side.depth {
                    lane.post_receive()?;
                }
            }
        }
        Ok(lane)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // The region may be in use only if the client broke off; the adapter's close ends it then.
        let _ = self.buffer.lmr.free();
    }
}

/// One connection of a measurement.
pub(super) struct Lane<'a> {
    memory: &'a Responder,
    mode: Mode,
    side: Side,
    /// The number of receives posted so far.
    posted: u64,
}

impl Lane<'_> {
    /// The number of posted receives, and that of receives in one report.
    pub(super) fn posted(&self) -> [u64; 4] {
        let depth = u64::from(self.side.depth);
        [depth, (depth / 4).max(1), 0, 0]
    }

    /// Posts the next receive; the slots are used in turn.
    fn post_receive(&mut self) -> Result<(), CliError> {
        let Responder { buffer, slots, stride, .. } = self.memory;
        let slot = self.posted % slots;
        let piece = buffer.lmr.triplet(slot * stride, *stride)?;
        self.side.ep.post_recv(&[piece], slot, CompletionFlags::empty())?;
        self.posted += 1;
        Ok(())
    }

    /// Accepts the connection, and serves it until the client ends it.
    pub(super) fn serve(mut self, request: &Cr) -> Result<(), CliError> {
        let done = self.accept(request).and_then(|()| match self.mode {
            Mode::Sink => self.sink(),
            Mode::Echo => self.echo(),
            Mode::Idle => Ok(()),
            Mode::Mirror { address, context, size } => {
                self.mirror(RmrTriplet { address, context, length: size })
            }
        });
        let done = done.and_then(|()| self.ended());
        let done = done.map_err(|error| error.caused_by(self.side.failure()));
        if self.side.ep.status()?.state == EpState::Connected {
            self.side.ep.disconnect(Close::Abrupt)?;
        }
        let freed = self.side.free().into_iter().collect::<dat_core::Result<()>>();
        done.and(freed.map_err(CliError::from))
    }

    fn accept(&self, request: &Cr) -> Result<(), CliError> {
        request.accept(Some(&self.side.ep), &[])?;
        self.side.await_connection(ConnectionEventKind::Established)?;
        Ok(())
    }

    /// Waits until the client has ended the connection.
    fn ended(&self) -> Result<(), CliError> {
        let mut event = Event::default();
        self.side.connection.wait(Timeout::Infinite, 1, &mut event)?;
        match event {
            Event::Connection(event) if event.kind == ConnectionEventKind::Disconnected => Ok(()),
            Event::Connection(event) => Err(CliError::connection(&event)),
            other => Err(CliError::unexpected(format!("expected an end, got {other:?}"))),
        }
    }

    /// Writes each message that appears in memory to memory of the client.
    fn mirror(&self, to: RmrTriplet) -> Result<(), CliError> {
        let memory = &self.memory.buffer.memory;
        let piece = self.memory.buffer.lmr.triplet(0, to.length)?;
        let mut event = Event::default();
        for turn in 1.. {
            let is_over = || Ok(self.side.ep.status()?.state != EpState::Connected);
            if !arrival::await_mark(memory, (to.length, arrival::mark(turn)), is_over)? {
                break;
            }
            self.side.ep.post_rdma_write(&[piece], 0, to, CompletionFlags::empty())?;
            poll(&self.side.request, &mut event, self.side.timeout)?;
            if !is_success(&event) {
                break;
            }
        }
        Ok(())
    }

    /// Takes messages. After each quarter of the receives that is posted again, a message of no
    /// bytes says so: a client that waits for it never sends without a receive.
    fn sink(&mut self) -> Result<(), CliError> {
        let [_, batch, ..] = self.posted();
        let (mut unreported, mut is_reporting) = (0, false);
        let mut event = Event::default();
        while self.message(&mut event)?.is_some() {
            self.post_receive()?;
            unreported += 1;
            if unreported == batch {
                if is_reporting {
                    poll(&self.side.request, &mut event, self.side.timeout)?;
                    if !is_success(&event) {
                        return Ok(());
                    }
                }
                self.side.ep.post_send(&[], 0, CompletionFlags::empty())?;
                (unreported, is_reporting) = (0, true);
            }
        }
        Ok(())
    }

    /// Sends each message back.
    fn echo(&mut self) -> Result<(), CliError> {
        let mut event = Event::default();
        while let Some((slot, length)) = self.message(&mut event)? {
            self.post_receive()?;
            let piece = self.memory.buffer.lmr.triplet(slot * self.memory.stride, length)?;
            self.side.ep.post_send(&[piece], slot, CompletionFlags::empty())?;
            poll(&self.side.request, &mut event, self.side.timeout)?;
            if !is_success(&event) {
                break;
            }
        }
        Ok(())
    }

    /// The slot and the length of the next message; none when the connection has ended.
    #[inline]
    fn message(&self, event: &mut Event) -> Result<Option<(u64, u64)>, CliError> {
        next(&self.side.recv, event)?;
        match event {
            Event::Dto(done) if done.status == DtoStatus::Success => {
                Ok(Some((done.cookie, done.length)))
            }
            Event::Dto(done) if done.status == DtoStatus::Flushed => Ok(None),
            Event::Dto(done) => Err(CliError::completion("receive", done.status)),
            other => Err(CliError::unexpected(format!("expected a message, got {other:?}"))),
        }
    }
}

fn is_success(event: &Event) -> bool {
    matches!(event, Event::Dto(done) if done.status == DtoStatus::Success)
}

/// Waits for an event: spins at first, then sleeps.
#[inline]
fn next(evd: &Evd, event: &mut Event) -> Result<(), CliError> {
    if evd.dequeue(event)? { Ok(()) } else { next_later(evd, event) }
}

#[cold]
fn next_later(evd: &Evd, event: &mut Event) -> Result<(), CliError> {
    let start = Instant::now();
    while start.elapsed() < SPIN {
        for _ in 0..256 {
            if evd.dequeue(event)? {
                return Ok(());
            }
            spin_loop();
        }
        std::thread::yield_now();
    }
    evd.wait(Timeout::Infinite, 1, event)?;
    Ok(())
}
