//! The slots of a ring from one thread to another, which say themselves whether they are filled.
//!
//! There is one producer and one taker at a time, by their locks; the slots are all that they
//! share. The words of a slot are atomics only to be shared: they are ordered by the last of them,
//! which is the mark.
#![allow(unsafe_code, reason = "the slot of a position is found without a bounds check")]

use std::sync::Arc;

/// Slots, as many as a power of two. Positions count from 0 and never wrap. A clone has the same
/// slots.
///
/// From bit `MARK` on, the mark of a slot says that it is filled at all, and above that for which
/// position: as much of it as there is place for, which is more than tells a slot's turns apart.
pub(crate) struct Slots<T, const MARK: u32>(Arc<[T]>);

impl<T, const MARK: u32> Clone for Slots<T, MARK> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default, const MARK: u32> Slots<T, MARK> {
    /// More could not be distinguished.
    const MOST: usize = 1 << (u64::BITS - MARK - 2);

    /// At least `count` slots.
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, Self::MOST).next_power_of_two();
        Self((0..count).map(|_| T::default()).collect())
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Which slot a position has.
    #[inline(always)]
    pub(crate) fn index(&self, position: u64) -> usize {
        position as usize & self.0.len().wrapping_sub(1)
    }

    /// The slot of a position.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> &T {
        // SAFETY: there is at least one slot, and their number is a power of two, so any index is
        // below it.
        unsafe { self.0.get_unchecked(self.index(position)) }
    }

    /// What the mark of a slot says when it is filled for a position.
    #[inline(always)]
    pub(crate) fn mark(position: u64) -> u64 {
        (position << 1 | 1) << MARK
    }

    /// Whether a slot with that mark is filled for a position.
    #[inline(always)]
    pub(crate) fn is_filled(mark: u64, position: u64) -> bool {
        (mark ^ Self::mark(position)) >> MARK == 0
    }
}
