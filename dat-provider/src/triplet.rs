//! Pieces of registered memory, as posts name them.

/// A piece of local memory (`DAT_LMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LmrTriplet {
    /// Its virtual address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The context of the local memory region that contains it.
    pub context: u32,
}

/// A piece of the peer's memory (`DAT_RMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RmrTriplet {
    /// Its virtual address in the peer.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The context that the peer gave out for it.
    pub context: u32,
}
