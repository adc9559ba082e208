//! Devices, and their attributes.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use dat_sync::Private;

use super::{Error, Owner, Result, field, library};
use crate::sys::dispatch::{self, PollCq, Posts};
use crate::sys::libraries;
use crate::sys::verbs::{self as sys, ibv_context, ibv_device, ibv_device_attr};

/// A device of this machine.
#[derive(Debug)]
pub struct DeviceEntry {
    _list: Arc<List>,
    raw: NonNull<ibv_device>,
    /// Its name, such as `mlx5_0`.
    pub name: String,
}

#[derive(Debug)]
struct List(NonNull<*mut ibv_device>);

// SAFETY: the list and its devices are never changed.
unsafe impl Send for List {}
// SAFETY: the list and its devices are never changed.
unsafe impl Sync for List {}
// SAFETY: the entry keeps the list alive, which is never changed.
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
/// ```
/// fn list() -> rdma_verbs::Result<()> {
///     for entry in rdma_verbs::verbs::devices()? {
///         let device = entry.open()?;
///         println!("{} has {} ports", device.name(), device.query()?.phys_port_cnt);
///     }
///     Ok(())
/// }
/// ```
///
/// # Errors
/// `ELIBACC`: the libraries are not installed; `ENOSYS`: the kernel has no RDMA support.
pub fn devices() -> Result<Vec<DeviceEntry>> {
    let verbs = &libraries().map_err(|_| Error::not_loaded())?.verbs;
    let mut count = 0;
    // SAFETY: the pointer is valid.
    let list = unsafe { (verbs.ibv_get_device_list)(&raw mut count) };
    let list = NonNull::new(list).ok_or_else(|| Error::last("ibv_get_device_list"))?;
    let list = Arc::new(List(list));
    let count = usize::try_from(count).unwrap_or(0);
    let entries = (0..count).filter_map(|index| {
        // SAFETY: the list has that length.
        let entry = unsafe { list.0.as_ptr().add(index) };
        // SAFETY: each entry is a device that lives as long as the list.
        let raw = NonNull::new(unsafe { *entry })?;
        // SAFETY: the device lives as long as the list, and its name never changes.
        let name = text(unsafe { &raw.as_ref().name });
        Some(DeviceEntry { _list: Arc::clone(&list), raw, name })
    });
    Ok(entries.collect())
}

/// The text in an array, up to its first zero byte.
fn text(array: &[c_char]) -> String {
    let bytes: Vec<u8> =
        array.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl DeviceEntry {
    /// Opens the device (ibv_open_device(3)).
    ///
    /// # Errors
    /// `EACCES`: the process may not open `/dev/infiniband`; `ENODEV`: the device is gone.
    pub fn open(&self) -> Result<Context> {
        let open = || {
            // SAFETY: the device lives as long as the list, which the entry keeps.
            let raw = unsafe { (library!(verbs).ibv_open_device)(self.raw.as_ptr()) };
            let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_open_device"))?;
            Ok((OpenDevice(raw), ()))
        };
        let (opened, ()) = Private::holding(open, |OpenDevice(raw)| {
            // SAFETY: it was just opened.
            let raw = unsafe { raw.as_ref() };
            [raw.cmd_fd, raw.async_fd]
        })?;
        Ok(Context { inner: Arc::new(Inner::new(opened.0, Keeper::Opened(opened))) })
    }
}

/// An open device. Its handles are cheap to clone; every object of the device keeps it open.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    raw: NonNull<ibv_context>,
    /// The owner that keeps it open until the handles are gone.
    _keeper: Keeper,
    /// True if requests are posted by system calls; determined once.
    posts_by_system_call: OnceLock<bool>,
}

impl Inner {
    const fn new(raw: NonNull<ibv_context>, keeper: Keeper) -> Self {
        Self { raw, _keeper: keeper, posts_by_system_call: OnceLock::new() }
    }
}

/// The owner of an open context.
#[expect(dead_code, reason = "kept for as long as the context")]
enum Keeper {
    Opened(Private<OpenDevice, 2>),
    /// The identifier of a context of librdmacm.
    Other(Owner),
}

/// A device that this crate opened. A child of a fork does not keep its descriptors: the kernel ends the
/// objects of a process with the last copy.
struct OpenDevice(NonNull<ibv_context>);

