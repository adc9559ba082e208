//! The memory of a connection: two rings and their words.
//!
//! The page in the middle has the end of one ring, the words of both, and the start of the other ring. The first ring begins
//! near its end, so a connection that has only been made, and moved little, uses this page alone. A page costs 5 to 6 µs in
//! both processes together.
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
/// Size of the area of the words, between the rings, in bytes.
const HEAD: usize = 1024;
const SIGNALS: usize = HEAD / 2;
/// Number of units of each ring in the page of the words.
const NEAR_UNITS: u64 = ((PAGE - HEAD) / 2 / UNIT) as u64;
/// Offset of the first ring, in bytes.
const BEFORE: usize = NEAR_UNITS as usize * UNIT;
/// Offset of the words, in bytes.
const WORDS: usize = BEFORE + RING;
/// Offset of the direct-access words from those of the ring.
const ACCESS: usize = SIGNALS / 2;
/// Size of the file, in bytes.
const LENGTH: usize = PAGE + 2 * RING;

const _: () = assert!(RING % PAGE == 0 && WORDS + HEAD + BEFORE == RING + PAGE);
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
        Ok((Self(mapping).begun(), file))
    }

    /// Maps the segment of a peer.
    pub(crate) fn open(file: BorrowedFd<'_>) -> Result<Self> {
        Mapping::open(file).map(Self)
    }

    /// A segment for both ends of a test.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn for_test() -> Self {
        Self(Mapping::for_test()).begun()
    }

    /// Writes the positions at which the rings begin.
    fn begun(self) -> Self {
        for direction in [0, 1] {
            self.signals(direction).begin(Self::first_unit(direction));
        }
        self
    }

    /// The position at which the ring of a direction, 0 or 1, begins, in units.
    pub(crate) fn first_unit(direction: usize) -> u64 {
        if direction & 1 == 0 { UNITS - NEAR_UNITS } else { 0 }
    }

    /// The words of a direction, 0 or 1.
    pub(crate) fn signals(&self, direction: usize) -> &Signals {
        let at = self.0.base().wrapping_add(WORDS + (direction & 1) * SIGNALS);
        // SAFETY: inside the mapping, which lives as long as `self`, aligned, and all bit patterns
        // are valid; its fields are atomics, so that another process may write them.
        unsafe { &*at.cast::<Signals>() }
    }

    /// The words of accesses that the writer of a direction, 0 or 1, makes to the peer's memory.
    pub(crate) fn access(&self, direction: usize) -> &AccessWords {
        let at = self.0.base().wrapping_add(WORDS + (direction & 1) * SIGNALS + ACCESS);
        // SAFETY: as for `signals`.
        unsafe { &*at.cast::<AccessWords>() }
    }

    /// The first byte of the segment, and its length in bytes.
    pub(crate) fn all(&self) -> (*mut u8, usize) {
        (self.0.base(), LENGTH)
    }

    /// The first byte of the ring of a direction, 0 or 1; [`RING`] bytes are mapped there.
    pub(crate) fn ring(&self, direction: usize) -> *mut u8 {
        self.0.base().wrapping_add(BEFORE + (direction & 1) * (RING + HEAD))
    }
}
