//! A ring of one direction: one producer, one consumer, no lock and no locked instruction.
//!
//! The unit is a cache line. A frame begins at a unit with a word of 8 bytes, which holds the length
//! of the frame in bytes. The head follows, and then the payload: a long one from the next unit on. What
//! reaches the end of the ring continues at its start. The producer stores the word last, so a producer that dies in the middle of a frame leaves
//! no frame.
//!
//! The word at which the consumer looks for the next frame must be zero until that frame is stored,
//! although old payload may have been there. The producer clears words some units ahead, because it
//! would otherwise write the cache line that the consumer is polling twice for each frame.
#![allow(unsafe_code, reason = "the slots are memory by address")]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dat_provider::mem::{Span, copy, copy_in_order};
use dat_provider_kit::frame::{self, Frame, Head, MAX_HEAD, MAX_PIECE, Malformed};
use dat_provider_kit::link::Armed;
use dat_sync::prefetch;

use crate::segment::{RING, Segment, UNIT, UNITS};
use crate::signals::{ConsumerSignals, ProducerSignals, Wake};

/// Bytes of the word before a frame.
const WORD: usize = 8;
/// Words of a unit.
const WORDS: usize = UNIT / WORD;
/// The shortest payload, in bytes, that begins at a unit.
const LONG: usize = 1024;
const SHORTEST: usize = WORD + 24;
const LONGEST: usize = WORD + MAX_HEAD + MAX_PIECE as usize;
/// The consumer releases space in parts of this many units, so that the cache line of its words
/// rarely moves between the processors.
const PART: u64 = UNITS / 4;
/// The producer clears words at least this many units ahead,
const CLEAR_AHEAD: u64 = 16;
/// and at most this many more, so that not each frame does.
const CLEAR_MORE: u64 = 8;

// A producer without space has at least one part before the consumer.
const _: () = assert!(LONGEST.div_ceil(UNIT) as u64 + 1 + PART <= UNITS - PART);
const _: () = assert!(UNITS.is_power_of_two() && WORD + MAX_HEAD == UNIT);

/// The slots of a direction.
#[derive(Debug)]
struct Slots {
    segment: Arc<Segment>,
    direction: usize,
}

/// The words of a unit.
type Unit = [AtomicU64; WORDS];

impl Slots {
    #[inline]
    fn unit(&self, unit: u64) -> &Unit {
        let at = self.segment.ring(self.direction).wrapping_add(offset(unit));
        // SAFETY: the unit is inside the ring, aligned, and the mapping lives as long as `self`; every
        // bit pattern is valid, and both processes access words as atomics.
        unsafe { &*at.cast::<Unit>() }
    }

    /// The word at the start of a unit.
    #[inline]
    fn word(&self, unit: u64) -> &AtomicU64 {
        &self.unit(unit)[0]
    }

    /// The bytes from `skip` behind the beginning of a unit on, in at most two parts.
    #[inline]
    fn parts(&self, unit: u64, skip: usize, length: usize) -> [(*mut u8, usize); 2] {
        let at = (offset(unit) + skip) & (RING - 1);
        let first = length.min(RING - at);
        let base = self.segment.ring(self.direction);
        [(base.wrapping_add(at), first), (base, (length - first).min(RING))]
    }
}

/// Stores the head of a frame behind the first word of its unit.
#[inline]
fn store_head(unit: &Unit, head: &Head) {
    for (word, value) in unit[1..].iter().zip(head.words()).take(head.len() / 8) {
        word.store(value, Ordering::Relaxed);
    }
}

/// A private copy of the bytes of a unit behind its first word.
#[inline]
fn load_head(unit: &Unit) -> [u8; MAX_HEAD] {
    let mut head = [0; MAX_HEAD];
    for (word, bytes) in unit[1..].iter().zip(head.chunks_exact_mut(WORD)) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    head
}

#[inline]
fn offset(unit: u64) -> usize {
    (unit & (UNITS - 1)) as usize * UNIT
}

