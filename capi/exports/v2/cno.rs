//! The calls for notification objects, as DAT 2.0 has them.

use super::*;

calls! {
    grow fn dat_cno_fd_create(
        ia_handle: DAT_IA_HANDLE,
        fd: *mut DAT_FD,
        cno_handle: *mut DAT_CNO_HANDLE,
    ) = call_v2::cno::fd_create, cno_fd_create_func: DAT_CNO_FD_CREATE_FUNC of adapter
        undo dat_cno_free(cno_handle);

    guard fn dat_cno_trigger(cno_handle: DAT_CNO_HANDLE, evd_handle: *mut DAT_EVD_HANDLE)
        = call_v2::cno::trigger, cno_trigger_func: DAT_CNO_TRIGGER_FUNC of object;
}
