//! Protection domains, and the memory registered in them.

use std::fmt;
use std::sync::Arc;

use super::{Downcast, unsupported};
use crate::error::Result;
use crate::flags::Privileges;
use crate::mem::Span;

/// A protection domain.
pub trait ProtectionDomain: Downcast {
    /// Registers memory.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` with the limit that was reached, `DAT_INVALID_PARAMETER` if the
    /// range is not memory of the process.
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration>;

    /// Registers memory whose first byte the peer names by `address`. The local key names it by its own addresses. The
    /// remote key differs from the local one, unless `address` is its own.
    ///
    /// # Errors
    /// As [`register`](Self::register); `DAT_MODEL_NOT_SUPPORTED` if the provider has no other addresses (the default).
    fn register_at(
        &self,
        _span: Span,
        _address: u64,
        _privileges: Privileges,
    ) -> Result<Registration> {
        Err(unsupported("registration of memory under other addresses"))
    }

    /// Creates a memory window; its binds complete with `tag`.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has none (the default).
    fn create_window(&self, _tag: u64, _scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        Err(unsupported("memory window, which a remote memory region needs"))
    }
}

/// The result of a registration.
pub struct Registration {
    /// The registered memory.
    pub region: Box<dyn MemoryRegion>,
    /// The key that names it in segments of local operations. The provider guide describes how a
    /// transport with longer keys maps them.
    pub local_key: u32,
    /// The key that names it in operations of the peer; 0 if no remote privilege was given.
    pub remote_key: u32,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("local_key", &self.local_key)
            .field("remote_key", &self.remote_key)
            .finish_non_exhaustive()
    }
}

/// Registered memory.
pub trait MemoryRegion: Downcast {
    /// Revokes the registration. After the return no transfer touches the memory, and posts that
    /// name its keys fail with a protection error. A second call does nothing.
    ///
    /// # Errors
    /// The error of the device; the memory may then still be in use.
    fn deregister(&self) -> Result<()>;

    /// Registers other memory, in any domain of the adapter, under the same local key; the peer names its first byte by
    /// `address`. The remote key equals the local one if `address` is the address of the memory. This region is
    /// deregistered, also if that fails. Until the return, the keys name nothing.
    ///
    /// # Errors
    /// As [`deregister`](Self::deregister); `DAT_MODEL_NOT_SUPPORTED`, without effect, if the provider cannot keep keys
    /// (the default).
    fn reregister(
        &self,
        _domain: &dyn ProtectionDomain,
        _span: Span,
        _address: u64,
        _privileges: Privileges,
    ) -> Result<Registration> {
        Err(unsupported("registration of other memory under the same keys"))
    }
}

/// The connections through which a memory window can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowScope {
    /// Connections of all queue pairs of its domain.
    Domain,
    /// Only the connection of the queue pair on which it was bound.
    QueuePair,
}

/// A memory window, which [`QueuePair::post_bind`](super::QueuePair::post_bind) binds.
pub trait MemoryWindow: Downcast {
    /// Reserves keys for the window that differ in their last byte, and returns one of them. It names nothing; a
    /// [bind](super::BindRequest::key) chooses one. A second call returns the same.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider chooses the key of each bind (the default).
    fn reserve_key(&self) -> Result<u32> {
        Err(unsupported("keys of memory windows that the consumer chooses"))
    }
}
