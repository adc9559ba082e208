//! Calls that take a handle of any kind.

use real::ObjectKind;
use real::error::Result;

use super::result::call;
use crate::abi::*;
use crate::version;

/// The kind of the live object behind a handle.
pub(crate) fn kind_of(handle: DAT_HANDLE) -> Result<ObjectKind> {
    let mut kind: DAT_HANDLE_TYPE = 0;
    call!(table.get_handle_type_func(handle, &raw mut kind))?;
    Ok(match kind {
        DAT_HANDLE_TYPE_CR => ObjectKind::Cr,
        DAT_HANDLE_TYPE_EP => ObjectKind::Ep,
        DAT_HANDLE_TYPE_EVD => ObjectKind::Evd,
        DAT_HANDLE_TYPE_IA => ObjectKind::Ia,
        DAT_HANDLE_TYPE_LMR => ObjectKind::Lmr,
        DAT_HANDLE_TYPE_PSP => ObjectKind::Psp,
        DAT_HANDLE_TYPE_PZ => ObjectKind::Pz,
        DAT_HANDLE_TYPE_RMR => ObjectKind::Rmr,
        DAT_HANDLE_TYPE_RSP => ObjectKind::Rsp,
        DAT_HANDLE_TYPE_CNO => ObjectKind::Cno,
        DAT_HANDLE_TYPE_SRQ => ObjectKind::Srq,
        other => version::kind(other).unwrap_or_else(|| panic!("{other} is not a handle type")),
    })
}

/// Frees an object.
pub(crate) fn free(handle: DAT_HANDLE, kind: ObjectKind) -> Result<()> {
    match kind {
        ObjectKind::Cr => version::reject(handle, &[]),
        ObjectKind::Ep => call!(table.ep_free_func(handle)),
        ObjectKind::Evd => call!(table.evd_free_func(handle)),
        ObjectKind::Ia => unreachable!("adapters are closed, not freed"),
        ObjectKind::Lmr => call!(table.lmr_free_func(handle)),
        ObjectKind::Psp => call!(table.psp_free_func(handle)),
        ObjectKind::Pz => call!(table.pz_free_func(handle)),
        ObjectKind::Rmr => call!(table.rmr_free_func(handle)),
        ObjectKind::Rsp => call!(table.rsp_free_func(handle)),
        ObjectKind::Cno => call!(table.cno_free_func(handle)),
        ObjectKind::Srq => call!(table.srq_free_func(handle)),
        ObjectKind::Csp => version::csp_free(handle),
    }
}

/// The consumer context of an object; 0 if the call fails.
pub(crate) fn consumer_context(handle: DAT_HANDLE) -> u64 {
    let mut context = DAT_CONTEXT { as_64: 0 };
    // The call of the Rust API cannot fail either.
    let _ = call!(table.get_consumer_context_func(handle, &raw mut context));
    // SAFETY: every bit pattern is a valid integer.
    unsafe { context.as_64 }
}

/// Sets the consumer context of an object.
pub(crate) fn set_consumer_context(handle: DAT_HANDLE, context: u64) {
    let context = DAT_CONTEXT { as_64: context };
    // The call of the Rust API cannot fail either.
    let _ = call!(table.set_consumer_context_func(handle, context));
}
