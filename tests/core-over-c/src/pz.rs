//! Protection zones.

use std::ptr::null_mut;

use real::error::Result;

use super::Ia;
use super::handle_type::{Handle as _, handle};
use super::result::call;

handle! {
    /// A protection zone (dat_pz_create(3DAT)).
    Pz = Pz
}

impl Ia {
    /// dat_pz_create(3DAT).
    pub fn pz_create(&self) -> Result<Pz> {
        let mut pz = null_mut();
        call!(table.pz_create_func(self.handle(), &raw mut pz))?;
        Ok(Pz::made_of(pz, self.adapter()))
    }
}

impl Pz {
    /// dat_pz_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
