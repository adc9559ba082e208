//! Protection zones.

use dat_core::ProtectionZone;
use dat_core::error::Subtype;

use crate::abi::*;
use crate::adapters;
use crate::answer::{Answer, DONE};
use crate::argument::{mask, out};
use crate::handle::{self, object};

const HANDLE: Subtype = Subtype::InvalidHandlePz;

pub(crate) unsafe fn create(ia_handle: DAT_IA_HANDLE, pz_handle: *mut DAT_PZ_HANDLE) -> Answer {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let place = unsafe { out(pz_handle, 2) }?;
    place.write(handle::attach(ia.pz_create()?, adapters::table(&ia)));
    DONE
}

pub(crate) unsafe fn query(
    pz_handle: DAT_PZ_HANDLE,
    pz_param_mask: DAT_PZ_PARAM_MASK,
    pz_param: *mut DAT_PZ_PARAM,
) -> Answer {
    let pz: ProtectionZone = object(pz_handle, HANDLE)?;
    mask(pz_param_mask, DAT_PZ_FIELD_ALL, 2)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let place = unsafe { out(pz_param, 3) }?;
    place.write(DAT_PZ_PARAM { ia_handle: adapters::handle_of(&pz.adapter()) });
    DONE
}

pub(crate) unsafe fn free(pz_handle: DAT_PZ_HANDLE) -> Answer {
    object::<ProtectionZone>(pz_handle, HANDLE)?.free()?;
    handle::reclaim();
    DONE
}
