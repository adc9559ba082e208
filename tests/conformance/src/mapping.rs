//! Memory mappings: the only module of this crate with `unsafe` code.
//!
//! A mapping is never unmapped, so that a registration may outlive the [`Mapping`]. The errors are
//! those of the system calls, and a function panics if its range is not inside the mapping.
#![allow(unsafe_code, reason = "memory is mapped and reached by address here, and only here")]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use dat_core::mem::{Span, copy};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};

/// 64 KiB: a multiple of the page size of every machine that the cases run on.
pub const PAGE: usize = 64 << 10;

/// A memory mapping that is never unmapped. Cases map little.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Maps memory that a child of this process would share.
    pub fn shared(len: usize) -> io::Result<Self> {
        Ok(Self { base: map(None, len, MapFlags::MAP_SHARED)?, len })
    }

    /// Maps the same memory at two addresses, as two processes would have it.
    pub fn shared_twice(len: usize) -> io::Result<[Self; 2]> {
        let object = File::from(memfd_create("dat-conformance", MFdFlags::MFD_CLOEXEC)?);
        object.set_len(len as u64)?;
        let one = || Ok::<_, io::Error>(Self { base: map_object(&object, len)?, len });
        Ok([one()?, one()?])
    }

    /// Maps twice [`PAGE`] bytes; the first half is shared and the second is private.
    pub fn half_shared() -> io::Result<Self> {
        let base = map(None, 2 * PAGE, MapFlags::MAP_PRIVATE)?;
        let first = map(
            Some(base.addr()),
            PAGE,
            // Replaces the first half of the mapping above, which nothing refers to yet.
            MapFlags::MAP_SHARED | MapFlags::MAP_FIXED,
        )?;
        assert_eq!(first.addr(), base.addr(), "MAP_FIXED");
        Ok(Self { base, len: 2 * PAGE })
    }

    /// A part of the mapping, to register.
    #[track_caller]
    #[must_use]
    pub fn span(&self, offset: usize, len: usize) -> Span {
        let base = NonNull::new(self.pointer(offset, len)).expect("a mapping is not at 0");
        // SAFETY: the part was checked to be inside the mapping, which is readable and writable
        // and never unmapped, and no reference into it is ever made.
        unsafe { Span::new(base, len) }
    }

    /// Copies bytes into the mapping.
    #[track_caller]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let to = self.pointer(offset, bytes.len());
        // SAFETY: the range was checked to be inside the mapping, which is never unmapped.
        unsafe { copy(bytes.as_ptr(), to, bytes.len()) };
    }

    /// The bytes of a range.
    #[track_caller]
    #[must_use]
    pub fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        let from = self.pointer(offset, len);
        let mut bytes = vec![0; len];
        // SAFETY: the range was checked to be inside the mapping, which is never unmapped, and
        // the vector has `len` bytes.
        unsafe { copy(from, bytes.as_mut_ptr(), len) };
        bytes
    }

    #[track_caller]
    fn pointer(&self, offset: usize, len: usize) -> *mut u8 {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "{len} bytes at {offset} are not inside the {} mapped", self.len);
        self.base.as_ptr().wrapping_add(offset)
    }
}

fn map(address: Option<NonZeroUsize>, len: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let len = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: without an address the system chooses a range where nothing is mapped; the only
    // caller with an address owns what is mapped there, and nothing refers to it.
    let base = unsafe { mmap_anonymous(address, len, protection, flags) };
    Ok(base?.cast())
}

fn map_object(object: &File, len: usize) -> io::Result<NonNull<u8>> {
    let len = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the system chooses a range where nothing is mapped.
    let base = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, object, 0) };
    Ok(base?.cast())
}
