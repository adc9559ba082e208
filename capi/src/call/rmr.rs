//! Remote memory regions.

use dat_core::{Bind, CompletionFlags, Lmr, Privileges, Rmr};

use super::*;
use crate::convert::memory::{local_from_c, rmr_param_to_c};

pub(crate) unsafe fn create(
    pz_handle: DAT_PZ_HANDLE,
    rmr_handle: *mut DAT_RMR_HANDLE,
) -> CallResult {
    // SAFETY: the caller guarantees writable memory for the handle, unless the check rejects it.
    unsafe { create_with(pz_handle, rmr_handle, Ia::rmr_create) }
}

/// Creates a remote memory region of either scope.
///
/// # Safety
/// As for [`create`].
pub(crate) unsafe fn create_with(
    pz_handle: DAT_PZ_HANDLE,
    rmr_handle: *mut DAT_RMR_HANDLE,
    make: impl FnOnce(&Ia, &Pz) -> Result<Rmr>,
) -> CallResult {
    let pz: Pz = object(pz_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(rmr_handle, 2) }?;
    let ia = pz.adapter();
    output.write(handle::attach(make(&ia, &pz)?, adapters::table(&ia)));
    OK
}

query_call! { Rmr as DAT_RMR_PARAM, DAT_RMR_FIELD_ALL: |rmr, rmr_handle| {
    let ia_handle = adapters::handle_of(&rmr.adapter());
    let param = rmr.query()?;
    rmr_param_to_c(ia_handle, &param)
}}

/// Binds a remote memory region.
///
/// # Safety
/// The addresses of the triplet and of the context are valid, or rejected by the check.
pub(crate) unsafe fn bind(
    rmr_handle: DAT_RMR_HANDLE,
    #[cfg(dat2)] lmr_handle: DAT_LMR_HANDLE,
    lmr_triplet: *const DAT_LMR_TRIPLET,
    mem_priv: DAT_MEM_PRIV_FLAGS,
    #[cfg(dat2)] va_type: DAT_VA_TYPE,
    ep_handle: DAT_EP_HANDLE,
    user_cookie: DAT_RMR_COOKIE,
    completion_flags: DAT_COMPLETION_FLAGS,
    rmr_context: *mut DAT_RMR_CONTEXT,
) -> CallResult {
    /// The positions of the triplet and the context among the arguments.
    const ARGUMENTS: (u32, u32) = by_version! { { (2, 7) } { (3, 9) } };
    #[cfg(dat2)]
    crate::version::check_va_type(va_type, 5)?;
    #[cfg(dat2)]
    let lmr: Lmr = object(lmr_handle)?;
    let rmr: Rmr = object(rmr_handle)?;
    let endpoint: Ep = object(ep_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let triplet = unsafe { given(lmr_triplet, ARGUMENTS.0) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(rmr_context, ARGUMENTS.1) }?;
    let triplet = local_from_c(triplet);
    // DAT 1.2 names the local region only by its context.
    #[cfg(not(dat2))]
    let lmr: Lmr = rmr
        .adapter()
        .lmr_by_context(triplet.context)
        .ok_or_else(|| invalid(ARGUMENTS.0, "no region has this context"))?;
    let bind = Bind {
        lmr: &lmr,
        triplet,
        privileges: Privileges::from_bits_retain(mem_priv),
        // SAFETY: every member of the union has eight bytes, and any bit pattern is valid.
        cookie: unsafe { user_cookie.as_64 },
        flags: CompletionFlags::from_bits_retain(completion_flags),
    };
    let bound = rmr.bind(&endpoint, &bind);
    // The core numbers the arguments as DAT 2.0 does: there the local region precedes the triplet, and the type of
    // addresses precedes the endpoint.
    #[cfg(not(dat2))]
    let bound = bound.map_err(|error| {
        let subtype = match error.subtype() {
            Subtype::InvalidArg3 => Subtype::InvalidArg2,
            Subtype::InvalidArg8 => Subtype::InvalidArg6,
            other => other,
        };
        error.with_subtype(subtype)
    });
    output.write(bound?);
    OK
}

end_call! { Rmr }
