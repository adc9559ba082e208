//! The calls for notification objects, as DAT 2.0 has them.

use crate::abi::*;
use crate::call2;
use crate::guard;

/// Creates a notification object with a file descriptor (dat_cno_fd_create(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cno_fd_create(
    ia_handle: DAT_IA_HANDLE,
    fd: *mut DAT_FD,
    cno_handle: *mut DAT_CNO_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call2::cno::fd_create(ia_handle, fd, cno_handle) })
}

/// Triggers a notification object (dat_cno_trigger(3DAT)).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dat_cno_trigger(
    cno_handle: DAT_CNO_HANDLE,
    evd_handle: *mut DAT_EVD_HANDLE,
) -> DAT_RETURN {
    // SAFETY: the caller keeps the contract of the page; each pointer is checked before use.
    guard(|| unsafe { call2::cno::trigger(cno_handle, evd_handle) })
}
