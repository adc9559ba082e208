//! The steps that transfer data, and the check that every byte went where it belongs.

use dat_core::{CompletionFlags, DtoStatus, Operation, RmrTriplet};

use super::local::{Buffers, LONGEST, Local};
use super::pieces::{
    Piece, SEGMENTED, Scattered, Stopwatch, pieces, remote_triplet, total, triplets,
};
use super::plan::sizes;
use super::runner::Done;
use crate::error::CliError;
use crate::session::{Buffer, Pair};
use crate::side::Side;
use crate::units;

/// One direction of a connection: its source and its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    checking: &'a Stopwatch,
    giver: &'a Side,
    out: &'a Buffer,
    taker: &'a Side,
    into: &'a Buffer,
}

impl<'a> Way<'a> {
    /// From the active side to the passive one.
    pub(super) fn there(pair: &'a Pair, buffers: &'a Buffers) -> Self {
        Self {
            checking: &buffers.checking,
            giver: &pair.active,
            out: &buffers.active_out,
            taker: &pair.passive,
            into: &buffers.passive_into,
        }
    }

    /// From the passive side to the active one.
    pub(super) fn back(pair: &'a Pair, buffers: &'a Buffers) -> Self {
        Self {
            checking: &buffers.checking,
            giver: &pair.passive,
            out: &buffers.passive_out,
            taker: &pair.active,
            into: &buffers.active_into,
        }
    }

    /// Sends a message and checks it.
    fn send(&self, seed: u64, from: &[Piece], to: &[Piece]) -> Result<(), CliError> {
        self.prepare(seed)?;
        let flags = CompletionFlags::empty();
        let length = total(from);
        self.taker.ep.post_recv(&triplets(self.into, to)?, seed + 1, flags)?;
        self.giver.ep.post_send(&triplets(self.out, from)?, seed, flags)?;
        // A failed send flushes the receive, so the completion of the send has the cause.
        self.giver.await_request(Operation::Send, seed, length)?;
        self.taker.await_receive(seed + 1, length, DtoStatus::Success)?;
        self.check("the message", seed, from, to)
    }

    /// Writes to a part of the target's memory and verifies it.
    pub(super) fn write(
        &self,
        seed: u64,
        from: &[Piece],
        to: Piece,
        context: u32,
    ) -> Result<(), CliError> {
        self.prepare(seed)?;
        self.post_write(seed, from, to, context)?;
        self.giver.await_request(Operation::RdmaWrite, seed, total(from))?;
        self.check("the written data", seed, from, &[to])
    }

    /// Posts a write without waiting for its completion.
    pub(super) fn post_write(
        &self,
        seed: u64,
        from: &[Piece],
        to: Piece,
        context: u32,
    ) -> Result<(), CliError> {
        let remote = RmrTriplet { context, ..remote_triplet(self.into, to)? };
        let local = triplets(self.out, from)?;
        Ok(self.giver.ep.post_rdma_write(&local, seed, remote, CompletionFlags::empty())?)
    }

    /// Reads a part of the source's memory and verifies it.
    fn read(&self, seed: u64, from: Piece, to: &[Piece]) -> Result<(), CliError> {
        self.prepare(seed)?;
        let remote = remote_triplet(self.out, from)?;
        let local = triplets(self.into, to)?;
        self.taker.ep.post_rdma_read(&local, seed, remote, CompletionFlags::empty())?;
        self.taker.await_request(Operation::RdmaRead, seed, from.1)?;
        self.check("the data read", seed, &[from], to)
    }

    /// Fills both buffers with different patterns.
    pub(super) fn prepare(&self, seed: u64) -> Result<(), CliError> {
        self.checking.prepare(self.out, self.into, seed)
    }

    /// Verifies the whole target buffer.
    pub(super) fn check(
        &self,
        what: &str,
        seed: u64,
        from: &[Piece],
        to: &[Piece],
    ) -> Result<(), CliError> {
        self.checking.check(what, self.into, seed, from, to)
    }
}

