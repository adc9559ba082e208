//! Address handles: where datagrams go.

use std::ptr::NonNull;
use std::sync::Arc;

use super::memory::handle;
use super::{Failure, ProtectionDomain, Result, library};
use crate::sys::verbs::{ibv_ah, ibv_ah_attr};

handle! {
    /// A way to a port of the fabric (ibv_create_ah(3)).
    AddressHandle(ibv_ah) { domain: Arc<ProtectionDomain> }
}

impl AddressHandle {
    /// The handle of that way, for queue pairs of the domain.
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, way: &ibv_ah_attr) -> Result<Arc<Self>> {
        let mut way = *way;
        // SAFETY: the domain is alive and the attributes a copy.
        let raw = unsafe { (library!(verbs).ibv_create_ah)(domain.raw(), &raw mut way) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw, domain: Arc::clone(domain) })),
            None => Err(Failure::last("ibv_create_ah")),
        }
    }

    pub(crate) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: it is ours and destroyed once; whoever posted with it kept it until the
        // completion.
        let _ = unsafe { (library!(verbs).ibv_destroy_ah)(self.raw()) };
    }
}
