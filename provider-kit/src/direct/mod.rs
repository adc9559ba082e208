//! Direct access: a peer on the same machine reads and writes registered memory without the help of its owner.
//!
//! The owner publishes its regions on the [`page`], which a requester reads before it accesses memory. The owner grants
//! access to one connection at a time through a [`Gate`], which the requester passes for each access. To revoke rights,
//! it withdraws the region from the page and calls `revoke`; then no access that found the region is in progress.
//!
//! The same gate protects the source of an offered message: the [`Offer`] names the epoch of the gate in which its
//! extents are valid, and the requester fetches them only in that epoch.

mod grants;
pub mod page;

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;

use crate::frame::Remote;

pub use grants::{Gate, Grant, grant};
pub(crate) use grants::{RegistrationTime, has_offers, note_offer, revoke};

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From local memory to the peer's.
    Write,
    /// From the peer's memory to local memory.
    Read,
}

impl Direction {
    /// The privilege that the local memory needs.
    #[must_use]
    pub const fn local_privilege(self) -> Privileges {
        match self {
            Self::Write => Privileges::LOCAL_READ,
            Self::Read => Privileges::LOCAL_WRITE,
        }
    }

    /// The privilege that the memory of the peer needs.
    #[must_use]
    pub const fn remote_privilege(self) -> Privileges {
        match self {
            Self::Write => Privileges::REMOTE_WRITE,
            Self::Read => Privileges::REMOTE_READ,
        }
    }
}

/// An RDMA operation that is to be executed by direct access.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Read or write.
    pub direction: Direction,
    /// The memory of the peer.
    pub remote: Remote,
    /// Its length in bytes: the sum of all local spans.
    pub length: u64,
    /// The local memory, which has been validated.
    pub local: &'a [Span],
}

/// A range of the memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// A message that the peer offers for fetching from its memory.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The epoch of the peer's memory in which the extents are valid.
    pub epoch: u64,
    /// The location of the message.
    pub extents: &'a [Extent],
    /// The destination: validated spans of the same total length.
    pub local: &'a [Span],
}

/// The result of an attempt to execute an operation directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessResult {
    /// The operation is executed.
    Done,
    /// The peer has to execute the operation; part of it may be executed already.
    NotDirectly,
}
