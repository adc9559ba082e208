//! Protection domains, and the memory registered in them.

use std::fmt;
use std::sync::Arc;

use super::{Downcast, unsupported};
use crate::error::Result;
use crate::flags::Privileges;
use crate::mem::Span;
use crate::verbs::{OnlyDat, VerbsDomain, VerbsRegion, VerbsWindow};

/// A protection domain.
pub trait ProtectionDomain: Downcast {
    /// Registers memory.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` with the limit that was reached, `DAT_INVALID_PARAMETER` if the
    /// range is not memory of the process.
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration>;

    /// The part for programs of verbs. By default, it is not supported.
    fn for_verbs(&self) -> &dyn VerbsDomain {
        &OnlyDat
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

    /// The part for programs of verbs. By default, it is not supported.
    fn for_verbs(&self) -> &dyn VerbsRegion {
        &OnlyDat
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
    /// The part for programs of verbs. By default, it is not supported.
    fn for_verbs(&self) -> &dyn VerbsWindow {
        &OnlyDat
    }
}
