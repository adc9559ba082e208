//! Posted receives on their way from who posts them to who sends: a ring whose slots say
//! themselves whether they are filled.
//!
//! There is one producer and one taker at a time, by their locks; the slots are all that they
//! share. The words of a slot are atomics only to be shared: they are ordered by its number.

use std::sync::{Arc, LazyLock};

use dat_core::mem::prefetch;
use dat_core::provider::Segment;

use crate::sync::atomic::{AtomicU64, Ordering};

/// A posted receive; its segments are beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) cookie: u64,
    /// The bytes of all segments together.
    pub(crate) length: u64,
    pub(crate) unsignalled: bool,
    /// The epoch in which its segments were checked.
    pub(crate) checked: u64,
}

/// The slots; positions count from 0 and never wrap. A clone has the same slots.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct ReceiveRing {
    /// As many as a power of two; or none.
    slots: Arc<[Slot]>,
    more: Arc<More>,
}

/// The segments after the first: so many of each slot, in three words each.
struct More {
    words: Box<[AtomicU64]>,
    stride: usize,
}

/// One cache line, with the first segment.
#[repr(align(64))]
#[derive(Default)]
struct Slot {
    /// The position that the slot is filled for, and 1.
    filled: AtomicU64,
    cookie: AtomicU64,
    length: AtomicU64,
    /// Twice the number of segments, and whether the receive is unsignalled.
    shape: AtomicU64,
    address: AtomicU64,
    first: AtomicU64,
    key: AtomicU64,
    checked: AtomicU64,
}

const UNSIGNALLED: u64 = 1;
const WORDS: usize = 3;
const AHEAD: u64 = 2;

impl ReceiveRing {
    /// No ring: there is no receive in it, and no place for one.
    pub(crate) fn none() -> Self {
        static NONE: LazyLock<ReceiveRing> = LazyLock::new(|| ReceiveRing {
            slots: Arc::new([]),
            more: Arc::new(More { words: Box::new([]), stride: 0 }),
        });
        NONE.clone()
    }

