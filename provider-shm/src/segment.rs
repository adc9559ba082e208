//! The memory file that two processes share: two rings and their words.
#![allow(unsafe_code, reason = "a mapping is memory by address")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use dat_provider_kit::fork::Origin;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags};

use crate::access_words::AccessWords;
use crate::signals::Signals;

/// Bytes of a unit, in which frames begin: a cache line.
pub(crate) const UNIT: usize = 64;
/// Units of a ring, a power of two.
pub(crate) const UNITS: u64 = 4096;
/// Bytes of a ring.
pub(crate) const RING: usize = UNIT * UNITS as usize;
/// Bytes before the rings, for the words.
const HEAD: usize = 4096;
const SIGNALS: usize = HEAD / 2;
/// Where the words of direct accesses are behind those of the ring.
const ACCESS: usize = SIGNALS / 2;
/// Bytes of the file.
const LENGTH: usize = HEAD + 2 * RING;
/// A file with these can be written and never changes its length, so no access can fail.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

const _: () = assert!(size_of::<Signals>() <= ACCESS && align_of::<Signals>() <= ACCESS);
const _: () =
    assert!(size_of::<AccessWords>() <= SIGNALS - ACCESS && align_of::<AccessWords>() <= ACCESS);

/// A page of the segment in tests under Miri.
#[cfg(all(test, miri))]
#[repr(C, align(4096))]
struct Page([u8; HEAD]);

/// A mapping of the file. Both processes may write all of it at any time.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    origin: Origin,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is reached by atomics and copies.
unsafe impl Send for Segment {}
// SAFETY: as for Send.
unsafe impl Sync for Segment {}

impl Segment {
    /// Creates a file full of zeros. The descriptor is for the peer.
    pub(crate) fn create() -> Result<(Self, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("dat-shm", flags)?;
        rustix::fs::ftruncate(&file, LENGTH as u64)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        Ok((Self::map(file.as_fd())?, file))
    }

    /// Maps the file of a peer, if it has the length and the seals that make it safe.
    pub(crate) fn open(file: BorrowedFd<'_>) -> Result<Self> {
        let seals = rustix::fs::fcntl_get_seals(file)?;
        let length = rustix::fs::fstat(file)?.st_size;
        let is_writable = !seals.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE);
        if !seals.contains(SEALS) || !is_writable || length != LENGTH as i64 {
            return Err(Errno::INVAL);
        }
        Self::map(file)
    }

    /// A segment for both ends of a test. Miri has no memory files, so there it is allocated memory.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn for_test() -> Self {
        #[cfg(not(miri))]
        return Self::create().expect("memory").0;
        #[cfg(miri)]
        {
            let pages: &'static mut [Page] =
                Vec::leak((0..LENGTH / HEAD).map(|_| Page([0; HEAD])).collect());
            Self { base: NonNull::from(pages).cast(), origin: Origin::here() }
        }
    }

    fn map(file: BorrowedFd<'_>) -> Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), LENGTH, protection, flags, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, origin: Origin::here() })
    }

    /// The words of a direction, 0 or 1.
    pub(crate) fn signals(&self, direction: usize) -> &Signals {
        let at = self.base.as_ptr().wrapping_add((direction & 1) * SIGNALS);
        // SAFETY: inside the mapping, which lives as long as `self`, aligned, and all bit patterns
        // are valid; its fields are atomics, so that another process may write them.
        unsafe { &*at.cast::<Signals>() }
    }

    /// The words of the accesses that the writer of a direction, 0 or 1, makes to the peer's memory.
    pub(crate) fn access(&self, direction: usize) -> &AccessWords {
        let at = self.base.as_ptr().wrapping_add((direction & 1) * SIGNALS + ACCESS);
        // SAFETY: as for `signals`.
        unsafe { &*at.cast::<AccessWords>() }
    }

    /// The first byte of the ring of a direction, 0 or 1; [`RING`] bytes are mapped there.
    pub(crate) fn ring(&self, direction: usize) -> *mut u8 {
        self.base.as_ptr().wrapping_add(HEAD + (direction & 1) * RING)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // A child of fork leaves the mapping to its end; under Miri there is none.
        if self.origin.is_here() && !cfg!(miri) {
            // SAFETY: the mapping of `map`, to which no reference outlives `self`.
            let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), LENGTH) };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_show_the_same_memory() {
        let (one, file) = Segment::create().expect("memory");
        let other = Segment::open(file.as_fd()).expect("the same file");
        // SAFETY: inside the mapping.
        unsafe { one.ring(1).write(7) };
        // SAFETY: inside the mapping.
        assert_eq!(unsafe { other.ring(1).read() }, 7);
    }

    #[test]
    fn files_that_could_shrink_are_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("test", flags).expect("memory");
        rustix::fs::ftruncate(&file, LENGTH as u64).expect("memory");
        assert!(Segment::open(file.as_fd()).is_err(), "no seals");
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).expect("allowed");
        assert!(Segment::open(file.as_fd()).is_err(), "it can grow and get more seals");
        let file = rustix::fs::memfd_create("test", flags).expect("memory");
        rustix::fs::ftruncate(&file, 4096).expect("memory");
        rustix::fs::fcntl_add_seals(&file, SEALS).expect("allowed");
        assert!(Segment::open(file.as_fd()).is_err(), "too short");
        let null = std::fs::File::open("/dev/null").expect("every Linux has it");
        assert!(Segment::open(null.as_fd()).is_err());
    }
}
