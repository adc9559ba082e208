//! The devices of the connection manager (rdma_get_devices(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use dat_sync::{Mutex, PerProcess};
use rdma_verbs::sys::verbs::{ibv_context, ibv_pd};

use crate::guard::{self, Failure, Result};
use crate::verbs::context::{self, ibv_open_device};
use crate::verbs::device::{ibv_free_device_list, ibv_get_device_list};
use crate::verbs::domain::ibv_alloc_pd;

/// The open device of the connection manager, with its default domain. It stays open, as in librdmacm.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    pub(super) context: *mut ibv_context,
    pub(super) domain: *mut ibv_pd,
}

impl Opened {
    pub(super) fn core(&self) -> &'static dat_soft_verbs::Context {
        // SAFETY: the device of the connection manager stays open.
        unsafe { context::core(self.context) }
    }
}

// SAFETY: any thread may use the objects of verbs.
unsafe impl Send for Opened {}

static OPENED: PerProcess<Mutex<Option<Opened>>> = PerProcess::new();

/// The device, which is opened by the first call.
pub(super) fn opened() -> Result<Opened> {
    let mut opened = OPENED.get().lock();
    if let Some(opened) = *opened {
        return Ok(opened);
    }
    let new = open()?;
    *opened = Some(new);
    Ok(new)
}

fn open() -> Result<Opened> {
    // As in librdmacm, whatever the reason.
    let list = guard::made(ibv_get_device_list(None)).map_err(|_| Failure(libc::ENODEV))?;
    // SAFETY: the list ends with null.
    let first = unsafe { *list };
    if first.is_null() {
        return Err(Failure(libc::ENODEV));
    }
    // SAFETY: the device comes from the list.
    let context = guard::made(unsafe { ibv_open_device(first) });
    // SAFETY: the list comes from the call above.
    unsafe { ibv_free_device_list(list) };
    let context = context?;
    // SAFETY: the context is open.
    let domain = guard::made(unsafe { ibv_alloc_pd(context) })?;
    Ok(Opened { context, domain })
}

/// A list of the open devices that ends with null, and their number if the pointer is not null.
#[unsafe(no_mangle)]
pub extern "C" fn soft_rdma_get_devices(
    count: Option<&mut MaybeUninit<c_int>>,
) -> *mut *mut ibv_context {
    guard::object(|| {
        let list = Box::new([opened()?.context, null_mut()]);
        if let Some(count) = count {
            count.write(1);
        }
        Ok(Box::into_raw(list).cast())
    })
}

/// Frees a list of [`soft_rdma_get_devices`]. The devices stay open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_free_devices(list: *mut *mut ibv_context) {
    if !list.is_null() {
        // SAFETY: the caller guarantees a list of that call, which has two elements.
        drop(unsafe { Box::from_raw(list.cast::<[*mut ibv_context; 2]>()) });
    }
}