    /// Whether this is none.
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.slots.is_empty()
    }

    /// A ring for so many receives of so many segments.
    pub(crate) fn new(capacity: u32, segments: u32) -> Self {
        let count = (capacity as usize).max(1).next_power_of_two();
        let stride = (segments as usize).saturating_sub(1);
        Self {
            slots: (0..count).map(|_| Slot::default()).collect(),
            more: Arc::new(More {
                words: (0..count * stride * WORDS).map(|_| AtomicU64::new(0)).collect(),
                stride,
            }),
        }
    }

    /// How many segments a receive can have.
    pub(crate) fn segments(&self) -> usize {
        self.more.stride + 1
    }

    #[inline(always)]
    fn index(&self, position: u64) -> usize {
        position as usize & self.slots.len().wrapping_sub(1)
    }

    /// The words of the segments after the first.
    fn more(&self, position: u64) -> impl Iterator<Item = &[AtomicU64]> {
        let More { words, stride } = &*self.more;
        let start = self.index(position) * stride * WORDS;
        words[start..start + stride * WORDS].chunks_exact(WORDS)
    }

    /// Fills the slot of a position. Only the producer calls this, once for every position in
    /// turn, when what the slot had before is over, and with no more segments than there is
    /// place for.
    #[inline(always)]
    pub(crate) fn fill(&self, position: u64, posted: Posted, segments: &[Segment]) {
        let Some(slot) = self.slots.get(self.index(position)) else { return };
        let unsignalled = if posted.unsignalled { UNSIGNALLED } else { 0 };
        slot.cookie.store(posted.cookie, Ordering::Relaxed);
        slot.length.store(posted.length, Ordering::Relaxed);
        slot.shape.store((segments.len() as u64) << 1 | unsignalled, Ordering::Relaxed);
        slot.checked.store(posted.checked, Ordering::Relaxed);
        if let [first, rest @ ..] = segments {
            slot.address.store(first.address, Ordering::Relaxed);
            slot.first.store(first.length, Ordering::Relaxed);
            slot.key.store(first.key.into(), Ordering::Relaxed);
            if !rest.is_empty() {
                self.fill_more(position, rest);
            }
        }
        // Release: who sees the number sees the words, and all that came before them.
        slot.filled.store(position + 1, Ordering::Release);
    }

    fn fill_more(&self, position: u64, segments: &[Segment]) {
        for (words, segment) in self.more(position).zip(segments) {
            let values = [segment.address, segment.length, segment.key.into()];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
        }
    }

    /// Whether the slot of a position is filled.
    #[inline]
    pub(crate) fn is_filled(&self, position: u64) -> bool {
        let slot = self.slots.get(self.index(position));
        slot.is_some_and(|slot| slot.filled.load(Ordering::Acquire) == position + 1)
    }

    /// The receive of a position, how many segments it has, and the first of them, if the slot
    /// is filled.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> Option<(Posted, usize, Segment)> {
        let slot = self.slots.get(self.index(position))?;
        if slot.filled.load(Ordering::Acquire) != position + 1 {
            return None;
        }
        let shape = slot.shape.load(Ordering::Relaxed);
        let posted = Posted {
            cookie: slot.cookie.load(Ordering::Relaxed),
            length: slot.length.load(Ordering::Relaxed),
            unsignalled: shape & UNSIGNALLED != 0,
            checked: slot.checked.load(Ordering::Relaxed),
        };
        let first = Segment {
            address: slot.address.load(Ordering::Relaxed),
            length: slot.first.load(Ordering::Relaxed),
            key: slot.key.load(Ordering::Relaxed) as u32,
        };
        Some((posted, (shape >> 1) as usize, first))
    }

    /// Has the processor bring the receives near that come after a position.
    #[inline(always)]
    pub(crate) fn expect_after(&self, position: u64) {
        if let Some(slot) = self.slots.get(self.index(position + AHEAD)) {
            prefetch(slot);
        }
    }

    /// Puts so many segments of a filled position into a vector that is empty.
    pub(crate) fn collect(&self, position: u64, count: usize, into: &mut Vec<Segment>) {
        let Some((_, _, first)) = self.get(position) else { return };
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let rest = self.more(position).map(|words| Segment {
            address: load(&words[0]),
            length: load(&words[1]),
            key: load(&words[2]) as u32,
        });
        into.extend(std::iter::once(first).chain(rest).take(count));
    }

    /// A copy of the receives of those positions in a ring of at least that size.
    pub(crate) fn enlarged(&self, positions: std::ops::Range<u64>, size: (u32, u32)) -> Self {
        let used = u32::try_from(positions.end - positions.start).unwrap_or(u32::MAX);
        let widest = u32::try_from(self.segments()).unwrap_or(u32::MAX);
        let next = Self::new(size.0.max(used), size.1.max(widest));
        let mut segments = Vec::new();
        for position in positions {
            let Some((posted, count, _)) = self.get(position) else { continue };
            segments.clear();
            self.collect(position, count, &mut segments);
            next.fill(position, posted, &segments);
        }
        next
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn segments(count: u64) -> Vec<Segment> {
        (0..count).map(|n| Segment { address: 1 << 40 | n, length: n, key: 7 }).collect()
    }

    fn receive(number: u64) -> (Posted, Vec<Segment>) {
        let posted = Posted {
            cookie: u64::MAX - number,
            length: number * 3,
            unsignalled: number % 2 == 0,
            checked: number << 33,
        };
        (posted, segments(number % 5))
    }

    fn check(ring: &ReceiveRing, number: u64) {
        let (expected, segments) = receive(number);
        let (posted, count, _) = ring.get(number).expect("filled");
        assert_eq!((posted, count), (expected, segments.len()));
        let mut found = Vec::new();
        ring.collect(number, count, &mut found);
        assert_eq!(found, segments);
    }

    #[test]
    fn a_slot_gives_back_what_it_was_filled_with() {
        let ring = ReceiveRing::new(3, 4);
        for number in 0..40 {
            assert!(!ring.is_filled(number));
            let (posted, segments) = receive(number);
            ring.fill(number, posted, &segments);
            check(&ring, number);
        }
    }

    #[test]
    fn a_larger_ring_has_the_same_receives() {
        let ring = ReceiveRing::new(4, 4);
        for number in 7..11 {
            let (posted, segments) = receive(number);
            ring.fill(number, posted, &segments);
        }
        for size in [(1, 1), (4, 4), (100, 9)] {
            let next = ring.enlarged(8..11, size);
            assert!(!next.is_filled(11));
            (8..11).for_each(|number| check(&next, number));
        }
    }
}
