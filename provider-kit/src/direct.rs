//! Direct access: a peer on the same machine reads and writes registered memory itself, and the owner of
//! the memory does nothing.
//!
//! The owner publishes its regions on the [`page`], which a requester reads before it accesses memory.
//! It grants access to one connection at a time through a [`Gate`], which the requester passes for each
//! access. To revoke rights, the owner withdraws the region from the page, calls `revoke`, and then no
//! access that found the region is in progress.

mod grants;
pub mod page;

use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;

use crate::frame::Remote;

pub use grants::{Gate, Grant, grant};
pub(crate) use grants::{Moment, revoke};

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From local memory to the peer's.
    Write,
    /// From the peer's memory to local memory.
    Read,
}

impl Direction {
    /// What the local memory must permit.
    #[must_use]
    pub const fn local_privilege(self) -> Privileges {
        match self {
            Self::Write => Privileges::LOCAL_READ,
            Self::Read => Privileges::LOCAL_WRITE,
        }
    }

    /// What the memory of the peer must permit.
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
    /// Its length in bytes, which is that of all local spans together.
    pub length: u64,
    /// The local memory, which was validated.
    pub local: &'a [Span],
}

/// The result of an attempt to execute an operation directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// The operation is executed.
    Done,
    /// The peer has to execute the operation; part of it may be executed already.
    NotDirectly,
    /// The operation failed.
    Failed(DtoStatus),
}
