//! Zeroed memory from the system, for tables that are or may become large.
//!
//! It uses no physical memory before it is touched. Random look-ups in a table larger than about a
//! megabyte cause a TLB miss in addition to the cache miss; on huge pages they do not. Most systems
//! give huge pages only on request, so tables request them here. If the system refuses, the memory
//! is usable all the same, only slower.
#![allow(unsafe_code, reason = "memory is mapped here, and divided into slots")]

mod chunks;
mod leak_check;
pub mod per_process;
pub(crate) mod slab;

pub use chunks::{Chunks, Zeroed};

use std::ptr::{NonNull, null_mut};

use nix::libc::{
    _SC_PAGESIZE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED,
    MAP_PRIVATE, PROT_READ, PROT_WRITE, c_int, madvise, mmap, munmap, sysconf,
};

/// Size of a page of this machine in bytes: 4096 on x86; 4096, 16384 or 65536 on 64-bit Arm, as its kernel was built.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: the call only returns a number.
    usize::try_from(unsafe { sysconf(_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Size of a huge page in bytes. Systems with larger huge pages use small ones for tables.
pub const HUGE: usize = 2 << 20;

/// Collapses pages immediately (Linux 6.1); older systems do it in the background.
const MADV_COLLAPSE: c_int = 25;

/// The page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Pages of the smallest size; each is allocated when it is touched.
    Small,
    /// Huge pages; each is allocated as a whole when it is first touched.
    Huge,
}

/// Zeroed memory, unmapped when this is dropped.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the struct is only an address and a length; it does not access the memory.
unsafe impl Send for Pages {}
// SAFETY: the struct is only an address and a length; it does not access the memory.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps `len` zero bytes; `None` if the system has no more. From [`HUGE`] bytes on, the address
    /// is a multiple of `HUGE` if possible.
    #[must_use]
    pub fn zeroed(len: usize, size: Size) -> Option<Self> {
        let pages = Self::aligned(len).or_else(|| Self::map(len))?;
        // Small pages must be requested too: some systems use huge pages by default.
        pages.advise(match size {
            Size::Small => MADV_NOHUGEPAGE,
            Size::Huge => MADV_HUGEPAGE,
        });
        leak_check::scan(pages.base.as_ptr(), len);
        Some(pages)
    }

    /// The address of the first byte.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if its length is 0; never true.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Moves the contents from small pages to a huge one; useful when most of the memory is in use.
    pub fn collapse(&self) {
        self.advise(MADV_HUGEPAGE);
        self.advise(MADV_COLLAPSE);
    }

    fn map(len: usize) -> Option<Self> {
        let rights = PROT_READ | PROT_WRITE;
        let kind = MAP_PRIVATE | MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing.
        let base = unsafe { mmap(null_mut(), len, rights, kind, -1, 0) };
        if base == MAP_FAILED {
            return None;
        }
        Some(Self { base: NonNull::new(base.cast())?, len })
    }

    /// At a multiple of [`HUGE`]: maps more than needed, and unmaps both ends.
    fn aligned(len: usize) -> Option<Self> {
        if len < HUGE || len % HUGE != 0 || cfg!(miri) {
            return None;
        }
        let Self { base, len: _ } =
            *std::mem::ManuallyDrop::new(Self::map(len.checked_add(HUGE)?)?);
        let before = base.as_ptr().align_offset(HUGE);
        let begin = base.as_ptr().wrapping_add(before);
        give_back(base.as_ptr(), before);
        give_back(begin.wrapping_add(len), HUGE - before);
        Some(Self { base: NonNull::new(begin)?, len })
    }

    /// Makes these pages zero in forked children; returns whether the system supports it.
    fn wipe_in_children(&self) -> bool {
        self.advise(MADV_WIPEONFORK)
    }

    /// Gives advice to the kernel; returns whether it was accepted.
    fn advise(&self, advice: c_int) -> bool {
        if cfg!(miri) {
            return false;
        }
        // SAFETY: none of these kinds of advice changes the contents of the memory in this process,
        // and one that the kernel does not know is refused without effect.
        unsafe { madvise(self.base.as_ptr().cast(), self.len, advice) == 0 }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        leak_check::forget(self.base.as_ptr(), self.len);
        give_back(self.base.as_ptr(), self.len);
    }
}

/// Unmaps memory that was mapped here and is no longer used.
fn give_back(base: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: these are whole pages of a mapping of this module, and their owner no longer uses them.
        unsafe { munmap(base.cast(), len) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_and_aligned_with_or_without_huge_pages() {
        for (len, size) in [(HUGE, Size::Small), (4 * HUGE, Size::Huge), (4096, Size::Huge)] {
            let pages = Pages::zeroed(len, size).expect("memory");
            assert_eq!(pages.len(), len);
            // Miri unmaps no parts of a mapping.
            assert!(len < HUGE || cfg!(miri) || pages.base().as_ptr().addr() % HUGE == 0);
            for at in (0..len).step_by(4096).chain([len - 1]) {
                let place = pages.base().as_ptr().wrapping_add(at);
                // SAFETY: the byte lies in the pages, which only this test uses.
                let byte = unsafe { &mut *place };
                assert_eq!(*byte, 0);
                *byte = 7;
            }
            pages.collapse();
            // SAFETY: the first byte of the pages, which only this test uses.
            assert_eq!(unsafe { *pages.base().as_ptr() }, 7, "the bytes stay what they were");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends when memory is refused")]
    fn an_impossible_size_is_refused() {
        assert!(Pages::zeroed(usize::MAX & !(HUGE - 1), Size::Huge).is_none());
        assert!(Pages::zeroed(usize::MAX - (usize::MAX >> 4), Size::Small).is_none());
    }
}
