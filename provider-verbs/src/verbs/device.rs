//! Devices, and what an open one says of itself.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Failure, Result, library, pointer_to_key};
use crate::sys::verbs::{self as sys, ibv_context, ibv_device, ibv_device_attr, ibv_port_attr};
use crate::sys::{LoadFailure, libraries};

/// A device of this machine.
pub(crate) struct DeviceEntry {
    _list: Arc<List>,
    raw: NonNull<ibv_device>,
    pub(crate) name: String,
}

struct List(NonNull<*mut ibv_device>);

// SAFETY: the list and its devices are never changed.
unsafe impl Send for List {}
// SAFETY: as for Send.
unsafe impl Sync for List {}
// SAFETY: as for the list, which it keeps.
unsafe impl Send for DeviceEntry {}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the list came from ibv_get_device_list and is freed once, here; no device of
        // it is used later, since entries keep it (ibv_get_device_list(3)).
        unsafe { (library!(verbs).ibv_free_device_list)(self.0.as_ptr()) };
    }
}

/// Every device, in the order of the library (ibv_get_device_list(3)).
///
/// # Errors
/// The libraries are not there, or the kernel has no RDMA support or gives no access: `ENOSYS`.
pub(crate) fn devices() -> std::result::Result<Result<Vec<DeviceEntry>>, &'static LoadFailure> {
    let verbs = &libraries()?.verbs;
    let mut count = 0;
    // SAFETY: the place of the count is valid.
    let list = unsafe { (verbs.ibv_get_device_list)(&raw mut count) };
    let Some(list) = NonNull::new(list) else {
        return Ok(Err(Failure::last("ibv_get_device_list")));
    };
    let list = Arc::new(List(list));
    let count = usize::try_from(count).unwrap_or(0);
    let entries = (0..count).filter_map(|index| {
        // SAFETY: the list has that many places.
        let place = unsafe { list.0.as_ptr().add(index) };
        // SAFETY: each holds a device that lives as long as the list.
        let raw = NonNull::new(unsafe { *place })?;
        // SAFETY: as above; the name is never changed.
        let name = text(unsafe { &raw.as_ref().name });
        Some(DeviceEntry { _list: Arc::clone(&list), raw, name })
    });
    Ok(Ok(entries.collect()))
}

/// A text in a place of fixed length.
fn text(place: &[c_char]) -> String {
    let bytes: Vec<u8> =
        place.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl DeviceEntry {
    /// Opens the device (ibv_open_device(3)).
    pub(crate) fn open(&self) -> Result<Context> {
        // SAFETY: the device lives as long as the list, which the entry keeps.
        let raw = unsafe { (library!(verbs).ibv_open_device)(self.raw.as_ptr()) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Context { inner: Arc::new(Inner { raw, opened: true }) }),
            None => Err(Failure::last("ibv_open_device")),
        }
    }
}

/// An open device.
#[derive(Clone)]
pub(crate) struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    raw: NonNull<ibv_context>,
    /// Whether it is ours to close: librdmacm keeps its own open (rdma_get_devices(3)).
    opened: bool,
}

// SAFETY: every call on a context is thread safe.
unsafe impl Send for Inner {}
// SAFETY: as for Send.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.opened {
            // SAFETY: it was opened by ibv_open_device, all its objects keep it and so are gone,
            // and it is closed once, here. A failure leaves it open, which harms nobody.
            let _ = unsafe { (library!(verbs).ibv_close_device)(self.raw.as_ptr()) };
        }
    }
}

/// What happened to an object or port of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsyncEvent {
    /// Of a queue pair, by its key.
    QueuePair { key: u64, event: u32 },
    /// Of a completion queue, by its key.
    CompletionQueue { key: u64 },
    /// Of a shared receive queue, by its key.
    SharedReceive { key: u64, event: u32 },
    /// Of a port.
    Port { port: u8, event: u32 },
    /// Of the device as a whole.
    Device { event: u32 },
}

impl Context {
    /// A context that librdmacm opened.
    ///
    /// # Safety
    /// It must stay open as long as the process.
    pub(crate) unsafe fn lent(raw: NonNull<ibv_context>) -> Self {
        Self { inner: Arc::new(Inner { raw, opened: false }) }
    }

    pub(crate) fn raw(&self) -> *mut ibv_context {
        self.inner.raw.as_ptr()
    }

