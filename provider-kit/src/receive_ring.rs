//! The ring that carries posted receives from the poster to the sender (`slots`).
//!
//! A receive with one segment takes half a cache line, because a store to a line that another processor holds is slow
//! and delays later stores. Other receives are stored outside of the slots.

use std::sync::OnceLock;

use dat_provider::flags::CompletionFlags;
use dat_provider::{Epoch, ReceiveRequest, Segment};
use dat_sync::{Lazy, prefetch};

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::{memory, slots};

/// A posted receive, without its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedReceive {
    /// The cookie of its completion.
    pub cookie: u64,
    /// Total length of the segments, in bytes.
    pub length: u64,
    /// True if its completion wakes no waiter.
    pub unsignalled: bool,
    /// The epoch in which its segments were checked.
    pub checked: u64,
}

/// The ring. Positions count from 0 and never wrap. A clone refers to the same slots.
#[derive(Clone)]
#[repr(C)]
pub struct ReceiveRing {
    slots: Slots,
}

/// Half a cache line.
#[repr(align(32))]
#[derive(Default)]
struct Slot {
    cookie: AtomicU64,
    address: AtomicU64,
    /// Length and key.
    extent: AtomicU64,
    /// From the lowest bit: epoch, unsignalled bit, special bit, mark.
    rest: AtomicU64,
}

/// Receives that do not fit a slot: those without exactly one segment of less than 4 GiB. The words are allocated for
/// the first such receive.
struct Special {
    words: OnceLock<Box<[AtomicU64]>>,
    /// Maximum number of segments of a receive; 0 for a ring without slots.
    segments: usize,
}

const EPOCHS: u64 = 1 << 37;
const UNSIGNALLED: u64 = EPOCHS;
const SPECIAL: u64 = 1 << 38;

type Slots = slots::Slots<Slot, Special, 39>;

/// Words of a special receive before its segments: total length, number of segments, epoch.
const HEAD: usize = 3;
/// Words of a segment.
const WORDS: usize = 3;

/// Number of slots that are prefetched ahead.
const AHEAD: u64 = 4;

impl ReceiveRing {
    /// A ring that holds no receives, for queue pairs without any.
    pub fn unallocated() -> Self {
        static UNALLOCATED: Lazy<ReceiveRing> = Lazy::new(|| ReceiveRing {
            slots: Slots::single(Special { words: OnceLock::new(), segments: 0 }),
        });
        UNALLOCATED.clone()
    }

    /// Returns true if this is the ring of [`unallocated`](Self::unallocated).
    pub fn is_unallocated(&self) -> bool {
        self.segments() == 0
    }

    /// Creates a ring for `capacity` receives of up to `segments` segments; `None` if there is no memory for it.
    pub fn new(capacity: u32, segments: u32) -> Option<Self> {
        let special = Special { words: OnceLock::new(), segments: (segments as usize).max(1) };
        Some(Self { slots: Slots::new(capacity as usize, special)? })
    }

    /// Maximum number of segments of a receive.
    pub fn segments(&self) -> usize {
        self.slots.beside().segments
    }

    /// Returns the words of a special receive, if any were allocated.
    fn words(&self, position: u64) -> Option<&[AtomicU64]> {
        let start = self.slots.index(position) * self.stride();
        self.slots.beside().words.get()?.get(start..start + self.stride())
    }

    /// Number of words of a special receive.
    fn stride(&self) -> usize {
        HEAD + self.segments() * WORDS
    }

    /// Allocates the words of special receives on first use; `None` if there is no memory.
    fn make_words(&self) -> Option<()> {
        let words = &self.slots.beside().words;
        if words.get().is_none() {
            // There is only one poster.
            let _ = words.set(memory::slice(self.slots.len().checked_mul(self.stride())?)?);
        }
        Some(())
    }

    /// Fills the slot of a position with at most [`segments`](Self::segments) segments. Only the poster calls this,
    /// once for each position in order, after the previous receive of the slot has ended. Returns false, without
    /// effect, if there is no memory for the segments.
    #[must_use]
    pub fn fill(&self, position: u64, posted: PostedReceive, segments: &[Segment]) -> bool {
        match segments {
            [segment] if posted.fits(segment) => {
                self.fill_single(position, posted, segment);
                true
            }
            _ => self.fill_special(position, posted, segments).is_some(),
        }
    }

