//! The error of a call on an object of another process.

use dat_sync::Process;

use super::{Error, ReturnType, Subtype};

impl Error {
    /// A call in the child of a fork on an adapter of its parent, or on an object of that adapter.
    #[cold]
    #[must_use]
    pub fn other_process(owner: Process) -> Self {
        let (owner, here) = (owner.id(), std::process::id());
        Self::new(ReturnType::InvalidState, Subtype::NoSubtype)
            .because(format!(
                "the adapter belongs to process {owner}, from which this process, {here}, was forked"
            ))
            .advise("open the adapter in this process")
    }
}
