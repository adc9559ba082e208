//! The producer of a ring.
#![allow(unsafe_code, reason = "the slots are memory by address")]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dat_provider::mem::Span;
use dat_provider_kit::fault::{Fault, copy};
use dat_provider_kit::frame::{AckHead, Frame, FrameError, MessageHead};

use super::{LONGEST, PART, Slots, WORD, offset, payload_at, units};
use crate::segment::{RING, Segment, UNIT, UNITS};
use crate::signals::{ProducerSignals, Wake};

/// The producer clears words at least this many units ahead,
const CLEAR_AHEAD: u64 = 16;
/// and at most this many more, so that it does not clear for every frame.
const CLEAR_MORE: u64 = 8;

/// The producer.
#[derive(Debug)]
pub(crate) struct Producer {
    pub(super) slots: Slots,
    signals: ProducerSignals,
    /// Number of units that were written.
    pub(super) tail: u64,
    /// Number of units that the consumer has released, when last read.
    head: u64,
    /// The first words of the units from `tail` up to this one (exclusive) are zero.
    clear: u64,
}

/// The result of storing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The frame is in the ring; `wake` says how to wake the consumer.
    Yes { wake: Wake },
    /// The ring lacks space. The consumer rings when it has released some.
    Full,
    /// The frame is not in the ring, because its payload is not readable.
    Unreadable,
}