    /// The name of the device.
    pub(crate) fn name(&self) -> String {
        // SAFETY: the context is open, and its device lives as long as it does.
        let device = unsafe { (*self.raw()).device };
        // SAFETY: as above; the name is never changed.
        text(unsafe { &(*device).name })
    }

    /// Whether it is an iWARP device.
    pub(crate) fn is_iwarp(&self) -> bool {
        // SAFETY: as for the name.
        let device = unsafe { (*self.raw()).device };
        // SAFETY: as above.
        unsafe { (*device).node_type == sys::IBV_NODE_RNIC }
    }

    /// The limits of the device (ibv_query_device(3)).
    pub(crate) fn query(&self) -> Result<ibv_device_attr> {
        let mut attributes = MaybeUninit::zeroed();
        // SAFETY: the context is open and the place has the type's size.
        let code =
            unsafe { (library!(verbs).ibv_query_device)(self.raw(), attributes.as_mut_ptr()) };
        Failure::check("ibv_query_device", code)?;
        // SAFETY: it was zeroed, which is a value of the type, and then filled.
        Ok(unsafe { attributes.assume_init() })
    }

    /// The state of a port (ibv_query_port(3)).
    pub(crate) fn query_port(&self, port: u8) -> Result<ibv_port_attr> {
        let mut attributes = MaybeUninit::zeroed();
        // SAFETY: as for the device; the function fills no more than its version of the type.
        let code =
            unsafe { (library!(verbs).ibv_query_port)(self.raw(), port, attributes.as_mut_ptr()) };
        Failure::check("ibv_query_port", code)?;
        // SAFETY: as for the device.
        Ok(unsafe { attributes.assume_init() })
    }

    /// The descriptor that is readable when there is an asynchronous event.
    pub(crate) fn async_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the context is open.
        let fd = unsafe { (*self.raw()).async_fd };
        // SAFETY: the descriptor is open as long as the context, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    /// Takes an asynchronous event, copies and acknowledges it at once, so that nobody who
    /// destroys an object waits for it (ibv_get_async_event(3)). Blocks unless the descriptor
    /// was made non-blocking; then `EAGAIN` says that there is none.
    pub(crate) fn take_async_event(&self) -> Result<AsyncEvent> {
        let mut raw = MaybeUninit::<sys::ibv_async_event>::zeroed();
        // SAFETY: the context is open and the place valid.
        let code = unsafe { (library!(verbs).ibv_get_async_event)(self.raw(), raw.as_mut_ptr()) };
        Failure::check("ibv_get_async_event", code)?;
        // SAFETY: it was filled.
        let mut raw = unsafe { raw.assume_init() };
        let event = raw.event_type;
        let copy = match event {
            sys::IBV_EVENT_QP_FATAL..=sys::IBV_EVENT_PATH_MIG_ERR
            | sys::IBV_EVENT_QP_LAST_WQE_REACHED => {
                let qp = raw.element.cast::<sys::ibv_qp>();
                // SAFETY: such an event names a queue pair, whose destruction waits until the
                // event is acknowledged.
                AsyncEvent::QueuePair { key: pointer_to_key(unsafe { (*qp).qp_context }), event }
            }
            sys::IBV_EVENT_CQ_ERR => {
                let cq = raw.element.cast::<sys::ibv_cq>();
                // SAFETY: as above, of a completion queue.
                AsyncEvent::CompletionQueue { key: pointer_to_key(unsafe { (*cq).cq_context }) }
            }
            sys::IBV_EVENT_SRQ_ERR | sys::IBV_EVENT_SRQ_LIMIT_REACHED => {
                let srq = raw.element.cast::<sys::ibv_srq>();
                // SAFETY: as above, of a shared receive queue.
                let key = pointer_to_key(unsafe { (*srq).srq_context });
                AsyncEvent::SharedReceive { key, event }
            }
            sys::IBV_EVENT_PORT_ACTIVE..=13 | 17 | 18 => {
                AsyncEvent::Port { port: pointer_to_key(raw.element) as u8, event }
            }
            // Of the device, or one that this version does not know and can't look into.
            _ => AsyncEvent::Device { event },
        };
        // SAFETY: the event was taken and is acknowledged once.
        unsafe { (library!(verbs).ibv_ack_async_event)(&raw mut raw) };
        Ok(copy)
    }
}

impl AsFd for Context {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.async_fd()
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Context").field(&self.name()).finish()
    }
}

/// The firmware version that a device gives as text.
pub(crate) fn firmware(attributes: &ibv_device_attr) -> String {
    text(&attributes.fw_ver)
}
