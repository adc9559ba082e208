//! Objects and descriptors after `fork`.
//!
//! A child of `fork` does not keep the descriptors of the links of its parent ([`Private`]). Adapters use
//! [`OwnerProcess`] to detect that they were opened before the fork.

use dat_provider::error::{Error, Result};
pub use dat_sync::Private;
use dat_sync::Process;

/// The process in which an object was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerProcess(Process);

impl OwnerProcess {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        Self(Process::current())
    }

    /// Returns true if the current process is that process, and not a child of it.
    #[inline]
    #[must_use]
    pub fn is_current(self) -> bool {
        self.0.is_current()
    }

    /// Refuses a call in a child.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` in a child of that process.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(Error::other_process(self.0)) }
    }
}
