//! Memory files of a fixed length that two processes share.
#![allow(unsafe_code, reason = "a mapping is memory by address")]

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use dat_provider_kit::fork::{OwnerProcess, Private};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

use crate::memory_file;

/// Size of a page, in bytes; the length of a mapping is a multiple of it.
pub(crate) const PAGE: usize = 4096;
/// A page of the memory in tests under Miri.
#[cfg(all(test, miri))]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// A mapping of a file of `LENGTH` bytes. Both processes may write all of it at any time.
#[derive(Debug)]
pub(crate) struct Mapping<const LENGTH: usize> {
    base: NonNull<u8>,
    owner_process: OwnerProcess,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is reached by atomics and copies.
unsafe impl<const LENGTH: usize> Send for Mapping<LENGTH> {}
// SAFETY: as for Send.
unsafe impl<const LENGTH: usize> Sync for Mapping<LENGTH> {}

impl<const LENGTH: usize> Mapping<LENGTH> {
    /// Creates a file full of zeros. The descriptor is sent to the peer.
    pub(crate) fn create(name: &str) -> Result<(Self, Private<OwnedFd>)> {
        let file = Private::create(|| memory_file::create(name, LENGTH as u64))?;
        Ok((Self::map(file.as_fd())?, file))
    }

    /// Maps the file of a peer, if it has the required length and seals.
    pub(crate) fn open(file: BorrowedFd<'_>) -> Result<Self> {
        memory_file::check(file, LENGTH as u64)?;
        Self::map(file)
    }

    /// Memory for both ends of a test. Miri has no memory files, so there it is allocated.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn for_test() -> Self {
        #[cfg(not(miri))]
        return Self::create("test").expect("memory").0;
        #[cfg(miri)]
        {
            let pages: &'static mut [Page] =
                Vec::leak((0..LENGTH / PAGE).map(|_| Page([0; PAGE])).collect());
            Self { base: NonNull::from(pages).cast(), owner_process: OwnerProcess::current() }
        }
    }

    fn map(file: BorrowedFd<'_>) -> Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), LENGTH, protection, flags, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, owner_process: OwnerProcess::current() })
    }

    /// Maps a new file at the address of the mapping, in the place of the mapped file: a copy of the page at this offset,
    /// and zeros elsewhere. No other thread accesses the mapping meanwhile.
    pub(crate) fn replace(&self, name: &str, page: usize) -> Result<Private<OwnedFd>> {
        assert!(page % PAGE == 0 && page < LENGTH);
        let (next, file) = Self::create(name)?;
        // It is unmapped only if it is not moved.
        let mut next = ManuallyDrop::new(next);
        let (from, to) = (self.base().wrapping_add(page), next.base().wrapping_add(page));
        // SAFETY: the page is inside of both mappings, which are different memory.
        unsafe { to.copy_from_nonoverlapping(from, PAGE) };
        let (old, new) = (next.base().cast(), self.base().cast());
        // SAFETY: both are mappings of `LENGTH` bytes that nothing else unmaps. `next` is not used afterwards, and
        // accesses to `self` find the same bytes at the same address.
        let moved =
            unsafe { rustix::mm::mremap_fixed(old, LENGTH, LENGTH, MremapFlags::MAYMOVE, new) };
        if let Err(errno) = moved {
            // SAFETY: it is still mapped, and dropped once.
            unsafe { ManuallyDrop::drop(&mut next) };
            return Err(errno);
        }
        Ok(file)
    }

    /// The first byte, at the start of a page; `LENGTH` bytes are mapped there.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}

impl<const LENGTH: usize> Drop for Mapping<LENGTH> {
    fn drop(&mut self) {
        // A child of fork does not unmap it; under Miri there is no mapping.
        if self.owner_process.is_current() && !cfg!(miri) {
            // SAFETY: the mapping of `map`, to which no reference outlives `self`.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), LENGTH) };
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    type Two = Mapping<{ 2 * PAGE }>;

    #[test]
    fn both_mappings_show_the_same_memory() {
        let (one, file) = Two::create("test").expect("memory");
        let other = Two::open(file.as_fd()).expect("the same file");
        // SAFETY: inside the mapping.
        unsafe { one.base().wrapping_add(PAGE).write(7) };
        // SAFETY: inside the mapping.
        assert_eq!(unsafe { other.base().wrapping_add(PAGE).read() }, 7);
    }
}
