//! Parts of buffers: their patterns, and the check that every byte went where it belongs.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dat_core::{EpAttributes, LmrTriplet, RmrTriplet};

use crate::error::CliError;
use crate::pattern;
use crate::session::Buffer;

/// A part of a buffer: its offset and length.
pub(super) type Piece = (u64, u64);

/// The time spent on creating and checking data, which does not count as the step's time.
#[derive(Debug, Default)]
pub(super) struct Stopwatch(Cell<Duration>);

impl Stopwatch {
    /// The time since the last call.
    pub(super) fn take(&self) -> Duration {
        self.0.take()
    }

    fn add(&self, start: Instant) {
        self.0.set(self.0.get() + start.elapsed());
    }

    /// Fills the source and the destination buffer with different
    /// patterns.
    pub(super) fn prepare(&self, out: &Buffer, into: &Buffer, seed: u64) -> Result<(), CliError> {
        let start = Instant::now();
        for (buffer, seed) in [(out, seed), (into, !seed)] {
            buffer.memory.write(0, &pattern::bytes(seed, 0, buffer.memory.len()))?;
        }
        self.add(start);
        Ok(())
    }

    /// Verifies a whole buffer: the transferred parts, and the unchanged bytes
    /// around them.
    pub(super) fn check(
        &self,
        what: &str,
        into: &Buffer,
        seed: u64,
        from: &[Piece],
        to: &[Piece],
    ) -> Result<(), CliError> {
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
        let equal = pattern::compare(
            &format!(
                "{what} and the surrounding \
             bytes"
            ),
            &expected,
            &found,
        );
        self.add(start);
        equal
    }
}

/// Their total length in bytes.
pub(super) fn total(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.1).sum()
}

/// The segments for a post.
pub(super) fn triplets(buffer: &Buffer, pieces: &[Piece]) -> dat_core::Result<Vec<LmrTriplet>> {
    pieces.iter().map(|&(start, length)| buffer.lmr.triplet(start, length)).collect()
}

/// The remote segment for posts of the peer.
pub(super) fn remote_triplet(
    buffer: &Buffer,
    (start, length): Piece,
) -> dat_core::Result<RmrTriplet> {
    buffer.lmr.remote_triplet(start, length)
}

/// The length of transfers in segments.
pub(super) const SEGMENTED: u64 = 5000;

/// A message that is gathered from several segments and scattered to several.
pub(super) struct Scattered {
    pub(super) from: Vec<Piece>,
    pub(super) into: Vec<Piece>,
}

impl Scattered {
    /// The largest that the endpoints support, or the reason why there is none.
    pub(super) fn new(attributes: &EpAttributes, longest: u64) -> Result<Self, String> {
        let out = attributes.max_request_iov.min(4);
        let into = attributes.max_recv_iov.min(3);
        let length = SEGMENTED.min(longest);
        if out.max(into) < 2 || length < 16 {
            return Err(format!(
                "an endpoint supports {out} segments per send and {into} per receive"
            ));
        }
        Ok(Self { from: pieces(length, out.into()), into: pieces(length, into.into()) })
    }
}

/// A length divided into parts of growing size, with gaps between them.
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
