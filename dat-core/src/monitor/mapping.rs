//! The memory of a page.
#![allow(unsafe_code, reason = "memory that another process maps is accessed by address")]

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, Mode, SealFlags};
use rustix::io::{Errno, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::layout::{LENGTH, NAME, Word};

/// A file with these seals never changes its length, so no access to a mapping of it is beyond its end.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A mapping of the words of a page. A child of `fork` has none.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the memory stays mapped as long as the value exists, and is accessed by atomic operations only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Creates the file of a page, which only this user can open.
pub(super) fn create() -> Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(NAME, flags)?;
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    dat_sync::without_signals(|| rustix::fs::ftruncate(&file, LENGTH as u64))?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}

/// Checks that the file of another process has the length and the seals of a page.
///
/// # Errors
/// `EINVAL` otherwise.
pub(super) fn check(file: impl AsFd) -> Result<()> {
    let seals = rustix::fs::fcntl_get_seals(&file)?;
    let size = rustix::fs::fstat(&file)?.st_size;
    match seals.contains(SEALS) && usize::try_from(size) == Ok(LENGTH) {
        true => Ok(()),
        false => Err(Errno::INVAL),
    }
}

impl Mapping {
    /// Maps the first words of a file, which [`create`] has created or [`check`] accepts.
    pub(super) fn new(file: impl AsFd, words: usize) -> Result<Self> {
        let words = words.min(LENGTH / size_of::<u64>());
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let length = words * size_of::<u64>();
        // SAFETY: a new mapping replaces no other one.
        let base = unsafe { rustix::mm::mmap(null_mut(), length, access, flags, file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        let mapping = Self { base, words };
        // SAFETY: children lose pages that only this value uses, and it makes no access in a child.
        unsafe { rustix::mm::madvise(base.as_ptr().cast(), length, Advice::LinuxDontFork) }?;
        Ok(mapping)
    }

    /// The words.
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped as long as `self`, aligned, and initialised by the kernel; other processes may write them,
        // which atomic operations tolerate.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }

    pub(super) fn word(&self, word: Word) -> &AtomicU64 {
        &self.words()[word as usize]
    }

    /// The half of a word of the header that changes first.
    pub(super) fn futex(&self, word: Word) -> &AtomicU32 {
        let half = usize::from(cfg!(target_endian = "big"));
        let halves = self.base.as_ptr().cast::<AtomicU32>();
        let at = halves.wrapping_add(2 * word as usize + half);
        // SAFETY: a half of a word of the header, mapped as long as `self`; the other accesses are atomic too.
        unsafe { &*at }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no reference to it exists.
        let _ =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}