impl Drop for OpenDevice {
    fn drop(&mut self) {
        // SAFETY: it was opened by ibv_open_device; all its objects keep it open, so they are gone; it is
        // closed once, here. After a failure it stays open.
        let _ = unsafe { (library!(verbs).ibv_close_device)(self.0.as_ptr()) };
    }
}

/// Vendors, by their numbers in ibv_query_device(3), whose drivers ring a mapped doorbell to post a
/// request. Drivers of emulated devices, and of some old ones, make a system call for each request.
const DOORBELL_VENDORS: [u32; 11] = [
    0x02c9, // Mellanox, NVIDIA
    0x15b3, // Mellanox, by its PCI number
    0x1077, // QLogic, Marvell
    0x1414, // Microsoft
    0x1425, // Chelsio
    0x14e4, // Broadcom
    0x15ad, // VMware
    0x19e5, // Huawei
    0x1d0f, // Amazon
    0x1ded, // Alibaba
    0x8086, // Intel
];

// SAFETY: every call on a context is thread safe.
unsafe impl Send for Inner {}
// SAFETY: every call on a context is thread safe.
unsafe impl Sync for Inner {}

/// The attributes of a device, with their C names (ibv_query_device(3)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceAttributes {
    /// The version of the firmware.
    pub firmware: String,
    /// The GUID of the node.
    pub node_guid: u64,
    /// The GUID of the system.
    pub sys_image_guid: u64,
    /// The length of the longest memory region, in bytes.
    pub max_mr_size: u64,
    /// The page sizes that regions can have: bit `n` for two to the power of `n` bytes.
    pub page_size_cap: u64,
    /// The identifier of the vendor.
    pub vendor_id: u32,
    /// The vendor's number of the device.
    pub vendor_part_id: u32,
    /// The version of the hardware.
    pub hw_ver: u32,
    /// Maximum number of queue pairs.
    pub max_qp: u32,
    /// Maximum number of requests, or receives, of a queue pair.
    pub max_qp_wr: u32,
    /// A set of `IBV_DEVICE_…`.
    pub device_cap_flags: u32,
    /// Maximum number of segments of a request or receive.
    pub max_sge: u32,
    /// Maximum number of segments of an RDMA read.
    pub max_sge_rd: u32,
    /// Maximum number of completion queues.
    pub max_cq: u32,
    /// Maximum number of completions of a queue.
    pub max_cqe: u32,
    /// Maximum number of memory regions.
    pub max_mr: u32,
    /// Maximum number of protection domains.
    pub max_pd: u32,
    /// Maximum number of RDMA reads and atomics of the peer that a queue pair serves at a time.
    pub max_qp_rd_atom: u32,
    /// Maximum number of RDMA reads and atomics of peers that the whole device serves at a time.
    pub max_res_rd_atom: u32,
    /// Maximum number of RDMA reads and atomics that a queue pair may have in flight.
    pub max_qp_init_rd_atom: u32,
    /// The scope of atomicity: 0 none, 1 within this device, 2 also with processors.
    pub atomic_cap: u32,
    /// Maximum number of memory windows.
    pub max_mw: u32,
    /// Maximum number of multicast groups.
    pub max_mcast_grp: u32,
    /// Maximum number of queue pairs of one multicast group.
    pub max_mcast_qp_attach: u32,
    /// Maximum number of queue pairs of all multicast groups.
    pub max_total_mcast_qp_attach: u32,
    /// Maximum number of address handles.
    pub max_ah: u32,
    /// Maximum number of shared receive queues.
    pub max_srq: u32,
    /// Maximum number of receives of a shared receive queue.
    pub max_srq_wr: u32,
    /// Maximum number of segments of a receive of a shared receive queue.
    pub max_srq_sge: u32,
    /// Maximum number of partition keys.
    pub max_pkeys: u16,
    /// The acknowledgement delay of this device, as an exponent: 4.096 µs times two to this power.
    pub local_ca_ack_delay: u8,
    /// The number of ports; the first is 1.
    pub phys_port_cnt: u8,
}

