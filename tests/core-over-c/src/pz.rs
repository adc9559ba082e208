//! Protection zones.

use std::ptr::null_mut;

use real::error::Result;

use super::InterfaceAdapter;
use super::handle_type::{Handle as _, handle};
use super::result::call;

handle! {
    /// A protection zone (dat_pz_create(3DAT)).
    ProtectionZone = Pz
}

impl InterfaceAdapter {
    /// dat_pz_create(3DAT).
    pub fn pz_create(&self) -> Result<ProtectionZone> {
        let mut pz = null_mut();
        call!(table.pz_create_func(self.handle(), &raw mut pz))?;
        Ok(ProtectionZone::made_of(pz, self.adapter()))
    }
}

impl ProtectionZone {
    /// dat_pz_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
