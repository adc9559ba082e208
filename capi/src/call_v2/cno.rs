//! Notification objects with a descriptor.

use std::os::fd::AsRawFd;

use dat_core::Cno;

use super::*;

pub(crate) unsafe fn fd_create(
    ia_handle: DAT_IA_HANDLE,
    fd: *mut DAT_FD,
    cno_handle: *mut DAT_CNO_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let fd_out = unsafe { out(fd, 2) }?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(cno_handle, 3) }?;
    let cno = ia.cno_fd_create()?;
    fd_out.write(cno.fd()?.as_raw_fd());
    let handle = handle::attach(cno, adapters::table(&ia));
    handle::with_storage(handle, |kept| kept.more.has_fd = true);
    output.write(handle);
    OK
}

pub(crate) unsafe fn trigger(
    cno_handle: DAT_CNO_HANDLE,
    evd_handle: *mut DAT_EVD_HANDLE,
) -> CallResult {
    let cno: Cno = object(cno_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(evd_handle, 2) }?;
    let evd = cno.trigger()?;
    output.write(evd.map_or(DAT_HANDLE_NULL, |evd| handle::of_number(evd.id())));
    OK
}
