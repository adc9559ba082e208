//! Memory mapped from the system: the one module of this crate that is not safe by itself.
//!
//! A mapping lives as long as its [`Mapping`]; a case keeps that until the registrations of its
//! spans are freed, and where it does not, the memory is never unmapped at all.
#![allow(unsafe_code, reason = "memory is mapped and reached by address here, and only here")]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use dat_core::mem::{Span, copy};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};

/// A multiple of the size of a page on every machine that the cases run on.
pub const PAGE: usize = 64 << 10;

/// Memory mapped from the system, of which nothing is unmapped: a registration of it may
/// outlive whoever made it. Cases map little.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Memory that a child of this process would share.
    ///
    /// # Errors
    /// What the system said.
    pub fn shared(len: usize) -> io::Result<Self> {
        Ok(Self { base: map(None, len, MapFlags::MAP_SHARED)?, len })
    }

    /// The same memory at two places, as two processes would have it.
    ///
    /// # Errors
    /// What the system said.
    pub fn shared_twice(len: usize) -> io::Result<[Self; 2]> {
        let object = File::from(memfd_create("dat-conformance", MFdFlags::MFD_CLOEXEC)?);
        object.set_len(len as u64)?;
        let one = || Ok::<_, io::Error>(Self { base: map_object(&object, len)?, len });
        Ok([one()?, one()?])
    }

    /// Two pages, of which the first is shared and the second is not.
    ///
    /// # Errors
    /// What the system said.
    pub fn half_shared() -> io::Result<Self> {
        let base = map(None, 2 * PAGE, MapFlags::MAP_PRIVATE)?;
        let first = map(
            Some(base.addr()),
            PAGE,
            // In place of the first page of the mapping above, which nothing refers to yet.
            MapFlags::MAP_SHARED | MapFlags::MAP_FIXED,
        )?;
        assert_eq!(first.addr(), base.addr(), "a fixed place");
        Ok(Self { base, len: 2 * PAGE })
    }

    /// A part of it, to register.
    ///
    /// # Panics
    /// When it is not inside.
    #[track_caller]
    #[must_use]
    pub fn span(&self, offset: usize, len: usize) -> Span {
        let base = NonNull::new(self.pointer(offset, len)).expect("a mapping is not at 0");
        // SAFETY: the part was checked to be inside the mapping, which is readable and writable
        // and never unmapped, and no reference into it is ever made.
        unsafe { Span::new(base, len) }
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// When they are not inside.
    #[track_caller]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let to = self.pointer(offset, bytes.len());
        // SAFETY: the range was checked to be inside the mapping, which is never unmapped.
        unsafe { copy(bytes.as_ptr(), to, bytes.len()) };
    }

    /// The bytes of a range.
    ///
    /// # Panics
    /// When it is not inside.
    #[track_caller]
    #[must_use]
    pub fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        let from = self.pointer(offset, len);
        let mut bytes = vec![0; len];
        // SAFETY: the range was checked to be inside the mapping, which is never unmapped, and
        // the vector has room for it.
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

fn map(place: Option<NonZeroUsize>, len: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let len = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: without a fixed place the mapping is at a place of the system's choice, where
    // nothing else is; the one caller with a fixed place owns what is mapped there.
    let base = unsafe { mmap_anonymous(place, len, protection, flags) };
    Ok(base?.cast())
}

fn map_object(object: &File, len: usize) -> io::Result<NonNull<u8>> {
    let len = NonZeroUsize::new(len).ok_or(io::ErrorKind::InvalidInput)?;
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the mapping is at a place of the system's choice, where nothing else is.
    let base = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, object, 0) };
    Ok(base?.cast())
}
