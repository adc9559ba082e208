//! The calls of DAT 2.0 that differ from those of DAT 1.2.

use dat_core::error::{Error, Result, ReturnType, Subtype};

use crate::abi::*;
use crate::argument::invalid;
use crate::call::lmr::CreateCall;
use crate::call::rmr::BindCall;
pub(crate) use crate::call_v2::adapter_closed;
pub(crate) use crate::call_v2::foreign_extension::note_extensions as foreign_opened;
use crate::handle::object;
use crate::result::CallResult;

fn check_va_type(va_type: DAT_VA_TYPE, argument: u32) -> Result<()> {
    match va_type {
        DAT_VA_TYPE_VA => Ok(()),
        DAT_VA_TYPE_ZB => Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because("no provider supports zero-based addresses")
            .advise("use DAT_VA_TYPE_VA; zb_supported of the adapter says so")),
        other => Err(invalid(argument, format!("invalid DAT_VA_TYPE value {other:#x}"))),
    }
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
    va_type: DAT_VA_TYPE,
    lmr_handle: *mut DAT_LMR_HANDLE,
    lmr_context: *mut DAT_LMR_CONTEXT,
    rmr_context: *mut DAT_RMR_CONTEXT,
    registered_length: *mut DAT_VLEN,
    registered_address: *mut DAT_VADDR,
) -> CallResult {
    check_va_type(va_type, 7)?;
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
        first_out: 8,
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
    lmr_handle: DAT_LMR_HANDLE,
    lmr_triplet: *const DAT_LMR_TRIPLET,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    va_type: DAT_VA_TYPE,
    ep_handle: DAT_EP_HANDLE,
    user_cookie: DAT_RMR_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    rmr_context: *mut DAT_RMR_CONTEXT,
) -> CallResult {
    check_va_type(va_type, 5)?;
    let call = BindCall {
        rmr_handle,
        lmr: Some(object(lmr_handle)?),
        lmr_triplet,
        mem_priv,
        ep_handle,
        user_cookie,
        completion_flags,
        rmr_context,
        arguments: (3, 9),
    };
    // SAFETY: the caller keeps the contract of dat_rmr_bind(3DAT), which `post` requires.
    unsafe { call.post() }
}
