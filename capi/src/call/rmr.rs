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

/// The arguments of a bind, in either version of the API.
pub(crate) struct BindCall {
    pub(crate) rmr_handle: DAT_RMR_HANDLE,
    /// The local region; DAT 1.2 names it only by its context.
    pub(crate) lmr: Option<Lmr>,
    pub(crate) lmr_triplet: *const DAT_LMR_TRIPLET,
    pub(crate) mem_priv: DAT_MEM_PRIV_FLAGS,
    pub(crate) ep_handle: DAT_EP_HANDLE,
    pub(crate) user_cookie: DAT_RMR_COOKIE,
    pub(crate) completion_flags: DAT_COMPLETION_FLAGS,
    pub(crate) rmr_context: *mut DAT_RMR_CONTEXT,
    /// The positions of the triplet and the context among the arguments.
    pub(crate) arguments: (u32, u32),
}

impl BindCall {
    /// Posts the bind.
    ///
    /// # Safety
    /// The addresses of the triplet and of the context are valid, or rejected by the check.
    pub(crate) unsafe fn post(self) -> CallResult {
        let rmr: Rmr = object(self.rmr_handle)?;
        let endpoint: Ep = object(self.ep_handle)?;
        // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
        let triplet = unsafe { given(self.lmr_triplet, self.arguments.0) }?;
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let output = unsafe { out(self.rmr_context, self.arguments.1) }?;
        let triplet = local_from_c(triplet);
        let lmr = match self.lmr {
            Some(lmr) => lmr,
            None => rmr
                .adapter()
                .lmr_by_context(triplet.context)
                .ok_or_else(|| invalid(self.arguments.0, "no region has this context"))?,
        };
        let bind = Bind {
            lmr: &lmr,
            triplet,
            privileges: Privileges::from_bits_retain(self.mem_priv),
            // SAFETY: every member of the union has eight bytes, and any bit pattern is valid.
            cookie: unsafe { self.user_cookie.as_64 },
            flags: CompletionFlags::from_bits_retain(self.completion_flags),
        };
        output.write(rmr.bind(&endpoint, &bind)?);
        OK
    }
}

end_call! { Rmr }
