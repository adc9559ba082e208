//! Receives, requests and binds, which are posted to a queue pair, with their segments.

use super::{Epoch, MemoryRegion, MemoryWindow};
use crate::flags::{CompletionFlags, Privileges};
use crate::status::Operation;
use crate::triplet::RmrTriplet;

/// A piece of local memory, checked by the core at the post.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Its virtual address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// [`Registration::local_key`](super::Registration::local_key) of the region that it lies in.
    pub key: u32,
}

/// The local memory of a post with one segment. With its key it is a [`Segment`]; the two are passed
/// separately, so that both fit into registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Its virtual address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Buffer {
    /// The segment with that key.
    #[inline(always)]
    #[must_use]
    pub const fn with_key(self, key: u32) -> Segment {
        Segment { address: self.address, length: self.length, key }
    }
}

/// The memory of the peer that an RDMA operation with one segment accesses; it has the length of the
/// segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteBuffer {
    /// Its virtual address in the peer.
    pub address: u64,
    /// The context that the peer gave out for it.
    pub context: u32,
}

impl RemoteBuffer {
    /// The triplet of that length.
    #[inline(always)]
    #[must_use]
    pub const fn with_length(self, length: u64) -> RmrTriplet {
        RmrTriplet { address: self.address, length, context: self.context }
    }
}

/// A receive to post.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRequest<'a> {
    /// The buffers for the message, in order.
    pub segments: &'a [Segment],
    /// Returned in the completion.
    pub cookie: u64,
    /// How it completes; `UNSIGNALLED` is the only flag that a receive has.
    pub flags: CompletionFlags,
    /// The registration epoch in which the segments were checked.
    pub checked: Epoch,
}

/// The operation of a request. The discriminant takes eight bytes, so that the fields after it are
/// copied in whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
#[non_exhaustive]
pub enum Work {
    /// Sends the segments as a message.
    Send,
    /// Sends the segments as a message with immediate data. DAT has no such operation: providers may not support it,
    /// and the core does not post it.
    SendImmediate {
        /// The value that the completion of the receive carries.
        immediate: u32,
    },
    /// Sends the segments as a message and invalidates a window of the peer.
    SendInvalidate {
        /// The key of the window.
        key: u32,
    },
    /// Writes the segments to the peer's memory.
    RdmaWrite {
        /// The destination.
        remote: RmrTriplet,
    },
    /// Writes the segments to the peer's memory, then completes a receive of the peer.
    RdmaWriteImmediate {
        /// The destination.
        remote: RmrTriplet,
        /// The value that the completion of the receive carries.
        immediate: u32,
    },
    /// Reads from the peer's memory into the segments.
    RdmaRead {
        /// The source.
        remote: RmrTriplet,
    },
    /// Reads from the peer's memory into local memory that is named by a remote key.
    RdmaReadToRmr {
        /// The destination.
        local: RmrTriplet,
        /// The source.
        remote: RmrTriplet,
    },
    /// Atomically adds to eight bytes of the peer's memory; the segment receives the old value.
    FetchAdd {
        /// The number added, modulo 2^64.
        add: u64,
        /// The eight bytes, aligned to eight.
        remote: RmrTriplet,
    },
    /// Atomically replaces eight bytes of the peer's memory if they hold the expected value; the
    /// segment receives the old value.
    CompareSwap {
        /// The expected value.
        compare: u64,
        /// The new value.
        swap: u64,
        /// The eight bytes, aligned to eight.
        remote: RmrTriplet,
    },
}

impl Work {
    /// The operation that its completion reports.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Send | Self::SendImmediate { .. } | Self::SendInvalidate { .. } => {
                Operation::Send
            }
            Self::RdmaWrite { .. } => Operation::RdmaWrite,
            Self::RdmaWriteImmediate { .. } => Operation::RdmaWriteImmediate,
            Self::RdmaRead { .. } | Self::RdmaReadToRmr { .. } => Operation::RdmaRead,
            Self::FetchAdd { .. } => Operation::FetchAdd,
            Self::CompareSwap { .. } => Operation::CompareSwap,
        }
    }
}

/// A request to post.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The operation.
    pub work: Work,
    /// The local segments, in order.
    pub segments: &'a [Segment],
    /// Total length of the segments, in bytes.
    pub length: u64,
    /// Returned in the completion.
    pub cookie: u64,
    /// How it completes.
    pub flags: CompletionFlags,
    /// The registration epoch in which the segments were checked.
    pub checked: Epoch,
}

/// A bind of a memory window to post.
#[derive(Clone, Copy)]
pub struct BindRequest<'a> {
    /// The window.
    pub window: &'a dyn MemoryWindow,
    /// The region that the window gives access to; ignored if `length` is 0.
    pub region: Option<&'a dyn MemoryRegion>,
    /// The first address that the peer may access.
    pub address: u64,
    /// How the peer names that address: by itself, as for DAT, or by another one, such as 0.
    pub remote_address: u64,
    /// Number of bytes that the peer may access; 0 closes the window.
    pub length: u64,
    /// The accesses that the peer may make.
    pub privileges: Privileges,
    /// The new key, with the upper 24 bits of the [reserved one](crate::verbs::VerbsWindow::reserve_key). Nothing if
    /// the provider chooses it, as for DAT.
    pub key: Option<u32>,
    /// Returned in the completion.
    pub cookie: u64,
    /// How it completes.
    pub flags: CompletionFlags,
}

impl std::fmt::Debug for BindRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BindRequest")
            .field("address", &self.address)
            .field("length", &self.length)
            .field("privileges", &self.privileges)
            .finish_non_exhaustive()
    }
}
