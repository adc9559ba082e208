//! A ring of one direction: one producer, one consumer, no lock and no locked instruction.
//!
//! The unit is a cache line. A frame begins at a unit with a word of 8 bytes, which holds the length
//! of all of it in bytes; head and payload follow, beyond the end of the ring from its start. The
//! word is stored last. Before, the producer clears the word behind the frame, so the consumer
//! never takes bytes of an old payload for a word. A producer that dies in the middle of a frame
//! leaves none.
#![allow(unsafe_code, reason = "the slots are memory by address")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dat_provider::mem::{Span, copy};
use dat_provider_kit::frame::{self, Frame, MAX_HEAD, MAX_PIECE, Malformed};

use crate::segment::{RING, Segment, UNIT, UNITS};
use crate::signals::{ConsumerSignals, ProducerSignals};

/// Bytes of the word before a frame.
const WORD: usize = 8;
const SHORTEST: usize = WORD + 24;
const LONGEST: usize = WORD + MAX_HEAD + MAX_PIECE as usize;
/// The consumer releases space in parts of this many units, so that the line of its words stays
/// with the producer meanwhile.
const PART: u64 = UNITS / 4;

// A producer without space has at least one part before the consumer.
const _: () = assert!(LONGEST.div_ceil(UNIT) as u64 + 1 + PART <= UNITS - PART);
const _: () = assert!(UNITS.is_power_of_two() && WORD + MAX_HEAD <= UNIT);

/// The slots of a direction.
#[derive(Debug)]
struct Slots {
    segment: Arc<Segment>,
    direction: usize,
}

impl Slots {
    fn word(&self, unit: u64) -> &AtomicU64 {
        let at = self.segment.ring(self.direction).wrapping_add(offset(unit));
        // SAFETY: `offset` is a multiple of a unit inside the ring, which lives as long as
        // `self`; every bit pattern is valid, and both processes access words as atomics.
        unsafe { &*at.cast::<AtomicU64>() }
    }

    /// The bytes from `skip` behind the beginning of a unit on, in at most two parts.
    fn parts(&self, unit: u64, skip: usize, length: usize) -> [(*mut u8, usize); 2] {
        let at = (offset(unit) + skip) & (RING - 1);
        let first = length.min(RING - at);
        let base = self.segment.ring(self.direction);
        [(base.wrapping_add(at), first), (base, (length - first).min(RING))]
    }
}

fn offset(unit: u64) -> usize {
    (unit & (UNITS - 1)) as usize * UNIT
}

fn units(bytes: usize) -> u64 {
    bytes.div_ceil(UNIT) as u64
}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Producer {
    slots: Slots,
    signals: ProducerSignals,
    /// Units that were written, and those of them that the peer has read, as far as is known.
    tail: u64,
    head: u64,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It is in the ring. Whether to ring for the consumer.
    Yes { rings: bool },
    /// The ring lacks space. The consumer rings when there is.
    Full,
}

impl Producer {
    pub(crate) fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let slots = Slots { segment: Arc::clone(segment), direction };
        Self { slots, signals: ProducerSignals::default(), tail: 0, head: 0 }
    }

    /// Whether the ring has space for units, and one word behind.
    fn has_room(&mut self, units: u64) -> Result<bool, Malformed> {
        if self.tail - self.head + units < UNITS {
            return Ok(true);
        }
        let head = self.slots.segment.signals(self.slots.direction).head();
        if head < self.head || head > self.tail {
            return Err(Malformed::Field(0));
        }
        self.head = head;
        Ok(self.tail - self.head + units < UNITS)
    }

    /// Whether the consumer polls the ring, and needs no doorbell.
    pub(crate) fn is_polled(&self) -> bool {
        self.slots.segment.signals(self.slots.direction).is_polled()
    }

    /// Whether the longest frame fits.
    ///
    /// # Errors
    /// The peer's words contradict each other.
    pub(crate) fn is_free(&mut self) -> Result<bool, Malformed> {
        self.has_room(units(LONGEST))
    }

    /// Stores a frame.
    ///
    /// # Errors
    /// The peer's words contradict each other, or the frame is too long.
    pub(crate) fn store(&mut self, frame: &Frame, payload: &[Span]) -> Result<Stored, Malformed> {
        let head = frame.encode();
        let length = payload.iter().map(Span::len).sum::<usize>();
        let total = WORD + head.len() + length;
        if total > LONGEST {
            return Err(Malformed::Length(0));
        }
        let taken = units(total);
        if !self.has_room(taken)? {
            self.signals.starve(self.slots.segment.signals(self.slots.direction));
            if !self.has_room(taken)? {
                return Ok(Stored::Full);
            }
        }
        self.slots.word(self.tail + taken).store(0, Ordering::Relaxed);
        self.put(WORD, head.as_ptr(), head.len());
        let mut at = WORD + head.len();
        for span in payload {
            if let Some(from) = span.pointer(span.address(), span.len() as u64) {
                self.put(at, from, span.len());
            }
            at += span.len();
        }
        self.slots.word(self.tail).store(total as u64, Ordering::Release);
        self.tail += taken;
        let rings = self.signals.stored(self.slots.segment.signals(self.slots.direction));
        Ok(Stored::Yes { rings })
    }

    /// Copies bytes to `skip` behind the tail.
    #[inline]
    fn put(&self, skip: usize, mut from: *const u8, length: usize) {
        for (to, part) in self.slots.parts(self.tail, skip, length) {
            // SAFETY: the part is inside the mapping; the source is a local head or a span, for
            // which its maker answers, of `length` bytes in both parts.
            unsafe { copy(from, to, part) };
            from = from.wrapping_add(part);
        }
    }
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Consumer {
    slots: Slots,
    signals: ConsumerSignals,
    /// Units that were read, and those that were given back.
    head: u64,
    released: u64,
}

