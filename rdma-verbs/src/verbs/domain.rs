//! Protection domains.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{Context, Error, Owner, Result, library, object};
use crate::sys::verbs::ibv_pd;

object! {
    /// A protection domain (ibv_alloc_pd(3)): queue pairs can use only memory, windows and address
    /// handles of their own domain.
    ProtectionDomain(ibv_pd) {
        context: Context,
        owner: Option<Owner>,
        /// The domain whose objects it can use: itself, or the one that a parent domain extends.
        base: NonNull<ibv_pd>,
        /// The domains that a parent domain refers to, which are freed after it.
        _extends: Option<(Arc<ProtectionDomain>, Option<Owner>)>,
    }
}

impl ProtectionDomain {
    /// Allocates a domain on the device.
    ///
    /// # Errors
    /// `ENOMEM`: the device has no domain left.
    pub fn new(context: &Context) -> Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = unsafe { (library!(verbs).ibv_alloc_pd)(context.raw()) };
        match NonNull::new(raw) {
            Some(raw) => {
                let context = context.clone();
                Ok(Arc::new(Self { raw, context, owner: None, base: raw, _extends: None }))
            }
            None => Err(Error::last("ibv_alloc_pd")),
        }
    }

    /// Wraps a parent domain that was just allocated and extends that domain; it keeps the other
    /// object alive too.
    pub(super) fn extending(
        raw: NonNull<ibv_pd>,
        domain: &Arc<Self>,
        other: Option<Owner>,
    ) -> Arc<Self> {
        let (context, base) = (domain.context.clone(), domain.base);
        let _extends = Some((Arc::clone(domain), other));
        Arc::new(Self { raw, context, owner: None, base, _extends })
    }

    /// Returns true if it is a parent domain.
    pub(super) fn is_parent(&self) -> bool {
        self.raw != self.base
    }

    /// Wraps a domain that belongs to another object.
    ///
    /// # Safety
    /// It must live as long as its owner.
    pub(crate) unsafe fn owned_by(
        raw: NonNull<ibv_pd>,
        context: Context,
        owner: Owner,
    ) -> Arc<Self> {
        Arc::new(Self { raw, context, owner: Some(owner), base: raw, _extends: None })
    }

    /// The device of the domain.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// Handles are equal if they refer to the same domain: each identifier has its own handle of the
/// default domain of its device, and a parent domain refers to the domain that it extends.
impl PartialEq for ProtectionDomain {
    fn eq(&self, other: &Self) -> bool {
        self.base == other.base
    }
}

impl Eq for ProtectionDomain {}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: this crate allocated it; its objects keep it alive, so they are gone; it is
            // freed once.
            let _ = unsafe { (library!(verbs).ibv_dealloc_pd)(self.raw()) };
        }
    }
}