/// Where the payload of a frame is behind the start of its first unit, in bytes. A long one begins at a unit,
/// since copies to aligned memory are faster.
#[inline]
fn payload_at(head: usize, payload: usize) -> usize {
    if payload < LONG { WORD + head } else { UNIT }
}

fn units(bytes: usize) -> u64 {
    bytes.div_ceil(UNIT) as u64
}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Producer {
    slots: Slots,
    signals: ProducerSignals,
    /// Number of units that were written.
    tail: u64,
    /// Number of units that the consumer has released, as last read.
    head: u64,
    /// The units from `tail` to before this one have a first word of zero.
    clear: u64,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It is in the ring. What to do for the consumer.
    Yes { wake: Wake },
    /// The ring lacks space. The consumer rings when there is.
    Full,
}

impl Producer {
    pub(crate) fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let slots = Slots { segment: Arc::clone(segment), direction };
        // A new ring is full of zeros.
        Self { slots, signals: ProducerSignals::default(), tail: 0, head: 0, clear: UNITS }
    }

    /// Whether the ring has space for units, and the word behind them.
    #[inline]
    fn has_room(&mut self, units: u64) -> Result<bool, Malformed> {
        if self.tail - self.head + units < UNITS { Ok(true) } else { self.update_head(units) }
    }

    /// Reads how far the consumer is. Returns whether the ring has space for units.
    #[cold]
    fn update_head(&mut self, units: u64) -> Result<bool, Malformed> {
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
    #[inline]
    pub(crate) fn store(&mut self, frame: &Frame, payload: &[Span]) -> Result<Stored, Malformed> {
        let head = frame.encode();
        let length = payload.iter().map(Span::len).sum::<usize>();
        let total = WORD + head.len() + length;
        if total > LONGEST {
            return Err(Malformed::Length(0));
        }
        let at = payload_at(head.len(), length);
        let taken = units(at + length);
        if !self.has_room(taken + CLEAR_AHEAD)? && !self.has_room(taken)? {
            self.signals.starve(self.slots.segment.signals(self.slots.direction));
            if !self.has_room(taken)? {
                return Ok(Stored::Full);
            }
        }
        let next = self.tail + taken;
        if self.clear <= next {
            self.clear_from(next, 1);
        }
        // The consumer polls the first unit, and takes its cache line from this processor each time. So
        // all stores to that unit are done at the end, close to each other.
        match payload {
            [span] if offset(self.tail) + at + length <= RING => self.put_one(at, span),
            _ => self.put(at, payload, length),
        }
        let unit = self.slots.unit(self.tail);
        store_head(unit, &head);
        unit[0].store(total as u64, Ordering::Release);
        self.tail = next;
        let wake = self.signals.stored(self.slots.segment.signals(self.slots.direction));
        if self.clear < next + CLEAR_AHEAD {
            self.clear_from(next, CLEAR_AHEAD + CLEAR_MORE);
        }
        Ok(Stored::Yes { wake })
    }

    /// Clears the first words of units behind a frame that ends before unit `next`.
    #[inline(never)]
    fn clear_from(&mut self, next: u64, units: u64) {
        let end = (next + units).min(self.head + UNITS);
        for unit in self.clear.max(next)..end {
            self.slots.word(unit).store(0, Ordering::Relaxed);
        }
        self.clear = self.clear.max(end);
    }

    /// Copies a payload of one span to `skip` bytes behind the tail, if the ring does not end before the
    /// payload: the bytes in the first unit last.
    #[inline]
    fn put_one(&self, skip: usize, span: &Span) {
        let length = span.len();
        let near = length.min(UNIT - skip);
        let Some(from) = span.pointer(span.address(), length as u64) else { return };
        let to = self.slots.segment.ring(self.slots.direction).wrapping_add(offset(self.tail));
        // SAFETY: the caller checked that the payload ends inside of the ring, which is mapped; `from`
        // points to `length` bytes of the span, which its maker keeps valid.
        unsafe { copy(from.wrapping_add(near), to.wrapping_add(UNIT), length - near) };
        // SAFETY: as for the other bytes.
        unsafe { copy(from, to.wrapping_add(skip), near) };
    }

    /// Copies any payload of `length` bytes to `skip` bytes behind the tail: the bytes in the first unit
    /// last.
    #[inline(never)]
    fn put(&self, skip: usize, payload: &[Span], length: usize) {
        let near = length.min(UNIT - skip);
        self.put_range(skip, payload, near..length);
        self.put_range(skip, payload, 0..near);
    }

    /// Copies a range of the payload, which begins `skip` bytes behind the tail.
    fn put_range(&self, skip: usize, payload: &[Span], range: Range<usize>) {
        let mut at = 0;
        for span in payload {
            let start = range.start.clamp(at, at + span.len());
            let length = range.end.clamp(start, at + span.len()) - start;
            if length > 0 {
                let from = span.address() + (start - at) as u64;
                if let Some(from) = span.pointer(from, length as u64) {
                    self.put_bytes(skip + start, from, length);
                }
            }
            at += span.len();
        }
    }

    /// Copies bytes of a span to `skip` bytes behind the tail.
    #[inline]
    fn put_bytes(&self, skip: usize, from: *const u8, length: usize) {
        let [(to, first), (start, rest)] = self.slots.parts(self.tail, skip, length);
        // SAFETY: both parts are inside the mapping, and `from` points to `first + rest` bytes of a span,
        // which its maker keeps valid.
        unsafe { copy(from, to, first) };
        if rest > 0 {
            // SAFETY: as for the first part.
            unsafe { copy(from.wrapping_add(first), start, rest) };
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
        let signals = ConsumerSignals::new(segment.signals(direction));
        Self { slots, signals, head: 0, released: 0 }
    }

    /// Says what it waits for. Returns whether a frame is there that may not be announced.
    pub(crate) fn arm(&mut self, armed: Armed) -> bool {
        self.signals.arm(self.slots.segment.signals(self.slots.direction), armed);
        self.slots.word(self.head).load(Ordering::Acquire) != 0
    }

    /// The next frame, if there is one.
    ///
    /// # Errors
    /// The peer did not store a frame.
    #[inline]
    pub(crate) fn next(&self) -> Result<Option<Found>, Malformed> {
        let unit = self.slots.unit(self.head);
        let total = unit[0].load(Ordering::Acquire);
        if total == 0 {
            return Ok(None);
        }
        prefetch(self.slots.unit(self.head + 1));
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        if !(SHORTEST..=LONGEST).contains(&total) {
            return Err(Malformed::Length(0));
        }
        let bytes = load_head(unit);
        let given = bytes.get(..total - WORD).unwrap_or(&bytes);
        let (frame, head) = frame::decode(given)?.ok_or(Malformed::Length(0))?;
        let payload = frame.payload() as usize;
        if WORD + head + payload != total {
            return Err(Malformed::Length(0));
        }
        Ok(Some(Found { frame, before: payload_at(head, payload), payload }))
    }

    /// Copies the payload of a frame to its places, as far as they go. If `IN_ORDER`, the last bytes of each
    /// place are stored last.
    #[inline]
    pub(crate) fn take<const IN_ORDER: bool>(&self, found: &Found, places: &[Span]) {
        let copy = if IN_ORDER { copy_in_order } else { copy };
        let (mut at, mut left) = (found.before, found.payload);
        for place in places {
            let length = place.len().min(left);
            let Some(to) = place.pointer(place.address(), length as u64) else { return };
            let [(from, first), (start, rest)] = self.slots.parts(self.head, at, length);
            // SAFETY: both parts are inside the mapping, and `to` points to `first + rest` bytes of the
            // place, which its maker keeps valid.
            unsafe { copy(from, to, first) };
            if rest > 0 {
                // SAFETY: as for the first part.
                unsafe { copy(start, to.wrapping_add(first), rest) };
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
