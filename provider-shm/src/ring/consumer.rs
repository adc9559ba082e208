//! The consumer of a ring.
#![allow(unsafe_code, reason = "the slots are memory by address")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dat_provider::mem::Span;
use dat_provider_kit::fault::{Fault, copy_in_order};
use dat_provider_kit::frame::{self, Frame, FrameError, MAX_HEAD, MessageHead};
use dat_provider_kit::link::Armed;
use dat_sync::prefetch;

use super::{LONGEST, PART, PIECE, Slots, Unit, WORD, offset, payload_at, units};
use crate::segment::{RING, Segment, UNIT};
use crate::signals::ConsumerSignals;
use crate::sync::AtomicU32;

/// Minimum length of a frame, in bytes.
const SHORTEST: usize = WORD + 24;

/// The consumer.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(super) slots: Slots,
    signals: ConsumerSignals,
    /// Number of units that were read, and number of those that were released.
    pub(super) head: u64,
    released: u64,
}

/// A frame at the head of the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) frame: Frame,
    /// Number of bytes before the payload, and of the payload.
    before: usize,
    payload: usize,
}

impl Found {
    /// Its length in the ring, in bytes.
    pub(crate) fn length(&self) -> usize {
        self.before + self.payload
    }

    /// Number of bytes of its payload.
    pub(crate) fn payload(&self) -> usize {
        self.payload
    }
}

impl Consumer {
    pub(crate) fn new(segment: &Arc<Segment>, direction: usize) -> Self {
        let slots = Slots::new(segment, direction);
        let first = Segment::first_unit(direction);
        Self { slots, signals: ConsumerSignals::default(), head: first, released: first }
    }

    /// Number of bytes that were read, in whole units.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.head.wrapping_mul(UNIT as u64)
    }

    /// Returns true if everything that was read was in the page of the words.
    pub(crate) fn is_near(&self) -> bool {
        Segment::is_near(self.slots.direction, self.head)
    }

    /// Announces the event that this side awaits. Returns true if a frame may have been stored unannounced.
    pub(crate) fn arm(&mut self, armed: Armed) -> bool {
        self.signals.arm(self.slots.signals(), armed);
        !self.is_empty()
    }

    /// The word that the producer changes when it wakes a thread by it.
    pub(crate) fn wake_ups(&self) -> &AtomicU32 {
        self.slots.signals().wake_ups()
    }

    /// Returns true if there is no frame.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Pairs with the last store of the producer.
        self.slots.word(self.head).load(Ordering::Acquire) == 0
    }

    /// The address of the next frame.
    #[inline]
    pub(crate) fn place(&self) -> *mut u8 {
        self.slots.address(self.head)
    }

    /// Returns the first word of the next frame, if there is one.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        let unit = self.slots.unit(self.head);
        // So that both lines of a short message are being fetched once the producer has stored it.
        prefetch(self.slots.unit(self.head + 1));
        // Acquire: pairs with the last store of the producer.
        let total = unit[0].load(Ordering::Acquire);
        (total != 0).then_some(total)
    }

    /// Returns the next frame, if there is one.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub(crate) fn next_frame(&self) -> Result<Option<Found>, FrameError> {
        self.next().map(|total| self.frame(total)).transpose()
    }

    /// The first words of the head of the next frame.
    #[inline]
    pub(crate) fn head(&self) -> [u64; 3] {
        let [_, first, second, third, ..] = self.slots.unit(self.head);
        [first, second, third].map(|word| word.load(Ordering::Relaxed))
    }

    /// Returns the bytes of the next frame, which has this first word and is this message, and the length of the frame
    /// in the ring, in bytes; `None` if the message has several frames, or continues at the start of the ring.
    #[inline]
    pub(crate) fn payload(&self, total: u64, head: &MessageHead) -> Option<(Span, usize)> {
        if head.length > PIECE || total != (WORD + MessageHead::LEN) as u64 + head.length {
            return None;
        }
        let payload = head.length as usize;
        let before = payload_at(MessageHead::LEN, payload);
        let at = offset(self.head) + before;
        if at + payload > RING {
            return None;
        }
        let base = NonNull::new(self.slots.base.wrapping_add(at))?;
        // SAFETY: the bytes are inside of the mapping, which lives as long as `self`. Nothing registers the span,
        // and its receiver only copies from it during a call.
        Some((unsafe { Span::new(base, payload) }, before + payload))
    }

    /// Returns the next frame, which has this first word.
    ///
    /// # Errors
    /// The data is not a frame.
    pub(crate) fn frame(&self, total: u64) -> Result<Found, FrameError> {
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        if !(SHORTEST..=LONGEST).contains(&total) {
            return Err(FrameError::Length(0));
        }
        let bytes = load_head(self.slots.unit(self.head));
        let given = bytes.get(..total - WORD).unwrap_or(&bytes);
        let (frame, head) = frame::decode(given)?.ok_or(FrameError::Length(0))?;
        let payload = frame.payload_within(PIECE) as usize;
        if WORD + head + payload != total {
            return Err(FrameError::Length(0));
        }
        Ok(Found { frame, before: payload_at(head, payload), payload })
    }

    /// Copies the payload of a frame to its destinations, up to their length, and the last bytes of each one last.
    ///
    /// # Errors
    /// A destination is not writable.
    pub(crate) fn take(&self, found: &Found, places: &[Span]) -> Result<(), Fault> {
        let (mut at, mut left) = (found.before, found.payload);
        for place in places {
            let length = place.len().min(left);
            let Some(to) = place.pointer(place.address(), length as u64) else {
                return Ok(());
            };
            let [(from, first), (start, rest)] = self.slots.parts(self.head, at, length);
            // SAFETY: both parts are inside the mapping, and `to` points to `first + rest` bytes of the
            // place, which its maker keeps valid.
            unsafe { copy_in_order(from, to, first) }?;
            if rest > 0 {
                // SAFETY: as for the first part.
                unsafe { copy_in_order(start, to.wrapping_add(first), rest) }?;
            }
            at += length;
            left -= length;
        }
        Ok(())
    }

    /// Advances past a frame of this length in the ring. Returns true if the producer must be rung for.
    #[inline]
    pub(crate) fn pass(&mut self, length: usize) -> bool {
        self.head += units(length);
        let gives = self.head - self.released >= PART;
        gives && self.release()
    }

    fn release(&mut self) -> bool {
        self.released = self.head;
        self.signals.release(self.slots.signals(), self.head)
    }
}

/// Copies the bytes of a unit after its first word into private memory.
#[inline]
fn load_head(unit: &Unit) -> [u8; MAX_HEAD] {
    let mut head = [0; MAX_HEAD];
    for (word, bytes) in unit[1..].iter().zip(head.chunks_exact_mut(WORD)) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    head
}
