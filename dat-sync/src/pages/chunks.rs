//! Slots by index, in chunks that are never moved, so that they are found without a lock.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::{Mutex, const_mutex};

use super::{HUGE, Pages, Size};

/// What zeroed memory can be taken for.
///
/// # Safety
/// Bytes that are all zero must be a value of the type.
pub unsafe trait Zeroed: Send + Sync {}

/// Slots by index, zero until they are written. The chunk of the first ones is as large as a huge
/// page, each one after it as large as all before together.
///
/// Memory is taken as the slots are touched: page by page up to the middle of the first chunk, from
/// where on huge pages hold as much as the slots before at the most.
pub struct Chunks<T> {
    /// By the highest bit of the chunk's indices: where a slot of index 0 would lie before the
    /// chunk, and a byte on, so that it is never null.
    bases: [AtomicPtr<u8>; u32::BITS as usize],
    /// What keeps the chunks, by the same number.
    made: Mutex<Vec<(usize, Pages)>>,
    slots: PhantomData<T>,
}

impl<T: Zeroed> Chunks<T> {
    /// Slots of the first chunk.
    const FIRST: u32 = {
        assert!(size_of::<T>().is_power_of_two() && size_of::<T>() < HUGE);
        assert!(!std::mem::needs_drop::<T>());
        (HUGE / size_of::<T>()) as u32
    };

    /// No slot yet.
    #[must_use]
    pub const fn new() -> Self {
        let bases = [const { AtomicPtr::new(null_mut()) }; u32::BITS as usize];
        Self { bases, made: const_mutex(Vec::new()), slots: PhantomData }
    }

    /// The slot of an index, if its chunk was made.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        let base = self.bases[Self::chunk_of(index)].load(Ordering::Acquire);
        if base.is_null() {
            return None;
        }
        let slot = base.wrapping_byte_sub(1).cast::<T>().wrapping_add(index as usize);
        // SAFETY: no chunk is at address 0. The compiler would look for it, to tell it from `None`.
        unsafe { std::hint::assert_unchecked(!slot.is_null()) };
        // SAFETY: the slot is in the chunk, which stays as long as this, was zero, which is a value
        // of the type, and is reached by shared references only.
        Some(unsafe { &*slot })
    }

    /// The slot of an index; nothing where the system has no memory for its chunk.
    pub fn make(&self, index: u32) -> Option<&T> {
        if self.get(index).is_none() {
            self.add(Self::chunk_of(index))?;
        }
        if index == Self::FIRST / 2 {
            let made = self.made.lock();
            made.iter()
                .filter(|(chunk, _)| *chunk == Self::chunk_of(0))
                .for_each(|(_, it)| it.collapse());
        }
        self.get(index)
    }

    #[inline(always)]
    fn chunk_of(index: u32) -> usize {
        (index | (Self::FIRST - 1)).ilog2() as usize
    }

    fn add(&self, chunk: usize) -> Option<()> {
        let mut made = self.made.lock();
        if made.iter().any(|(other, _)| *other == chunk) {
            return Some(());
        }
        let (first, count, size) = match chunk == Self::chunk_of(0) {
            true => (0, Self::FIRST as usize, Size::Small),
            false => (1_usize << chunk, 1_usize << chunk, Size::Huge),
        };
        let pages = Pages::zeroed(count.checked_mul(size_of::<T>())?, size)?;
        let base = pages.base().as_ptr().cast::<T>().wrapping_sub(first);
        made.push((chunk, pages));
        self.bases[chunk].store(base.cast::<u8>().wrapping_byte_add(1), Ordering::Release);
        Some(())
    }
}

impl<T: Zeroed> Default for Chunks<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Chunks<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunks({:?})", self.made.lock())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[repr(align(32))]
    struct Slot(AtomicU64);

    // SAFETY: an atomic of zero bytes is 0.
    unsafe impl Zeroed for Slot {}

    const FIRST: u32 = 1 << 16;

    #[test]
    fn slots_are_apart_zero_at_first_and_stay_where_they_are() {
        let chunks = Chunks::<Slot>::new();
        let some =
            |index: &u32| index % 997 == 0 || index.is_power_of_two() || index % FIRST > FIRST - 3;
        let chosen: Vec<u32> = (0..4 * FIRST).filter(some).collect();
        for &index in &chosen {
            let slot = chunks.make(index).expect("memory");
            assert_eq!(slot.0.swap(u64::from(index) + 1, Ordering::Relaxed), 0, "{index}");
            assert_eq!(std::ptr::from_ref(slot).addr() % 32, 0);
        }
        for &index in &chosen {
            let slot = chunks.get(index).expect("made");
            assert_eq!(slot.0.load(Ordering::Relaxed), u64::from(index) + 1);
        }
    }

    #[test]
    fn slots_of_chunks_that_were_not_made_are_not_there() {
        let chunks = Chunks::<Slot>::new();
        assert!(chunks.get(0).is_none());
        assert!(chunks.make(FIRST + 5).is_some());
        assert!(chunks.get(FIRST - 1).is_none() && chunks.get(2 * FIRST).is_none());
        assert!(chunks.get(FIRST).is_some() && chunks.get(2 * FIRST - 1).is_some());
        assert!(chunks.get(u32::MAX).is_none());
    }
}
