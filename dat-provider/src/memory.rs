//! Protection domains, and the memory registered in them.

use std::any::Any;
use std::sync::Arc;

use super::unsupported;
use crate::error::Result;
use crate::flags::Privileges;
use crate::mem::Span;

/// A protection domain.
pub trait ProtectionDomain: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;

    /// Registers memory.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` with the limit that was met, `DAT_INVALID_PARAMETER` when
    /// the range is not memory of the process.
    fn register(&self, span: Span, privileges: Privileges) -> Result<Box<dyn MemoryRegion>>;

    /// Makes a memory window; `tag` comes back in the completions of its binds.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` where there is none (the default).
    fn create_window(&self, _tag: u64, _scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        Err(unsupported("memory window, which a remote memory region needs"))
    }
}

/// Registered memory.
pub trait MemoryRegion: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;

    /// The key by which segments of local operations name it.
    fn local_key(&self) -> u32;

    /// The key by which the peer names it; 0 when no remote privilege was given.
    fn remote_key(&self) -> u32;

    /// Takes the registration back. When this returns, no transfer touches the memory any
    /// more, and posts that name its keys fail with a protection error. A second call does
    /// nothing.
    ///
    /// # Errors
    /// What the device said; the memory may then still be in use.
    fn deregister(&self) -> Result<()>;
}

/// Through which connections a memory window can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowScope {
    /// Those of all queue pairs of its domain.
    Domain,
    /// That of the queue pair on which it was bound.
    QueuePair,
}

/// A memory window, which [`QueuePair::post_bind`](super::QueuePair::post_bind) binds.
pub trait MemoryWindow: Send + Sync {
    /// Itself, so that the provider finds its own type again.
    fn as_any(&self) -> &dyn Any;
}
