//! The slots of a ring between a producer and a consumer. A mark in each slot indicates whether it is filled.
//!
//! Locks ensure that there is one producer and one consumer at a time; they share only the slots. The
//! words of a slot are atomics, and the mark, which is stored last, orders them.
#![allow(unsafe_code, reason = "the slot of a position is found without a bounds check")]

use std::ptr::NonNull;
use std::sync::Arc;

use crate::memory;

/// A power-of-two number of slots, and a value that is shared with them. Positions count from 0 and never wrap. Clones
/// refer to the same slots.
///
/// Bit `MARK` of the mark is set in every filled slot. The bits above it hold the low bits of the
/// position, which are enough to distinguish the rounds of a slot.
pub(crate) struct Slots<T, S, const MARK: u32> {
    /// The first slot.
    first: NonNull<T>,
    count: usize,
    shared: Arc<Shared<T, S>>,
}

struct Shared<T, S> {
    slots: Box<[T]>,
    beside: S,
}

// SAFETY: the address refers to the slots in the `Arc`, which is `Send` under these conditions.
unsafe impl<T: Send + Sync, S: Send + Sync, const MARK: u32> Send for Slots<T, S, MARK> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send + Sync, S: Send + Sync, const MARK: u32> Sync for Slots<T, S, MARK> {}

impl<T, S, const MARK: u32> Clone for Slots<T, S, MARK> {
    fn clone(&self) -> Self {
        Self { first: self.first, count: self.count, shared: Arc::clone(&self.shared) }
    }
}

impl<T: Default, S, const MARK: u32> Slots<T, S, MARK> {
    /// Maximum number of slots whose rounds the mark can distinguish.
    const MAX_SLOTS: usize = 1 << (u64::BITS - MARK - 2);

    /// Creates at least `count` slots; `None` if there is no memory for them.
    pub(crate) fn new(count: usize, beside: S) -> Option<Self> {
        let count = count.clamp(1, Self::MAX_SLOTS).next_power_of_two();
        Some(Self::of(memory::slice(count)?, beside))
    }

    /// Creates one slot.
    pub(crate) fn single(beside: S) -> Self {
        Self::of(Box::new([T::default()]), beside)
    }

    fn of(slots: Box<[T]>, beside: S) -> Self {
        let (count, shared) = (slots.len(), Arc::new(Shared { slots, beside }));
        Self { first: NonNull::from(&*shared.slots).cast(), count, shared }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The value that is shared with the slots.
    #[inline(always)]
    pub(crate) fn beside(&self) -> &S {
        &self.shared.beside
    }

    /// The index of the slot of a position.
    #[inline(always)]
    pub(crate) fn index(&self, position: u64) -> usize {
        position as usize & self.count.wrapping_sub(1)
    }

    /// The slot of a position.
    #[inline(always)]
    pub(crate) fn get(&self, position: u64) -> &T {
        // SAFETY: the number of slots is a power of two and not 0, and `index` masks with it minus one.
        let slot = unsafe { self.first.add(self.index(position)) };
        // SAFETY: the slot lies in the box that `shared` keeps, to which only shared references exist.
        unsafe { slot.as_ref() }
    }

    /// The mark of a slot that is filled for a position.
    #[inline(always)]
    pub(crate) fn mark(position: u64) -> u64 {
        (position << 1 | 1) << MARK
    }

    /// Returns true if a slot with this mark is filled for a position.
    #[inline(always)]
    pub(crate) fn is_filled(mark: u64, position: u64) -> bool {
        (mark ^ Self::mark(position)) >> MARK == 0
    }
}