    /// As [`fill`](Self::fill), with one segment that fits.
    #[inline(always)]
    pub fn fill_single(&self, position: u64, posted: PostedReceive, segment: &Segment) {
        let slot = self.slots.get(position);
        let &Segment { address, length, key } = segment;
        slot.address.store(address, Ordering::Relaxed);
        slot.extent.store((length << 32) | u64::from(key), Ordering::Relaxed);
        slot.finish(position, posted, posted.checked);
    }

    #[cold]
    fn fill_special(
        &self,
        position: u64,
        posted: PostedReceive,
        segments: &[Segment],
    ) -> Option<()> {
        self.make_words()?;
        let slot = self.slots.get(position);
        let head = [posted.length, segments.len() as u64, posted.checked];
        let each = segments.iter().flat_map(|one| [one.address, one.length, one.key.into()]);
        for (word, value) in self.words(position)?.iter().zip(head.into_iter().chain(each)) {
            word.store(value, Ordering::Relaxed);
        }
        slot.finish(position, posted, SPECIAL);
        Some(())
    }

    /// Returns true if the slot of a position is filled.
    #[inline]
    pub fn is_filled(&self, position: u64) -> bool {
        // Pairs with `finish`.
        Slots::is_filled(self.slots.get(position).rest.load(Ordering::Acquire), position)
    }

    /// Returns the receive of a position and its segment, if the slot is filled and holds the whole receive.
    #[inline(always)]
    pub fn get_single(&self, position: u64) -> Option<(PostedReceive, Segment)> {
        let slot = self.slots.get(position);
        // Pairs with `finish`.
        let rest = slot.rest.load(Ordering::Acquire);
        if (rest ^ Slots::mark(position)) & !(SPECIAL - 1) != 0 {
            return None;
        }
        let extent = slot.extent.load(Ordering::Relaxed);
        let posted = PostedReceive {
            cookie: slot.cookie.load(Ordering::Relaxed),
            length: extent >> 32,
            unsignalled: rest & UNSIGNALLED != 0,
            checked: rest & (EPOCHS - 1),
        };
        let address = slot.address.load(Ordering::Relaxed);
        Some((posted, Segment { address, length: extent >> 32, key: extent as u32 }))
    }

