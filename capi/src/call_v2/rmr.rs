//! Remote memory regions for one endpoint.

use dat_core::Ia;

use super::*;
use crate::call::rmr::create_with;

pub(crate) unsafe fn create_for_ep(
    pz_handle: DAT_PZ_HANDLE,
    rmr_handle: *mut DAT_RMR_HANDLE,
) -> CallResult {
    // SAFETY: the caller guarantees writable memory for the handle, unless the check rejects it.
    unsafe { create_with(pz_handle, rmr_handle, Ia::rmr_create_for_ep) }
}
