//! Pages of memory that are mapped and lost.
#![allow(unsafe_code, reason = "memory is mapped and unmapped by address")]

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

use dat_core::mem::Span;

/// How a program loses memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// It unmaps it.
    Mapping,
    /// It permits itself no access.
    Access,
    /// It permits itself to read only.
    Writing,
    /// It truncates the file.
    File,
    /// It unmaps the second half.
    Half,
}

impl Loss {
    /// All that concern the whole memory.
    pub const ALL: [Self; 4] = [Self::Mapping, Self::Access, Self::Writing, Self::File];
}

/// Mapped pages of a memory file.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<c_void>,
    length: usize,
    file: OwnedFd,
}

/// Where the first pages are mapped: where nothing else is, so that nothing takes the place of lost pages.
#[cfg(target_pointer_width = "64")]
const FIRST: usize = 0x0600_0000_0000;
#[cfg(target_pointer_width = "32")]
const FIRST: usize = 0x7000_0000;
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);
const DISTANCE: usize = 1 << 24;

impl Pages {
    /// Maps pages for a number of bytes.
    ///
    /// # Panics
    /// If the system refuses this.
    #[must_use]
    pub fn map(length: usize) -> Self {
        // SAFETY: the name ends with a zero byte.
        let file = unsafe { libc::memfd_create(c"dat-test".as_ptr(), libc::MFD_CLOEXEC) };
        Self::of(file, length).expect("a memory file")
    }

    /// Maps pages that the kernel does not let other processes access, if it has such.
    #[must_use]
    pub fn secret(length: usize) -> Option<Self> {
        // SAFETY: the call has no memory as an argument.
        let file = unsafe { libc::syscall(libc::SYS_memfd_secret, 0) };
        Self::of(i32::try_from(file).ok()?, length).ok()
    }

    fn of(file: i32, length: usize) -> io::Result<Self> {
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system has just opened it.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let place = NEXT.fetch_add(DISTANCE, Ordering::Relaxed);
        let size = length as libc::off_t;
        // SAFETY: the call has no memory as an argument.
        if unsafe { libc::ftruncate(file.as_raw_fd(), size) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        let place = ptr::without_provenance_mut(place);
        // SAFETY: the call replaces no mapping.
        let base = unsafe { libc::mmap(place, length, access, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(base).expect("not at 0"), length, file })
    }

    /// The memory, to register.
    #[must_use]
    pub fn span(&self) -> Span {
        // SAFETY: no reference into the memory is created. That it is lost is what the tests are about.
        unsafe { Span::new(self.base.cast(), self.length) }
    }

    /// Loses the memory.
    ///
    /// # Panics
    /// If the system refuses this.
    pub fn lose(&self, loss: Loss) {
        let (base, length) = (self.base.as_ptr(), self.length);
        let half = length / 2;
        let result = match loss {
            // SAFETY: no reference into the memory exists.
            Loss::Mapping => unsafe { libc::munmap(base, length) },
            // SAFETY: as above.
            Loss::Half => unsafe { libc::munmap(base.wrapping_byte_add(half), half) },
            // SAFETY: as above.
            Loss::Access => unsafe { libc::mprotect(base, length, libc::PROT_NONE) },
            // SAFETY: as above.
            Loss::Writing => unsafe { libc::mprotect(base, length, libc::PROT_READ) },
            // SAFETY: as above.
            Loss::File => unsafe { libc::ftruncate(self.file.as_raw_fd(), 0) },
        };
        assert_eq!(result, 0, "{loss:?}: {}", io::Error::last_os_error());
    }
}