impl DeviceAttributes {
    pub(super) fn new(c: &ibv_device_attr) -> Self {
        let number = |value: i32| u32::try_from(value).unwrap_or(0);
        Self {
            firmware: text(&c.fw_ver),
            node_guid: u64::from_be(c.node_guid),
            sys_image_guid: u64::from_be(c.sys_image_guid),
            max_mr_size: c.max_mr_size,
            page_size_cap: c.page_size_cap,
            vendor_id: c.vendor_id,
            vendor_part_id: c.vendor_part_id,
            hw_ver: c.hw_ver,
            max_qp: number(c.max_qp),
            max_qp_wr: number(c.max_qp_wr),
            device_cap_flags: c.device_cap_flags,
            max_sge: number(c.max_sge),
            max_sge_rd: number(c.max_sge_rd),
            max_cq: number(c.max_cq),
            max_cqe: number(c.max_cqe),
            max_mr: number(c.max_mr),
            max_pd: number(c.max_pd),
            max_qp_rd_atom: number(c.max_qp_rd_atom),
            max_res_rd_atom: number(c.max_res_rd_atom),
            max_qp_init_rd_atom: number(c.max_qp_init_rd_atom),
            atomic_cap: c.atomic_cap,
            max_mw: number(c.max_mw),
            max_mcast_grp: number(c.max_mcast_grp),
            max_mcast_qp_attach: number(c.max_mcast_qp_attach),
            max_total_mcast_qp_attach: number(c.max_total_mcast_qp_attach),
            max_ah: number(c.max_ah),
            max_srq: number(c.max_srq),
            max_srq_wr: number(c.max_srq_wr),
            max_srq_sge: number(c.max_srq_sge),
            max_pkeys: c.max_pkeys,
            local_ca_ack_delay: c.local_ca_ack_delay,
            phys_port_cnt: c.phys_port_cnt,
        }
    }
}

impl Context {
    /// Wraps a context that belongs to another object.
    ///
    /// # Safety
    /// It must stay open as long as its owner lives.
    pub(crate) unsafe fn owned_by(raw: NonNull<ibv_context>, owner: Owner) -> Self {
        Self { inner: Arc::new(Inner::new(raw, Keeper::Other(owner))) }
    }

    /// The object of the library, valid as long as this handle.
    #[must_use]
    pub fn raw(&self) -> *mut ibv_context {
        self.inner.raw.as_ptr()
    }

    /// The name of the device.
    #[must_use]
    pub fn name(&self) -> String {
        text(&self.device().name)
    }

    /// Returns true if it is an iWARP device.
    #[must_use]
    pub fn is_iwarp(&self) -> bool {
        self.device().node_type == sys::IBV_NODE_RNIC
    }

    fn device(&self) -> &ibv_device {
        // SAFETY: the context is open, and the field never changes.
        let device = unsafe { (*self.raw()).device };
        // SAFETY: the device lives as long as its context and never changes.
        unsafe { &*device }
    }

    /// Returns true if its driver posts requests by system calls, judging by the vendor.
    pub(super) fn posts_by_system_call(&self) -> bool {
        *self.inner.posts_by_system_call.get_or_init(|| {
            self.query().map_or(true, |device| !DOORBELL_VENDORS.contains(&device.vendor_id))
        })
    }

    /// The functions that post on its queue pairs.
    pub(super) fn posts(&self) -> Posts {
        // SAFETY: the context is open.
        unsafe { Posts::of(self.raw(), self.posts_by_system_call()) }
    }

    /// The function that polls its completion queues.
    pub(super) fn poll(&self) -> PollCq {
        // SAFETY: the context is open.
        unsafe { dispatch::poll_cq(self.raw()) }
    }

    /// The number of completion vectors.
    #[must_use]
    pub fn completion_vectors(&self) -> u32 {
        u32::try_from(field!(self.raw(), num_comp_vectors)).unwrap_or(0)
    }

    /// The attributes of the device (ibv_query_device(3)).
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn query(&self) -> Result<DeviceAttributes> {
        let mut attributes = MaybeUninit::<ibv_device_attr>::zeroed();
        // SAFETY: the context is open and the memory of the type's size.
        let code =
            unsafe { (library!(verbs).ibv_query_device)(self.raw(), attributes.as_mut_ptr()) };
        Error::check("ibv_query_device", code)?;
        // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
        Ok(DeviceAttributes::new(&unsafe { attributes.assume_init() }))
    }

    /// The descriptor that is readable when there is an asynchronous event
    /// ([`take_async_event`](Self::take_async_event)).
    #[must_use]
    pub fn async_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the context is open.
        let fd = unsafe { (*self.raw()).async_fd };
        // SAFETY: the descriptor is open as long as the context, which the borrow keeps.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl AsFd for Context {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.async_fd()
    }
}

/// Handles are equal if they refer to the same open device.
impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl Eq for Context {}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Context").field(&self.name()).finish()
    }
}