/// A frame at the head of the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) frame: Frame,
    /// Bytes before the payload, and of the payload.
    before: usize,
    payload: usize,
}

impl Consumer {
    pub(crate) fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let slots = Slots { segment: Arc::clone(segment), direction };
        Self { slots, signals: ConsumerSignals::default(), head: 0, released: 0 }
    }

    /// Wants a doorbell or does not. Returns whether a frame is there that it may not ring for.
    pub(crate) fn arm(&mut self, is_armed: bool) -> bool {
        let signals = self.slots.segment.signals(self.slots.direction);
        if is_armed {
            self.signals.arm(signals);
        } else {
            self.signals.disarm(signals);
        }
        self.slots.word(self.head).load(Ordering::Acquire) != 0
    }

    /// The next frame, if there is one.
    ///
    /// # Errors
    /// The peer did not store a frame.
    #[inline]
    pub(crate) fn next(&self) -> Result<Option<Found>, Malformed> {
        let total = self.slots.word(self.head).load(Ordering::Acquire);
        if total == 0 {
            return Ok(None);
        }
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        if !(SHORTEST..=LONGEST).contains(&total) {
            return Err(Malformed::Length(0));
        }
        let mut bytes = [0; MAX_HEAD];
        let given = (total - WORD).min(MAX_HEAD);
        let [(from, _), _] = self.slots.parts(self.head, WORD, given);
        // SAFETY: inside the mapping, since word and head are within a unit; the copy is private.
        unsafe { copy(from, bytes.as_mut_ptr(), given) };
        let (frame, head) = frame::decode(&bytes[..given])?.ok_or(Malformed::Length(0))?;
        let (before, payload) = (WORD + head, frame.payload() as usize);
        if before + payload != total {
            return Err(Malformed::Length(0));
        }
        Ok(Some(Found { frame, before, payload }))
    }

    /// Copies the payload of a frame to its places, as far as they go.
    pub(crate) fn take(&self, found: &Found, places: &[Span]) {
        let (mut at, mut left) = (found.before, found.payload);
        for place in places {
            let length = place.len().min(left);
            let Some(mut to) = place.pointer(place.address(), length as u64) else { return };
            for (from, part) in self.slots.parts(self.head, at, length) {
                // SAFETY: the part is inside the mapping, and in the place, for which its maker
                // answers.
                unsafe { copy(from, to, part) };
                to = to.wrapping_add(part);
            }
            at += length;
            left -= length;
        }
    }

    /// Goes on behind a frame. Returns its length in bytes, and whether to ring for the producer.
    #[inline]
    pub(crate) fn pass(&mut self, found: &Found) -> (usize, bool) {
        let total = found.before + found.payload;
        self.head += units(total);
        let gives = self.head - self.released >= PART;
        (total, gives && self.release())
    }

    fn release(&mut self) -> bool {
        self.released = self.head;
        self.signals.release(self.slots.segment.signals(self.slots.direction), self.head)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "ring_tests.rs"]
mod tests;
