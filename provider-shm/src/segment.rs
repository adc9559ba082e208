//! The memory of a connection: two rings and their words.
//!
//! The page in the middle has the end of one ring, the words of both, and the start of the other ring. The first ring begins
//! near its end, so a connection that has only been made, and moved little, uses this page alone. A page costs 5 to 6 µs in
//! both processes together.
#![allow(unsafe_code, reason = "a mapping is memory by address")]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

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
/// The name of the files in the list of a process's mappings.
const NAME: &str = "dat-shm";

const _: () = assert!(RING % PAGE == 0 && WORDS + HEAD + BEFORE == RING + PAGE);
const _: () = assert!((BEFORE + (UNITS - NEAR_UNITS) as usize * UNIT) % PAGE == 0);
const _: () = assert!(size_of::<Signals>() <= ACCESS && align_of::<Signals>() <= ACCESS);
const _: () =
    assert!(size_of::<AccessWords>() <= SIGNALS - ACCESS && align_of::<AccessWords>() <= ACCESS);

/// The mapped memory. Both processes may write all of it at any time.
#[derive(Debug)]
pub(crate) struct Segment {
    memory: Mapping<LENGTH>,
    /// A random number by which both sides know it.
    id: u64,
}

impl Segment {
    /// Creates a segment full of zeros. The descriptor is sent to the peer.
    pub(crate) fn create() -> Result<(Self, Private<OwnedFd>)> {
        let (memory, file) = Mapping::create(NAME)?;
        let id = RandomState::new().build_hasher().finish();
        Ok((Self { memory, id }.begun(), file))
    }

    /// Maps the segment of a peer.
    pub(crate) fn open(file: BorrowedFd<'_>, id: u64) -> Result<Self> {
        Ok(Self { memory: Mapping::open(file)?, id })
    }

    /// A segment for both ends of a test.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn for_test() -> Self {
        Self { memory: Mapping::for_test(), id: 0 }.begun()
    }

    /// Identifies the segment to the two processes that use it.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The first byte of the page of the words.
    fn page(&self) -> *mut u8 {
        self.ring(0).wrapping_add(Self::first_unit(0) as usize * UNIT)
    }

    /// Prepares the segment for a new connection: clears the page of the words, the only one that was written. Neither
    /// side uses the segment.
    pub(crate) fn renewed(self) -> Self {
        for at in 0..PAGE / size_of::<u64>() {
            let word = self.page().cast::<AtomicU64>().wrapping_add(at);
            // SAFETY: inside the mapping, which lives as long as `self`, and aligned; both processes may write it.
            unsafe { &*word }.store(0, Ordering::Relaxed);
        }
        self.begun()
    }

    /// Puts another file in the place of the mapped one, with the same bytes in the page of the words and zeros
    /// elsewhere. No other thread uses the segment meanwhile.
    pub(crate) fn replace(&self) -> Result<Private<OwnedFd>> {
        let offset = self.page() as usize - self.memory.base() as usize;
        self.memory.replace(NAME, offset)
    }

    /// Returns true if a ring that has advanced to this position was only written in the page of the words.
    pub(crate) fn is_near(direction: usize, position: u64) -> bool {
        position.wrapping_sub(Self::first_unit(direction)) < NEAR_UNITS
    }

    /// The passive side has kept the segment, and does not use it any more.
    pub(crate) fn announce_kept(&self) {
        self.signals(1).set_kept();
    }

    /// The active side claims a segment that the passive side has kept. Returns true on success.
    pub(crate) fn claim(&self) -> bool {
        self.signals(1).claim()
    }

    /// The passive side no longer keeps the segment. Returns false if the active side has claimed it.
    pub(crate) fn withdraw(&self) -> bool {
        self.signals(1).withdraw()
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
        let at = self.memory.base().wrapping_add(WORDS + (direction & 1) * SIGNALS);
        // SAFETY: inside the mapping, which lives as long as `self`, aligned, and all bit patterns
        // are valid; its fields are atomics, so that another process may write them.
        unsafe { &*at.cast::<Signals>() }
    }

    /// The words of accesses that the writer of a direction, 0 or 1, makes to the peer's memory.
    pub(crate) fn access(&self, direction: usize) -> &AccessWords {
        let at = self.memory.base().wrapping_add(WORDS + (direction & 1) * SIGNALS + ACCESS);
        // SAFETY: as for `signals`.
        unsafe { &*at.cast::<AccessWords>() }
    }

    /// The first byte of the segment, and its length in bytes.
    pub(crate) fn all(&self) -> (*mut u8, usize) {
        (self.memory.base(), LENGTH)
    }

    /// The first byte of the ring of a direction, 0 or 1; [`RING`] bytes are mapped there.
    pub(crate) fn ring(&self, direction: usize) -> *mut u8 {
        self.memory.base().wrapping_add(BEFORE + (direction & 1) * (RING + HEAD))
    }
}
