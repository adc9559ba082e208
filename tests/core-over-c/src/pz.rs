//! Protection zones.

use std::ptr::null_mut;

use real::error::Result;

use super::InterfaceAdapter;
use super::library::call;
use super::object::{Handle as _, handle};

handle! {
    /// A protection zone (dat_pz_create(3DAT)).
    ProtectionZone = Pz
}

impl InterfaceAdapter {
    /// dat_pz_create(3DAT).
    ///
    /// # Errors
    /// The errors of the call.
    pub fn pz_create(&self) -> Result<ProtectionZone> {
        let mut pz = null_mut();
        call!(table.pz_create_func(self.handle(), &raw mut pz))?;
        Ok(ProtectionZone::made_of(pz, self.adapter()))
    }
}

impl ProtectionZone {
    /// dat_pz_free(3DAT).
    ///
    /// # Errors
    /// The errors of the call.
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
