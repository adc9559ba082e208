//! Memory files that peers map. Neither their creation nor an access raises a signal.

use std::os::fd::{AsFd, OwnedFd};

use dat_sync::{Lazy, without_signals};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::{Errno, Result};

/// A file with these seals is writable and never changes its length, so no access is beyond its end.
pub(crate) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Creates a file full of zeros.
///
/// # Errors
/// `EFBIG` if the process may not have files of this length (`ulimit -f`).
pub(crate) fn create(name: &str, length: u64) -> Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    without_signals(|| rustix::fs::ftruncate(&file, length))?;
    reserve(&file, length, is_strict())?;
    rustix::fs::fcntl_add_seals(&file, SEALS)?;
    Ok(file)
}

/// Checks that the file of a peer has the required length and seals, and that all of it is accessible.
///
/// # Errors
/// `EINVAL` otherwise.
pub(crate) fn check(file: impl AsFd, length: u64) -> Result<()> {
    let seals = rustix::fs::fcntl_get_seals(&file)?;
    let size = rustix::fs::fstat(&file)?.st_size;
    let is_writable = !seals.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE);
    if !seals.contains(SEALS) || !is_writable || u64::try_from(size) != Ok(length) {
        return Err(Errno::INVAL);
    }
    reserve(file, length, is_strict())
}

/// Allocates all pages of a file if the kernel does not overcommit memory: the first access to a page could otherwise
/// raise a signal. With overcommit, idle connections need few of the pages.
fn reserve(file: impl AsFd, length: u64, is_strict: bool) -> Result<()> {
    if is_strict {
        without_signals(|| rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length))?;
    }
    Ok(())
}

/// Returns true if the kernel does not overcommit memory (proc(5), `/proc/sys/vm/overcommit_memory`).
fn is_strict() -> bool {
    static STRICT: Lazy<bool> = Lazy::new(|| {
        std::fs::read_to_string("/proc/sys/vm/overcommit_memory")
            .is_ok_and(|mode| mode.trim() == "2")
    });
    *STRICT
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    const LENGTH: u64 = 64 << 10;

    #[test]
    fn memory_is_allocated_at_once_only_where_it_is_not_promised() {
        let allocated = |is_strict| {
            let file = create("test", LENGTH).expect("memory");
            reserve(&file, LENGTH, is_strict).expect("memory");
            // In blocks of 512 bytes.
            rustix::fs::fstat(&file).expect("open").st_blocks as u64 * 512
        };
        assert_eq!(allocated(true), LENGTH);
        assert_eq!(allocated(false), if is_strict() { LENGTH } else { 0 });
    }

    #[test]
    fn files_that_could_shrink_are_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("test", flags).expect("memory");
        rustix::fs::ftruncate(&file, LENGTH).expect("memory");
        assert_eq!(check(&file, LENGTH), Err(Errno::INVAL), "no seals");
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).expect("allowed");
        assert_eq!(check(&file, LENGTH), Err(Errno::INVAL), "it can grow and get more seals");
        let file = create("test", LENGTH).expect("memory");
        assert_eq!(check(&file, LENGTH), Ok(()));
        assert_eq!(check(&file, LENGTH + 1), Err(Errno::INVAL), "too short");
        assert_eq!(check(&file, LENGTH - 1), Err(Errno::INVAL), "too long");
        let null = std::fs::File::open("/dev/null").expect("every Linux has it");
        assert!(check(&null, LENGTH).is_err());
    }
}
