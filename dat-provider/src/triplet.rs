//! Pieces of registered memory, as posts name them.

/// A piece of local memory (`DAT_LMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LmrTriplet {
    /// Where it starts, a virtual address.
    pub address: u64,
    /// How many bytes it has.
    pub length: u64,
    /// The context of the local memory region that it lies in.
    pub context: u32,
}

/// A piece of the peer's memory (`DAT_RMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RmrTriplet {
    /// Where it starts, a virtual address of the peer.
    pub address: u64,
    /// How many bytes it has.
    pub length: u64,
    /// The context that the peer gave for it.
    pub context: u32,
}
