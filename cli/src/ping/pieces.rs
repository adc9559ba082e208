//! Pieces of buffers: their patterns, and the proof that every byte went where it belongs.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dat_core::{EpAttributes, LmrTriplet, RmrTriplet};

use crate::fault::Fault;
use crate::pattern;
use crate::session::Buffer;

/// A piece of a buffer: where it starts and how long it is.
pub(super) type Piece = (u64, u64);

/// How long the making and checking of data took, which is no part of a step's time.
#[derive(Debug, Default)]
pub(super) struct Stopwatch(Cell<Duration>);

impl Stopwatch {
    /// The time since this was asked last.
    pub(super) fn take(&self) -> Duration {
        self.0.take()
    }

    fn add(&self, start: Instant) {
        self.0.set(self.0.get() + start.elapsed());
    }

    /// Gives the buffer that is sent from, and the one that is received into, patterns of
    /// their own.
    pub(super) fn prepare(&self, out: &Buffer, into: &Buffer, seed: u64) -> Result<(), Fault> {
        let start = Instant::now();
        for (buffer, seed) in [(out, seed), (into, !seed)] {
            buffer.memory.write(0, &pattern::bytes(seed, 0, buffer.memory.len()))?;
        }
        self.add(start);
        Ok(())
    }

    /// Compares all of a buffer with what must be there: the pieces that were moved, and
    /// between and around them what was there before.
    pub(super) fn check(
        &self,
        what: &str,
        into: &Buffer,
        seed: u64,
        from: &[Piece],
        to: &[Piece],
    ) -> Result<(), Fault> {
        let start = Instant::now();
        let length = into.memory.len();
        let moved: Vec<u8> = from
            .iter()
            .flat_map(|&(start, length)| pattern::bytes(seed, start as usize, length as usize))
            .collect();
        let mut expected = pattern::bytes(!seed, 0, length);
        let mut rest = moved.as_slice();
        for &(start, length) in to {
            let (piece, others) = rest.split_at(rest.len().min(length as usize));
            expected[start as usize..][..piece.len()].copy_from_slice(piece);
            rest = others;
        }
        let found = into.memory.to_vec(0, length)?;
        let equal = pattern::compare(&format!("{what} and its surroundings"), &expected, &found);
        self.add(start);
        equal
    }
}

/// How many bytes they have together.
pub(super) fn total(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.1).sum()
}

/// What a post names them by.
pub(super) fn triplets(buffer: &Buffer, pieces: &[Piece]) -> dat_core::Result<Vec<LmrTriplet>> {
    pieces.iter().map(|&(start, length)| buffer.lmr.triplet(start, length)).collect()
}

/// What the peer's posts name one by.
pub(super) fn remote_triplet(
    buffer: &Buffer,
    (start, length): Piece,
) -> dat_core::Result<RmrTriplet> {
    buffer.lmr.remote_triplet(start, length)
}

/// The length of what is moved in segments.
pub(super) const SEGMENTED: u64 = 5000;

/// A message that is gathered from several segments, and scattered to several.
pub(super) struct Scattered {
    pub(super) from: Vec<Piece>,
    pub(super) into: Vec<Piece>,
}

impl Scattered {
    /// As much of one as an endpoint can have, within the longest message; or why there is none.
    pub(super) fn new(attributes: &EpAttributes, longest: u64) -> Result<Self, String> {
        let out = attributes.max_request_iov.min(4);
        let into = attributes.max_recv_iov.min(3);
        let length = SEGMENTED.min(longest);
        if out.max(into) < 2 || length < 16 {
            return Err(format!(
                "an endpoint has {out} segments to send from, {into} to receive into"
            ));
        }
        Ok(Self { from: pieces(length, out.into()), into: pieces(length, into.into()) })
    }
}

/// A length in pieces of growing size with gaps between.
pub(super) fn pieces(length: u64, count: u64) -> Vec<Piece> {
    let weights = count * (count + 1) / 2;
    let (mut start, mut left) = (5, length);
    (1..=count)
        .map(|weight| {
            let part = if weight == count { left } else { length * weight / weights };
            let piece = (start, part);
            start += part + 11 * weight;
            left -= part;
            piece
        })
        .collect()
}
