//! Protection zones.

use std::sync::Arc;

use crate::error::{Result, Subtype};
use crate::ia::{Ia, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::ProtectionDomain;

/// A protection zone (dat_pz_create(3DAT)): an endpoint can access only memory of its own zone.
///
/// ```
/// use dat_core::error::ReturnType;
/// use dat_core::{EpSpec, Memory, Privileges};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let (one, other) = (ia.pz_create()?, ia.pz_create()?);
/// let ep = ia.ep_create(&EpSpec::new(&one))?;
/// let lmr = ia.lmr_create(&Memory::zeroed(64)?, &other, Privileges::ALL)?;
/// let error = ep.receive(&[lmr.triplet(0, 64)?], 1).unwrap_err();
/// assert!(error.is(ReturnType::ProtectionViolation), "{error}");
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Pz {
    inner: Arc<PzInner>,
}

pub(crate) struct PzInner {
    pub(crate) base: Base,
    /// Its number in the region table; see [`RegionTable`](dat_sync::region_table).
    pub(crate) owner: u32,
    pub(crate) domain: Arc<dyn ProtectionDomain>,
}

object_handle!(Pz, shared PzInner);

impl Ia {
    /// Creates a protection zone (dat_pz_create(3DAT)).
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the adapter has no resources left; `DAT_INVALID_HANDLE` when
    /// it was closed.
    pub fn pz_create(&self) -> Result<Pz> {
        const CREATE: &str = "dat_pz_create";
        let adapter = self.inner().adapter(CREATE)?;
        let base = self.inner().new_object(ObjectKind::Pz, CREATE)?;
        let domain =
            adapter.create_domain().map_err(|error| self.inner().describe(error, CREATE))?;
        let owner = self.inner().regions.add_owner(base.id);
        let inner = Arc::new(PzInner { base, owner, domain });
        self.inner().insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Pz { inner })
    }
}

impl Pz {
    /// Frees the zone (dat_pz_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while memory regions, endpoints or shared receive queues belong to
    /// it; `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.base.retire("dat_pz_free", Subtype::InvalidStatePzInUse)?;
        self.inner.base.leave();
        Ok(())
    }
}

impl Object for PzInner {
    const KIND: ObjectKind = ObjectKind::Pz;

    fn abandon(&self) {
        self.base.lifecycle.force();
        self.base.leave();
    }
}

impl Drop for PzInner {
    /// Regions and endpoints of the zone hold it, so none are left.
    fn drop(&mut self) {
        self.base.ia.regions.remove_owner(self.owner);
    }
}
