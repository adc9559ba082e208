//! Slots by index, in chunks that never move, so that a lookup needs no lock.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::lock::Mutex;

use super::{HUGE, Pages, Size};

/// Types for which zeroed memory is a valid value.
///
/// # Safety
/// All-zero bytes must be a valid value of the type.
pub unsafe trait Zeroed: Send + Sync {}

/// Slots by index, zero until they are written. The first chunk has the size of a huge page, and
/// each further chunk has as many slots as all chunks before it.
///
/// Memory is used as slots are touched: in small pages up to the middle of the first chunk. From
/// there on, untouched huge pages hold at most as much as the slots in use.
pub struct Chunks<T> {
    /// By the highest bit of the chunk's indices: the address that a slot with index 0 would have
    /// if the chunk reached down to it, plus one byte, so that it is never null.
    bases: [AtomicPtr<u8>; u32::BITS as usize],
    /// The pages of the chunks, by the same number.
    made: Mutex<Vec<(usize, Pages)>>,
    slots: PhantomData<T>,
}

impl<T: Zeroed> Chunks<T> {
    /// Number of slots in the first chunk.
    const FIRST: u32 = {
        assert!(size_of::<T>().is_power_of_two() && size_of::<T>() < HUGE);
        assert!(!std::mem::needs_drop::<T>());
        (HUGE / size_of::<T>()) as u32
    };

    /// Creates a table without slots.
    #[must_use]
    pub const fn new() -> Self {
        let bases = [const { AtomicPtr::new(null_mut()) }; u32::BITS as usize];
        Self { bases, made: Mutex::new(Vec::new()), slots: PhantomData }
    }

    /// The slot of an index, if its chunk has been created.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        // Pairs with `add`.
        let base = self.bases[Self::chunk_of(index)].load(Ordering::Acquire);
        if base.is_null() {
            return None;
        }
        let slot = base.wrapping_byte_sub(1).cast::<T>().wrapping_add(index as usize);
        // SAFETY: no chunk is at address 0. Otherwise the compiler would test for null, which
        // encodes `None`.
        unsafe { std::hint::assert_unchecked(!slot.is_null()) };
        // SAFETY: the slot lies in its chunk, which lives as long as `self`. Its memory was zero,
        // which is a valid value of the type, and is accessed only through shared references.
        Some(unsafe { &*slot })
    }

    /// The slot of an index, whose chunk is created if necessary; `None` if the system has no
    /// memory for it.
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
        // Release: the pages are zero before they are found.
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

    // SAFETY: an atomic whose bytes are zero has the value 0.
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
