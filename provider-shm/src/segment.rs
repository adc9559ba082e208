//! The memory of a connection: two rings and their words.
#![allow(unsafe_code, reason = "a mapping is memory by address")]

use std::os::fd::{BorrowedFd, OwnedFd};

use dat_provider_kit::fork::Private;
use rustix::io::Result;

use crate::access_words::AccessWords;
use crate::mapping::{Mapping, PAGE};
use crate::signals::Signals;

/// Size of a unit, at which frames begin, in bytes: a cache line.
pub(crate) const UNIT: usize = 64;
/// Number of units of a ring, a power of two.
pub(crate) const UNITS: u64 = 4096;
/// Size of a ring, in bytes.
pub(crate) const RING: usize = UNIT * UNITS as usize;
/// Size of the area of the words, before the rings, in bytes.
const HEAD: usize = PAGE;
const SIGNALS: usize = HEAD / 2;
/// Offset of the direct-access words from those of the ring.
const ACCESS: usize = SIGNALS / 2;
/// Size of the file, in bytes.
const LENGTH: usize = HEAD + 2 * RING;

const _: () = assert!(size_of::<Signals>() <= ACCESS && align_of::<Signals>() <= ACCESS);
const _: () =
    assert!(size_of::<AccessWords>() <= SIGNALS - ACCESS && align_of::<AccessWords>() <= ACCESS);

/// The mapped memory. Both processes may write all of it at any time.
#[derive(Debug)]
pub(crate) struct Segment(Mapping<LENGTH>);

impl Segment {
    /// Creates a segment full of zeros. The descriptor is sent to the peer.
    pub(crate) fn create() -> Result<(Self, Private<OwnedFd>)> {
        let (mapping, file) = Mapping::create("dat-shm")?;
        Ok((Self(mapping), file))
    }

    /// Maps the segment of a peer.
    pub(crate) fn open(file: BorrowedFd<'_>) -> Result<Self> {
        Mapping::open(file).map(Self)
    }

    /// A segment for both ends of a test.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn for_test() -> Self {
        Self(Mapping::for_test())
    }

    /// The words of a direction, 0 or 1.
    pub(crate) fn signals(&self, direction: usize) -> &Signals {
        let at = self.0.base().wrapping_add((direction & 1) * SIGNALS);
        // SAFETY: inside the mapping, which lives as long as `self`, aligned, and all bit patterns
        // are valid; its fields are atomics, so that another process may write them.
        unsafe { &*at.cast::<Signals>() }
    }

    /// The words of accesses that the writer of a direction, 0 or 1, makes to the peer's memory.
    pub(crate) fn access(&self, direction: usize) -> &AccessWords {
        let at = self.0.base().wrapping_add((direction & 1) * SIGNALS + ACCESS);
        // SAFETY: as for `signals`.
        unsafe { &*at.cast::<AccessWords>() }
    }

    /// The first byte of the segment, and its length in bytes.
    pub(crate) fn all(&self) -> (*mut u8, usize) {
        (self.0.base(), LENGTH)
    }

    /// The first byte of the ring of a direction, 0 or 1; [`RING`] bytes are mapped there.
    pub(crate) fn ring(&self, direction: usize) -> *mut u8 {
        self.0.base().wrapping_add(HEAD + (direction & 1) * RING)
    }
}
