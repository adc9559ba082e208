//! Memory windows (ibv_alloc_mw(3), ibv_bind_mw(3)).

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use dat_soft_verbs::{Access, SendFlags, Window, WindowBind, WindowType};
use rdma_verbs::sys::verbs::{
    IBV_MW_TYPE_1, IBV_MW_TYPE_2, ibv_mw, ibv_mw_bind, ibv_mw_bind_info, ibv_pd, ibv_qp,
};

use super::{domain, queue_pair, region};
use crate::guard::{self, invalid};
use crate::object::{self, fields_of, write_field};

#[repr(C)]
struct Mw {
    c: ibv_mw,
    core: Arc<Window>,
}

fields_of!(ibv_mw as Mw: core: Arc<Window>);

/// The memory to which a window is bound.
///
/// # Safety
/// The region of the bind, if there is one, must be alive.
pub(crate) unsafe fn bind_of<'a>(info: &ibv_mw_bind_info) -> WindowBind<'a> {
    let region = match info.mr.is_null() {
        true => None,
        // SAFETY: the caller guarantees a live region.
        false => Some(unsafe { region::core(info.mr) }),
    };
    let access = Access::from_bits_truncate(info.mw_access_flags);
    WindowBind { region, address: info.addr, length: info.length, access }
}

/// The operation of `ibv_alloc_mw`.
pub(crate) unsafe extern "C" fn allocate(pd: *mut ibv_pd, mw_type: c_uint) -> *mut ibv_mw {
    guard::object(|| {
        let kind = match mw_type {
            IBV_MW_TYPE_1 => WindowType::One,
            IBV_MW_TYPE_2 => WindowType::Two,
            _ => return Err(invalid(format!("cannot allocate a window of type {mw_type}"))),
        };
        // SAFETY: the caller guarantees a live domain.
        let core = unsafe { domain::core(pd) }.allocate_window(kind)?;
        // SAFETY: as above.
        let context = unsafe { domain::context(pd) };
        let c = ibv_mw { context, pd, rkey: core.remote_key(), handle: 0, mw_type };
        Ok(object::create(|_| Ok(Mw { c, core }))?.cast())
    })
}

/// The operation of `ibv_dealloc_mw`.
pub(crate) unsafe extern "C" fn deallocate(mw: *mut ibv_mw) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live window.
        unsafe { core(mw) }.deallocate()?;
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(mw.cast::<Mw>()) };
        Ok(())
    })
}

/// The operation of `ibv_bind_mw`, which gives the window its new key.
pub(crate) unsafe extern "C" fn bind(
    qp: *mut ibv_qp,
    mw: *mut ibv_mw,
    bind: *mut ibv_mw_bind,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees the structure.
        let bind = unsafe { &*bind };
        // SAFETY: the caller guarantees a live window.
        let window = unsafe { core(mw) };
        // SAFETY: the caller guarantees a live region.
        let to = unsafe { bind_of(&bind.bind_info) };
        let flags = SendFlags::from_bits_truncate(bind.send_flags);
        // SAFETY: the caller guarantees a live queue pair.
        let key = unsafe { queue_pair::core(qp) }.bind_window(window, bind.wr_id, flags, &to)?;
        write_field!(mw, rkey = key);
        Ok(())
    })
}