impl Local {
    fn ways(&self) -> Result<[Way<'_>; 2], CliError> {
        let (pair, buffers) = (self.pair()?, self.buffers()?);
        Ok([Way::there(pair, buffers), Way::back(pair, buffers)])
    }

    /// Sends a message of a size in both directions.
    pub(super) fn send_both_ways(&self, size: u64) -> Result<Done, CliError> {
        for (seed, way) in (1..).zip(self.ways()?) {
            let seed = 1000 + size * 4 + seed * 2;
            let piece = (64, size);
            // An empty message needs no segment.
            let pieces = if size == 0 { &[][..] } else { &[piece][..] };
            way.send(seed, pieces, pieces)?;
        }
        Ok(Done::Passed("both ways".to_owned()))
    }

    /// Sends a message that is gathered from, and scattered to, several segments.
    pub(super) fn send_in_segments(&self) -> Result<Done, CliError> {
        let longest = self.ia()?.attributes().max_message_size;
        let message = match Scattered::new(&self.endpoint()?, longest) {
            Ok(message) => message,
            Err(why) => return Ok(Done::LeftOut(why)),
        };
        for (seed, way) in [2001, 2003].into_iter().zip(self.ways()?) {
            way.send(seed, &message.from, &message.into)?;
        }
        Ok(Done::Passed(format!(
            "{} segments into {}, both ways",
            message.from.len(),
            message.into.len()
        )))
    }

    /// Writes in all sizes and from several segments, in both directions.
    pub(super) fn rdma_writes(&self) -> Result<Done, CliError> {
        let segments = self.endpoint()?.max_rdma_write_iov.min(4);
        self.rdma(3000, segments, |way, seed, pieces, whole| {
            way.write(seed, pieces, whole, way.into.lmr.rmr_context())
        })
    }

    /// Reads in all sizes and into several segments, in both directions.
    pub(super) fn rdma_reads(&self) -> Result<Done, CliError> {
        let attributes = self.endpoint()?;
        let (out, into) = (attributes.max_rdma_read_out, attributes.max_rdma_read_in);
        if out == 0 || into == 0 {
            return Ok(Done::LeftOut(format!(
                "max_rdma_read_out is {out}, max_rdma_read_in is {into}"
            )));
        }
        let segments = attributes.max_rdma_read_iov.min(4);
        self.rdma(4000, segments, |way, seed, pieces, whole| way.read(seed, whole, pieces))
    }

    /// Performs an RDMA operation in all sizes and with several segments, in both directions.
    fn rdma(
        &self,
        first_seed: u64,
        segments: u32,
        act: impl Fn(&Way<'_>, u64, &[Piece], Piece) -> Result<(), CliError>,
    ) -> Result<Done, CliError> {
        let limit = self.ia()?.attributes().max_rdma_size;
        let sizes: Vec<u64> =
            sizes(limit).into_iter().filter(|size| (1..=limit).contains(size)).collect();
        for (index, way) in (0..).zip(self.ways()?) {
            for &size in &sizes {
                let seed = first_seed + index + 2 * size;
                act(&way, seed, &[(256, size)], (32, size))?;
            }
            let length = SEGMENTED.min(limit);
            if segments > 1 && length >= 16 {
                let seed = first_seed + index + 500;
                act(&way, seed, &pieces(length, segments.into()), (99, length))?;
            }
        }
        let mut detail: Vec<String> = sizes.iter().map(|size| units::bytes(*size)).collect();
        if segments > 1 {
            detail.push(format!("{segments} segments"));
        }
        let mut detail = format!("{}; both ways", detail.join(", "));
        if limit < LONGEST {
            detail.push_str(&format!("; limited by max_rdma_size {}", units::bytes(limit)));
        }
        Ok(Done::Passed(detail))
    }
}
