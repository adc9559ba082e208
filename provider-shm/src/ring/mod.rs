//! A ring for one direction: one producer, one consumer, no lock and no locked instruction.
//!
//! The unit is a cache line. A frame begins at a unit with a word of 8 bytes, which holds the length of the frame in
//! bytes. The head follows, and then the payload, which begins at the next unit if it is long. A frame that reaches the
//! end of the ring continues at its start. The producer stores the word last, so a producer that dies in the middle of
//! a frame leaves no frame.
//!
//! The word at which the consumer expects the next frame must be zero until that frame is stored, although old payload
//! may have been there. The producer clears words some units ahead; otherwise, it would write the cache line that the
//! consumer polls twice per frame.
#![allow(unsafe_code, reason = "the slots are memory by address")]

mod consumer;
mod producer;

pub(crate) use consumer::Consumer;
pub(crate) use producer::{Producer, Stored};

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use dat_provider_kit::frame::MAX_HEAD;

use crate::segment::{RING, Segment, UNIT, UNITS};
use crate::signals::Signals;

/// Size of the word before a frame, in bytes.
const WORD: usize = 8;
/// Number of words of a unit.
const WORDS: usize = UNIT / WORD;
/// Minimum length of a payload, in bytes, that begins at a unit.
const LONG: usize = 1024;
/// Maximum payload of a frame, in bytes. The consumer copies a piece while the producer copies the next one, so that a
/// long transfer takes little longer than one copy; shorter pieces cost more for their heads than they gain.
pub const PIECE: u64 = 16 << 10;
/// Maximum length of a frame, in bytes.
const LONGEST: usize = WORD + MAX_HEAD + PIECE as usize;
/// The consumer releases space in parts of this many units, so that the cache line of its words rarely moves between
/// processors.
const PART: u64 = UNITS / 4;
// A producer without space is at least one part ahead of the consumer.
const _: () = assert!(LONGEST.div_ceil(UNIT) as u64 + 1 + PART <= UNITS - PART);
const _: () = assert!(UNITS.is_power_of_two() && WORD + MAX_HEAD == UNIT);

/// The slots of a direction.
#[derive(Debug)]
struct Slots {
    segment: Arc<Segment>,
    direction: usize,
    /// The first byte of the ring.
    base: *mut u8,
}

// SAFETY: `base` points into the mapping that `segment` keeps. Any thread of the process may access it: the
// accesses are atomic, or copies without a reference.
unsafe impl Send for Slots {}

/// The words of a unit.
type Unit = [AtomicU64; WORDS];

impl Slots {
    fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let base = segment.ring(direction);
        Self { segment: Arc::clone(segment), direction, base }
    }

    /// The words that both ends share.
    #[inline]
    fn signals(&self) -> &Signals {
        self.segment.signals(self.direction)
    }

    /// The address of a unit.
    #[inline]
    fn address(&self, unit: u64) -> *mut u8 {
        self.base.wrapping_add(offset(unit))
    }

    #[inline]
    fn unit(&self, unit: u64) -> &Unit {
        let at = self.address(unit);
        // SAFETY: the unit is inside the ring, aligned, and the mapping lives as long as `self`; every
        // bit pattern is valid, and both processes access words as atomics.
        unsafe { &*at.cast::<Unit>() }
    }

    /// The word at the start of a unit.
    #[inline]
    fn word(&self, unit: u64) -> &AtomicU64 {
        &self.unit(unit)[0]
    }

    /// Returns the bytes that begin `skip` bytes after the start of a unit, in at most two parts.
    #[inline]
    fn parts(&self, unit: u64, skip: usize, length: usize) -> [(*mut u8, usize); 2] {
        let at = (offset(unit) + skip) & (RING - 1);
        let first = length.min(RING - at);
        [(self.base.wrapping_add(at), first), (self.base, (length - first).min(RING))]
    }
}

#[inline]
fn offset(unit: u64) -> usize {
    (unit & (UNITS - 1)) as usize * UNIT
}

/// Returns the offset of a frame's payload from the start of its first unit, in bytes. A long payload begins at a unit,
/// because copies to aligned memory are faster.
#[inline]
fn payload_at(head: usize, payload: usize) -> usize {
    if payload < LONG { WORD + head } else { UNIT }
}

fn units(bytes: usize) -> u64 {
    bytes.div_ceil(UNIT) as u64
}

#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(test, not(loom)))]
mod weak_memory;
