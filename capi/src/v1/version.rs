//! The calls of DAT 1.2 that differ from those of DAT 2.0.

use std::ptr::null_mut;

use dat_core::error::Subtype;

use crate::abi::*;
use crate::call;
use crate::call::lmr::CreateCall;
use crate::call::rmr::BindCall;
use crate::result::CallResult;

/// No memory of an adapter outlives its close.
pub(crate) fn adapter_closed(_number: u64) {}

/// An adapter of a C provider was opened; DAT 1.2 need not examine it.
pub(crate) fn foreign_opened(_table: &DAT_PROVIDER, _ia: DAT_IA_HANDLE) {}

/// Rejects a connection request; DAT 1.2 passes no private data.
///
/// # Safety
/// The conditions of dat_cr_reject(3DAT).
pub(crate) unsafe fn cr_reject(cr_handle: DAT_CR_HANDLE) -> CallResult {
    // SAFETY: no data needs no memory.
    unsafe { call::cr::reject(cr_handle, 0, null_mut()) }
}

/// Registers memory.
///
/// # Safety
/// The conditions of dat_lmr_create(3DAT).
pub(crate) unsafe fn lmr_create(
    ia_handle: DAT_IA_HANDLE,
    mem_type: DAT_MEM_TYPE,
    region_desc: DAT_REGION_DESCRIPTION,
    length: DAT_VLEN,
    pz_handle: DAT_PZ_HANDLE,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    lmr_handle: *mut DAT_LMR_HANDLE,
    lmr_context: *mut DAT_LMR_CONTEXT,
    rmr_context: *mut DAT_RMR_CONTEXT,
    registered_length: *mut DAT_VLEN,
    registered_address: *mut DAT_VADDR,
) -> CallResult {
    let call = CreateCall {
        ia_handle,
        mem_type,
        region_desc,
        length,
        pz_handle,
        mem_priv,
        lmr_handle,
        lmr_context,
        rmr_context,
        registered_length,
        registered_address,
        first_out: 7,
    };
    // SAFETY: the caller keeps the contract of dat_lmr_create(3DAT), which `make` requires.
    unsafe { call.make() }
}

/// Binds a remote memory region.
///
/// # Safety
/// The conditions of dat_rmr_bind(3DAT).
pub(crate) unsafe fn rmr_bind(
    rmr_handle: DAT_RMR_HANDLE,
    lmr_triplet: *const DAT_LMR_TRIPLET,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    ep_handle: DAT_EP_HANDLE,
    user_cookie: DAT_RMR_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    rmr_context: *mut DAT_RMR_CONTEXT,
) -> CallResult {
    let call = BindCall {
        rmr_handle,
        lmr: None,
        lmr_triplet,
        mem_priv,
        ep_handle,
        user_cookie,
        completion_flags,
        rmr_context,
        arguments: (2, 7),
    };
    // SAFETY: the caller keeps the contract of dat_rmr_bind(3DAT), which `post` requires.
    unsafe { call.post() }.map_err(|error| {
        // The core numbers the arguments as DAT 2.0 does: there the local region precedes the
        // triplet, and the type of addresses precedes the endpoint.
        let subtype = match error.subtype() {
            Subtype::InvalidArg3 => Subtype::InvalidArg2,
            Subtype::InvalidArg8 => Subtype::InvalidArg6,
            other => other,
        };
        error.with_subtype(subtype)
    })
}