impl Producer {
    pub(crate) fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let slots = Slots::new(segment, direction);
        let first = Segment::first_unit(direction);
        // A new ring is full of zeros.
        let clear = first + UNITS;
        Self { slots, signals: ProducerSignals::default(), tail: first, head: first, clear }
    }

    /// Returns true if the ring has space for this many units and the word after them.
    #[inline]
    fn has_room(&mut self, units: u64) -> Result<bool, FrameError> {
        if self.tail - self.head + units < UNITS { Ok(true) } else { self.update_head(units) }
    }

    /// Reads the consumer's position. Returns true if the ring has space for this many units.
    #[cold]
    fn update_head(&mut self, units: u64) -> Result<bool, FrameError> {
        let head = self.slots.signals().head();
        if head < self.head || head > self.tail {
            return Err(FrameError::Field(0));
        }
        self.head = head;
        Ok(self.tail - self.head + units < UNITS)
    }

    /// Number of bytes that were written, in whole units.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.tail.wrapping_mul(UNIT as u64)
    }

    /// Returns true if everything that was written is in the page of the words.
    pub(crate) fn is_near(&self) -> bool {
        Segment::is_near(self.slots.direction, self.tail)
    }

    /// Returns true if the consumer claims not to have released everything that was written.
    pub(crate) fn is_unread(&self) -> bool {
        // The consumer releases parts of the ring, and less than a part may be read and not released.
        self.tail.wrapping_sub(self.slots.signals().head()) >= 2 * PART
    }

    /// Returns true if the consumer polls the ring without a doorbell.
    pub(crate) fn is_polled(&self) -> bool {
        self.slots.signals().is_polled()
    }

    /// Returns true if the longest frame fits.
    ///
    /// # Errors
    /// The peer's words contradict each other.
    pub(crate) fn is_free(&mut self) -> Result<bool, FrameError> {
        self.has_room(units(LONGEST))
    }

    /// Stores a frame.
    ///
    /// # Errors
    /// The peer's words contradict each other, or the frame is too long.
    pub(crate) fn store(&mut self, frame: &Frame, payload: &[Span]) -> Result<Stored, FrameError> {
        let head = frame.encode();
        let words = head.words();
        let words = words.get(..head.len() / WORD).unwrap_or(&words);
        self.store_words(words, payload)
    }

    /// As [`store`](Self::store), for a message.
    ///
    /// # Errors
    /// As [`store`](Self::store).
    #[inline]
    pub(crate) fn store_message(
        &mut self,
        head: &MessageHead,
        payload: Span,
    ) -> Result<Stored, FrameError> {
        self.store_words(&head.words(), &[payload])
    }

    /// As [`store`](Self::store), for an acknowledgement.
    ///
    /// # Errors
    /// As [`store`](Self::store).
    #[inline]
    pub(crate) fn store_ack(&mut self, head: &AckHead) -> Result<Stored, FrameError> {
        self.store_words(&head.words(), &[])
    }

    #[inline(always)]
    fn store_words(&mut self, head: &[u64], payload: &[Span]) -> Result<Stored, FrameError> {
        let length = payload.iter().map(Span::len).sum::<usize>();
        let before = size_of_val(head);
        let total = WORD + before + length;
        if total > LONGEST {
            return Err(FrameError::Length(0));
        }
        let at = payload_at(before, length);
        let taken = units(at + length);
        if !self.has_room(taken + CLEAR_AHEAD)? && !self.has_room(taken)? {
            self.signals.starve(self.slots.signals());
            if !self.has_room(taken)? {
                return Ok(Stored::Full);
            }
        }
        let next = self.tail + taken;
        if self.clear <= next {
            self.clear_from(next, 1);
        }
        // The consumer polls the first unit, and each time takes its cache line from this processor. All stores to that
        // unit are therefore made at the end, close together.
        let put = match payload {
            [] => Ok(()),
            [span] if offset(self.tail) + at + length <= RING => self.put_one(at, span),
            _ => self.put(at, payload, length),
        };
        if put.is_err() {
            // Part of the payload has overwritten cleared words of the next units.
            self.clear = self.clear.min(self.tail + 1);
            return Ok(Stored::Unreadable);
        }
        let unit = self.slots.unit(self.tail);
        for (word, value) in unit[1..].iter().zip(head) {
            word.store(*value, Ordering::Relaxed);
        }
        // Release: pairs with `Consumer::next`. Payload, head, and the zero in the word after the frame come before it.
        unit[0].store(total as u64, Ordering::Release);
        self.tail = next;
        let wake = self.signals.stored(self.slots.signals());
        if self.clear < next + CLEAR_AHEAD {
            self.clear_from(next, CLEAR_AHEAD + CLEAR_MORE);
        }
        Ok(Stored::Yes { wake })
    }

    /// Clears the first words of units after a frame that ends before unit `next`.
    #[inline(never)]
    fn clear_from(&mut self, next: u64, units: u64) {
        let end = (next + units).min(self.head + UNITS);
        for unit in self.clear.max(next)..end {
            self.slots.word(unit).store(0, Ordering::Relaxed);
        }
        self.clear = self.clear.max(end);
    }

    /// Copies a payload of one span to `skip` bytes after the tail, if the payload does not wrap around; the bytes in
    /// the first unit last.
    #[inline]
    fn put_one(&self, skip: usize, span: &Span) -> Result<(), Fault> {
        let length = span.len();
        let near = length.min(UNIT - skip);
        let Some(from) = span.pointer(span.address(), length as u64) else { return Ok(()) };
        let to = self.slots.address(self.tail);
        // SAFETY: the caller checked that the payload ends inside of the ring, which is mapped; `from`
        // points to `length` bytes of the span, which its maker keeps valid.
        unsafe { copy(from.wrapping_add(near), to.wrapping_add(UNIT), length - near) }?;
        // SAFETY: as for the other bytes.
        unsafe { copy(from, to.wrapping_add(skip), near) }
    }

    /// Copies a payload of `length` bytes to `skip` bytes after the tail; the bytes in the first unit last.
    #[inline(never)]
    fn put(&self, skip: usize, payload: &[Span], length: usize) -> Result<(), Fault> {
        let near = length.min(UNIT - skip);
        self.put_range(skip, payload, near..length)?;
        self.put_range(skip, payload, 0..near)
    }

    /// Copies a range of the payload, which begins `skip` bytes after the tail.
    fn put_range(&self, skip: usize, payload: &[Span], range: Range<usize>) -> Result<(), Fault> {
        let mut at = 0;
        for span in payload {
            let start = range.start.clamp(at, at + span.len());
            let length = range.end.clamp(start, at + span.len()) - start;
            if length > 0 {
                let from = span.address() + (start - at) as u64;
                if let Some(from) = span.pointer(from, length as u64) {
                    self.put_bytes(skip + start, from, length)?;
                }
            }
            at += span.len();
        }
        Ok(())
    }

    /// Copies bytes of a span to `skip` bytes after the tail.
    #[inline]
    fn put_bytes(&self, skip: usize, from: *const u8, length: usize) -> Result<(), Fault> {
        let [(to, first), (start, rest)] = self.slots.parts(self.tail, skip, length);
        // SAFETY: both parts are inside the mapping, and `from` points to `first + rest` bytes of a span,
        // which its maker keeps valid.
        unsafe { copy(from, to, first) }?;
        if rest > 0 {
            // SAFETY: as for the first part.
            unsafe { copy(from.wrapping_add(first), start, rest) }?;
        }
        Ok(())
    }
}
