//! Registered memory and its windows, as verbs need them.

use super::only_dat::OnlyDat;
use crate::error::Result;
use crate::flags::Privileges;
use crate::mem::Span;
use crate::{ProtectionDomain, Registration, unsupported};

/// A protection domain, as verbs need it.
pub trait VerbsDomain {
    /// Registers memory whose first byte the peer names by `address`. The local key names it by its own addresses. The
    /// remote key differs from the local one, unless `address` is its own.
    ///
    /// # Errors
    /// As [`register`](ProtectionDomain::register); `DAT_MODEL_NOT_SUPPORTED` if the provider has no other addresses (the default).
    fn register_at(
        &self,
        _span: Span,
        _address: u64,
        _privileges: Privileges,
    ) -> Result<Registration> {
        Err(unsupported("registration of memory under other addresses"))
    }
}

/// Registered memory, as verbs need it.
pub trait VerbsRegion {
    /// Registers other memory, in any domain of the adapter, under the same local key; the peer names its first byte by
    /// `address`. The remote key equals the local one if `address` is the address of the memory. This region is
    /// deregistered, also if that fails. Until the return, the keys name nothing.
    ///
    /// # Errors
    /// As [`deregister`](crate::MemoryRegion::deregister); `DAT_MODEL_NOT_SUPPORTED`, without effect, if the provider cannot keep keys
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

/// A memory window, as verbs need it.
pub trait VerbsWindow {
    /// Reserves keys for the window that differ in their last byte, and returns one of them. It names nothing; a
    /// [bind](crate::BindRequest::key) chooses one. A second call returns the same.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider chooses the key of each bind (the default).
    fn reserve_key(&self) -> Result<u32> {
        Err(unsupported("keys of memory windows that the consumer chooses"))
    }
}

impl VerbsDomain for OnlyDat {}

impl VerbsRegion for OnlyDat {}

impl VerbsWindow for OnlyDat {}
