//! Zeroed memory of the system's, for tables that are large or may become so.
//!
//! None of it takes room before it is touched. A table that is looked up in random order costs a
//! miss of the processor's translations beside that of its caches as soon as it is larger than a
//! megabyte or so; on huge pages it doesn't. Most systems give these only to who asks, so tables
//! ask here. Whatever the system answers the memory is there, only slower.
#![allow(unsafe_code, reason = "memory is asked of the system here, and cut into slots")]

mod chunks;
pub mod per_process;
pub(crate) mod places;

pub use chunks::{Chunks, Zeroed};

use std::ptr::{NonNull, null_mut};

use nix::libc::{
    MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE,
    PROT_READ, PROT_WRITE, c_int, madvise, mmap, munmap,
};

/// Bytes of a huge page; where they are larger there are none for tables.
pub const HUGE: usize = 2 << 20;

/// Puts pages together at once (Linux 6.1); older systems do it in the background.
const MADV_COLLAPSE: c_int = 25;

/// On which pages memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Pages of the smallest size: each is taken when it is touched.
    Small,
    /// Huge pages, each taken as a whole by the first touch.
    Huge,
}

/// Zeroed memory, given back when this is dropped.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: an address and a length; what is done with the memory is not done here.
unsafe impl Send for Pages {}
// SAFETY: as for Send.
unsafe impl Sync for Pages {}

impl Pages {
    /// As many bytes, all zero; nothing where the system has no more. From [`HUGE`] on they begin
    /// at a multiple of it, where that is possible.
    #[must_use]
    pub fn zeroed(len: usize, size: Size) -> Option<Self> {
        let pages = Self::aligned(len).or_else(|| Self::map(len))?;
        // Small pages are asked for too: some systems give huge ones to everybody.
        pages.advise(match size {
            Size::Small => MADV_NOHUGEPAGE,
            Size::Huge => MADV_HUGEPAGE,
        });
        Some(pages)
    }

    /// The address of the first byte.
    #[must_use]
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// How many bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none; never true.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Moves the bytes from small pages to huge ones: when most of the memory is in use.
    pub fn collapse(&self) {
        self.advise(MADV_HUGEPAGE);
        self.advise(MADV_COLLAPSE);
    }

    fn map(len: usize) -> Option<Self> {
        let rights = PROT_READ | PROT_WRITE;
        let kind = MAP_PRIVATE | MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address of the system's choice.
        let base = unsafe { mmap(null_mut(), len, rights, kind, -1, 0) };
        if base == MAP_FAILED {
            return None;
        }
        Some(Self { base: NonNull::new(base.cast())?, len })
    }

    /// At a multiple of [`HUGE`]: more is mapped, and the ends of it are given back.
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

    /// Has children of fork find these pages zeroed; whether the system does that.
    fn wipe_in_children(&self) -> bool {
        self.advise(MADV_WIPEONFORK)
    }

    /// Whether the system took the advice.
    fn advise(&self, advice: c_int) -> bool {
        if cfg!(miri) {
            return false;
        }
        // SAFETY: of these pieces of advice none changes what the memory holds in this process.
        // What is not understood is refused, and all is as it was.
        unsafe { madvise(self.base.as_ptr().cast(), self.len, advice) == 0 }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        give_back(self.base.as_ptr(), self.len);
    }
}

/// Gives memory back that was mapped here and that nobody uses.
fn give_back(base: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: whole pages of a mapping of this module, whose owner is giving them up.
        unsafe { munmap(base.cast(), len) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_there_whatever_the_system_says_of_huge_pages() {
        for (len, size) in [(HUGE, Size::Small), (4 * HUGE, Size::Huge), (4096, Size::Huge)] {
            let pages = Pages::zeroed(len, size).expect("memory");
            assert_eq!(pages.len(), len);
            assert!(len < HUGE || pages.base().as_ptr().addr() % HUGE == 0);
            for at in (0..len).step_by(4096).chain([len - 1]) {
                let place = pages.base().as_ptr().wrapping_add(at);
                // SAFETY: within the pages, which nobody else knows.
                let byte = unsafe { &mut *place };
                assert_eq!(*byte, 0);
                *byte = 7;
            }
            pages.collapse();
            // SAFETY: as above.
            assert_eq!(unsafe { *pages.base().as_ptr() }, 7, "the bytes stay what they were");
        }
    }

    #[test]
    fn what_the_system_can_not_give_is_not_there() {
        assert!(Pages::zeroed(usize::MAX & !(HUGE - 1), Size::Huge).is_none());
        assert!(Pages::zeroed(1 << 56, Size::Small).is_none());
    }
}