    /// Returns the receive of a position, its number of segments and the first segment, if the slot is filled.
    #[inline]
    pub fn get(&self, position: u64) -> Option<(PostedReceive, usize, Segment)> {
        match self.get_single(position) {
            Some((posted, segment)) => Some((posted, 1, segment)),
            None => self.get_special(position),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_special(&self, position: u64) -> Option<(PostedReceive, usize, Segment)> {
        let slot = self.slots.get(position);
        // Pairs with `finish`.
        let rest = slot.rest.load(Ordering::Acquire);
        if !Slots::is_filled(rest, position) {
            return None;
        }
        let (head, segments) = self.words(position)?.split_at(HEAD);
        let [length, count, checked] = [0, 1, 2].map(|word| head[word].load(Ordering::Relaxed));
        let cookie = slot.cookie.load(Ordering::Relaxed);
        let posted =
            PostedReceive { cookie, length, unsignalled: rest & UNSIGNALLED != 0, checked };
        Some((posted, count as usize, load(segments)))
    }

    /// Prefetches a receive some positions ahead.
    #[inline(always)]
    pub fn prefetch_after(&self, position: u64) {
        prefetch(self.slots.get(position + AHEAD));
    }

    /// Appends the `count` segments of a filled position to `into`.
    pub fn copy_segments(&self, position: u64, count: usize, into: &mut Vec<Segment>) {
        match self.get_single(position) {
            Some((_, segment)) => into.push(segment),
            None => {
                let segments = self.words(position).map_or(&[][..], |words| &words[HEAD..]);
                into.extend(segments.chunks_exact(WORDS).map(load).take(count));
            }
        }
    }

    /// Creates a ring of at least this size (receives, segments) with copies of the receives at these positions; `None`
    /// if there is no memory for it.
    pub fn enlarged(&self, positions: std::ops::Range<u64>, size: (u32, u32)) -> Option<Self> {
        let used = u32::try_from(positions.end - positions.start).unwrap_or(u32::MAX);
        let widest = u32::try_from(self.segments()).unwrap_or(u32::MAX);
        let next = Self::new(size.0.max(used), size.1.max(widest))?;
        let mut segments = Vec::new();
        for position in positions {
            let Some((posted, count, _)) = self.get(position) else { continue };
            segments.clear();
            self.copy_segments(position, count, &mut segments);
            if !next.fill(position, posted, &segments) {
                return None;
            }
        }
        Some(next)
    }
}

impl Slot {
    #[inline(always)]
    fn finish(&self, position: u64, posted: PostedReceive, rest: u64) {
        let unsignalled = if posted.unsignalled { UNSIGNALLED } else { 0 };
        self.cookie.store(posted.cookie, Ordering::Relaxed);
        // Release: a reader that sees the mark also sees the other words and all earlier stores.
        self.rest.store(rest | unsignalled | Slots::mark(position), Ordering::Release);
    }
}

impl PostedReceive {
    /// Returns true if the receive fits a slot, with this as its only segment.
    #[inline(always)]
    pub fn fits(&self, segment: &Segment) -> bool {
        segment.length <= u32::MAX.into() && self.checked < EPOCHS
    }

    /// The ring entry of a receive that is posted with one segment.
    #[inline(always)]
    #[must_use]
    pub fn with_one_segment(
        length: u64,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Self {
        let unsignalled = flags.contains(CompletionFlags::UNSIGNALLED);
        Self { cookie, length, unsignalled, checked: checked.number() }
    }

    /// The ring entry of a posted receive.
    #[inline]
    #[must_use]
    pub fn new(receive: &ReceiveRequest<'_>) -> Self {
        Self {
            cookie: receive.cookie,
            length: receive.segments.iter().fold(0, |sum, one| sum.saturating_add(one.length)),
            unsignalled: receive.flags.contains(CompletionFlags::UNSIGNALLED),
            checked: receive.checked.number(),
        }
    }
}

/// Decodes a segment from three words.
fn load(words: &[AtomicU64]) -> Segment {
    let [address, length, key] = [0, 1, 2].map(|word| words[word].load(Ordering::Relaxed));
    Segment { address, length, key: key as u32 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn segments(count: u64) -> Vec<Segment> {
        (0..count).map(|n| Segment { address: 1 << 40 | n, length: n + 1, key: 7 }).collect()
    }

    /// A receive for any position; the kinds alternate.
    fn receive(number: u64) -> (PostedReceive, Vec<Segment>) {
        let mut segments = segments(number % 5);
        let checked = if number % 7 == 0 { u64::MAX - number } else { number };
        if number % 3 == 0 && segments.len() == 1 {
            segments[0].length = 1 << 32 | number;
        }
        let length = segments.iter().map(|segment| segment.length).sum();
        let unsignalled = number % 2 == 0;
        (PostedReceive { cookie: u64::MAX - number, length, unsignalled, checked }, segments)
    }

    fn check(ring: &ReceiveRing, number: u64) {
        let (expected, segments) = receive(number);
        let (posted, count, first) = ring.get(number).expect("filled");
        assert_eq!((posted, count), (expected, segments.len()));
        if let Some(segment) = segments.first() {
            assert_eq!(first, *segment);
        }
        let mut found = Vec::new();
        ring.copy_segments(number, count, &mut found);
        assert_eq!(found, segments);
    }

    #[test]
    fn a_slot_returns_what_it_was_filled_with_in_every_round() {
        // More rounds than the mark distinguishes, starting in any of them.
        for start in [0, (1 << 24) - 500, 1 << 40] {
            let ring = ReceiveRing::new(3, 4).expect("memory");
            for number in start..start + 1000 {
                assert!(!ring.is_filled(number));
                assert_eq!(ring.get(number), None);
                let (posted, segments) = receive(number);
                assert!(ring.fill(number, posted, &segments));
                assert!(ring.is_filled(number));
                check(&ring, number);
            }
        }
    }

    #[test]
    fn a_larger_ring_has_the_same_receives() {
        let ring = ReceiveRing::new(4, 4).expect("memory");
        for number in 7..11 {
            let (posted, segments) = receive(number);
            assert!(ring.fill(number, posted, &segments));
        }
        for size in [(1, 1), (4, 4), (100, 9)] {
            let next = ring.enlarged(8..11, size).expect("memory");
            assert!(!next.is_filled(11));
            (8..11).for_each(|number| check(&next, number));
        }
    }
}
