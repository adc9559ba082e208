//! A slab allocator for objects of a few cache lines.
//!
//! A general-purpose allocator spreads objects of one kind over small pages, so access to thousands
//! of them in random order causes a TLB miss for each. Here they lie on pages like those of
//! [`Chunks`](super::Chunks), and start at a cache line.

use std::ptr::{NonNull, null_mut};

use crate::lock::{ProcessLock, Rank};

use super::{HUGE, Pages, Size};

/// Distance, in bytes, at which words of different threads do not share a cache line. Some processors of arm64, and those
/// of POWER, have lines of 128 bytes; on x86-64, the few words that need it are padded to pairs of lines where they are.
pub const CACHE_LINE: usize =
    if cfg!(any(target_arch = "aarch64", target_arch = "powerpc64")) { 128 } else { 64 };

/// A field without a size, which aligns its struct to [`CACHE_LINE`].
#[cfg_attr(any(target_arch = "aarch64", target_arch = "powerpc64"), repr(align(128)))]
#[cfg_attr(not(any(target_arch = "aarch64", target_arch = "powerpc64")), repr(align(64)))]
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheLineAligned;

const _: () = assert!(align_of::<CacheLineAligned>() == CACHE_LINE);
const _: () = assert!(size_of::<CacheLineAligned>() == 0);

/// Maximum size of an object in cache lines.
pub(crate) const MAX_LINES: usize = 64;

/// Size of a mapping in bytes if the system does not have memory for a huge page.
const FALLBACK_MAPPING: usize = 64 << 10;

/// Maximum size of one mapping in bytes.
const MAX_MAPPING: usize = 64 << 20;

/// A free slot holds the next free one of the same size.
struct Free(Option<NonNull<Free>>);

struct Slab {
    /// The first free slot, by its size in cache lines.
    free: [Option<NonNull<Free>>; MAX_LINES + 1],
    /// The unused part of the last mapping: its start and its end.
    fresh: *mut u8,
    end: *mut u8,
    /// The address in the first mapping from which on it is worth a huge page.
    middle: *mut u8,
    /// Number of cache lines in use.
    taken: usize,
    pages: Vec<Pages>,
}

// SAFETY: the addresses point into memory that this allocator owns, or that is free.
unsafe impl Send for Slab {}

static SLAB: ProcessLock<Slab> = ProcessLock::new(Rank::Slab, Slab::new());

/// Allocates a slot of this many cache lines, at most [`MAX_LINES`]. Its contents are undefined. `None` if the
/// system has no memory.
pub(crate) fn take(lines: usize) -> Option<NonNull<u8>> {
    debug_assert!((1..=MAX_LINES).contains(&lines));
    SLAB.lock().take(lines)
}

/// Number of bytes in slots that are in use.
#[must_use]
pub fn slab_bytes() -> usize {
    SLAB.lock().taken * CACHE_LINE
}

/// Frees a slot.
///
/// # Safety
/// It was [taken](take) with the same number of lines, and is not used any more.
pub(crate) unsafe fn free(slot: NonNull<u8>, lines: usize) {
    // SAFETY: the caller's guarantees are those that this method requires.
    unsafe { SLAB.lock().free(slot, lines) };
}

impl Slab {
    const fn new() -> Self {
        let (null, free) = (null_mut(), [None; MAX_LINES + 1]);
        Self { free, fresh: null, end: null, middle: null, taken: 0, pages: Vec::new() }
    }

    fn take(&mut self, lines: usize) -> Option<NonNull<u8>> {
        let slot = match self.free[lines] {
            Some(first) => {
                // SAFETY: the slot is free, so it holds what `free` has written there.
                self.free[lines] = unsafe { first.as_ref() }.0;
                first.cast()
            }
            None => self.open(lines * CACHE_LINE)?,
        };
        self.taken += lines;
        Some(slot)
    }

    /// Allocates a slot from the unused part of the last mapping.
    fn open(&mut self, len: usize) -> Option<NonNull<u8>> {
        if self.end.addr() - self.fresh.addr() < len {
            self.map()?;
        }
        let slot = self.fresh;
        self.fresh = slot.wrapping_add(len);
        if (slot.addr()..self.fresh.addr()).contains(&self.middle.addr()) {
            self.pages[0].collapse();
        }
        // The rest of the former mapping is left unused.
        NonNull::new(slot)
    }

