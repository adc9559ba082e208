//! The slots of a ring between a producer and a consumer. Each slot holds a mark that says whether it is
//! filled.
//!
//! Locks ensure that there is one producer and one consumer at a time; they share only the slots. The
//! words of a slot are atomics, and the mark, which is stored last, orders them.
#![allow(unsafe_code, reason = "the slot of a position is found without a bounds check")]

use std::sync::Arc;

/// A power of two of slots. Positions count from 0 and never wrap. A clone refers to the same slots.
///
/// Bit `MARK` of the mark is set in every filled slot. The bits above it hold the low bits of the
/// position, which are enough to distinguish the rounds of a slot.
pub(crate) struct Slots<T, const MARK: u32>(Arc<[T]>);

impl<T, const MARK: u32> Clone for Slots<T, MARK> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default, const MARK: u32> Slots<T, MARK> {
    /// Maximum number of slots whose rounds the mark can distinguish.
    const MAX_SLOTS: usize = 1 << (u64::BITS - MARK - 2);

    /// At least `count` slots.
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, Self::MAX_SLOTS).next_power_of_two();
        Self((0..count).map(|_| T::default()).collect())
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The index of the slot of a position.
    #[inline(always)]
    pub(crate) fn index(&self, position: u64) -> usize {
        position as usize & self.0.len().wrapping_sub(1)
    }

    /// The slot of a position.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> &T {
        // SAFETY: the number of slots is a power of two and not 0, and `index` masks with it minus one.
        unsafe { self.0.get_unchecked(self.index(position)) }
    }

    /// The mark of a slot that is filled for a position.
    #[inline(always)]
    pub(crate) fn mark(position: u64) -> u64 {
        (position << 1 | 1) << MARK
    }

    /// Whether a slot with this mark is filled for a position.
    #[inline(always)]
    pub(crate) fn is_filled(mark: u64, position: u64) -> bool {
        (mark ^ Self::mark(position)) >> MARK == 0
    }
}
