//! Registered memory. Each function panics if its range is not inside the memory.

use dat_core::{
    Bind, CompletionFlags, Ia, Lmr, LmrTriplet, Memory, MemorySource, Privileges, Pz, RmrTriplet,
};

/// Memory and its registration.
#[derive(Debug)]
pub struct Buffer {
    /// The memory.
    pub memory: Memory,
    /// The local memory region.
    pub lmr: Lmr,
}

impl Buffer {
    /// Registers new memory with all privileges.
    #[track_caller]
    #[must_use]
    pub fn new(ia: &Ia, pz: &Pz, len: usize) -> Self {
        Self::with(ia, pz, len, Privileges::ALL)
    }

    /// Registers new memory with some privileges.
    #[track_caller]
    #[must_use]
    pub fn with(ia: &Ia, pz: &Pz, len: usize, privileges: Privileges) -> Self {
        let memory = Memory::zeroed(len).expect("memory");
        let source = MemorySource::Memory(&memory);
        let lmr = ia.lmr_create(source, pz, privileges).expect("a registration");
        Self { memory, lmr }
    }

    /// A bind of the whole region, with the cookie 5.
    pub(crate) fn bind(&self, privileges: Privileges) -> Bind<'_> {
        let triplet = self.piece(0, self.memory.len());
        Bind { lmr: &self.lmr, triplet, privileges, cookie: 5, flags: CompletionFlags::empty() }
    }

    /// A segment of the region for local use.
    #[track_caller]
    #[must_use]
    pub fn piece(&self, offset: usize, len: usize) -> LmrTriplet {
        self.lmr.triplet(offset as u64, len as u64).expect("a piece of the region")
    }

    /// A segment of the region for the peer's use.
    #[track_caller]
    #[must_use]
    pub fn remote(&self, offset: usize, len: usize) -> RmrTriplet {
        self.lmr.remote_triplet(offset as u64, len as u64).expect("a piece of the region")
    }

    /// Writes bytes into the memory.
    #[track_caller]
    pub fn fill(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside the memory");
    }

    /// The bytes of a range.
    #[track_caller]
    #[must_use]
    pub fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        self.memory.to_vec(offset, len).expect("inside the memory")
    }
}