    /// Maps as much as all mappings before, so that there are few of them.
    fn map(&mut self) -> Option<()> {
        let before: usize = self.pages.iter().map(Pages::len).sum();
        let size = if before == 0 { Size::Small } else { Size::Huge };
        let pages = Pages::zeroed((before & !(HUGE - 1)).clamp(HUGE, MAX_MAPPING), size)
            .or_else(|| Pages::zeroed(FALLBACK_MAPPING, Size::Small))?;
        self.pages.push(pages);
        self.begin_last();
        Some(())
    }

    /// Allocates from the last mapping from now on.
    fn begin_last(&mut self) {
        let Some(last) = self.pages.last() else { return };
        self.fresh = last.base().as_ptr();
        self.end = self.fresh.wrapping_add(last.len());
        let first = self.pages.len() == 1 && last.len() == HUGE;
        self.middle = if first { self.fresh.wrapping_add(HUGE / 2) } else { null_mut() };
    }

    /// # Safety
    /// As for [`free`].
    unsafe fn free(&mut self, slot: NonNull<u8>, lines: usize) {
        let slot = slot.cast::<Free>();
        // SAFETY: the slot has at least one cache line, is aligned to one, and is not used by any
        // code.
        unsafe { slot.write(Free(self.free[lines])) };
        self.free[lines] = Some(slot);
        self.taken -= lines;
        if self.taken == 0 && self.pages.len() > 1 {
            // After a peak, the memory goes back to the system once all slots are free.
            self.free = [None; MAX_LINES + 1];
            self.pages.truncate(1);
            self.begin_last();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Takes a slot and fills it.
    fn fill(slab: &mut Slab, lines: usize, with: u8) -> NonNull<u8> {
        let slot = slab.take(lines).expect("memory");
        assert_eq!(slot.as_ptr().addr() % CACHE_LINE, 0);
        // SAFETY: the slot has this many bytes and only this test uses it.
        unsafe { slot.write_bytes(with, lines * CACHE_LINE) };
        slot
    }

    fn holds(slot: NonNull<u8>, lines: usize, with: u8) -> bool {
        // SAFETY: all bytes of the slot were written above, and only this test uses it.
        let bytes = unsafe { std::slice::from_raw_parts(slot.as_ptr(), lines * CACHE_LINE) };
        bytes.iter().all(|byte| *byte == with)
    }

    #[test]
    #[cfg_attr(miri, ignore = "it fills several pages of two megabytes")]
    fn slots_do_not_overlap_on_any_page() {
        let mut slab = Slab::new();
        let sizes = (1..=MAX_LINES).cycle().take(3 * HUGE / CACHE_LINE / 32);
        let taken: Vec<_> = sizes
            .zip((0..=250).cycle())
            .map(|(lines, with)| (fill(&mut slab, lines, with), lines, with))
            .collect();
        assert!(slab.pages.len() > 1);
        assert!(taken.iter().all(|&(slot, lines, with)| holds(slot, lines, with)));
    }

    #[test]
    fn a_freed_slot_is_reused_for_the_same_size() {
        let mut slab = Slab::new();
        let (first, other) = (fill(&mut slab, 3, 1), fill(&mut slab, 3, 2));
        // SAFETY: the slot was taken above with this size.
        unsafe { slab.free(first, 3) };
        assert_ne!(fill(&mut slab, 4, 4), first);
        assert_eq!(fill(&mut slab, 3, 3), first);
        assert!(holds(other, 3, 2));
    }

    #[test]
    fn memory_is_returned_when_the_last_slot_is_freed() {
        let mut slab = Slab::new();
        for _ in 0..3 {
            let taken: Vec<_> =
                (0..3 * HUGE / (8 * CACHE_LINE)).map(|_| fill(&mut slab, 8, 1)).collect();
            assert!(slab.pages.len() > 1);
            for slot in taken {
                // SAFETY: the slot was taken above with this size.
                unsafe { slab.free(slot, 8) };
            }
            assert_eq!((slab.taken, slab.pages.len()), (0, 1));
        }
    }
}
