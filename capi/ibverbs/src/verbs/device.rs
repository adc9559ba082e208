//! The list of devices (ibv_get_device_list(3)).

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use dat_sync::Lazy;
use rdma_verbs::sys::verbs::{IBV_NODE_CA, IBV_TRANSPORT_IB, ibv_device};

use crate::guard::{self, Failure};
use crate::object::Zero;
use crate::object::fields_of;

/// A device. Programs that know the drivers of rdma-core, as perftest does, read a pointer behind the structure to
/// tell whose device it is, so there are zeros.
#[repr(C)]
pub(crate) struct Device {
    pub(crate) c: ibv_device,
    _driver: [usize; 16],
    pub(crate) core: dat_soft_verbs::Device,
}

fields_of!(ibv_device as Device: core: dat_soft_verbs::Device);

// SAFETY: it never changes, and its pointers are null.
unsafe impl Sync for Device {}
// SAFETY: as above.
unsafe impl Send for Device {}

/// The devices, which exist as long as the process: a program may use one after it has freed the list.
static DEVICES: Lazy<Vec<Device>> = Lazy::new(|| {
    let new = |(index, core): (usize, dat_soft_verbs::Device)| {
        let mut c = ibv_device::zero();
        c.node_type = IBV_NODE_CA;
        c.transport_type = IBV_TRANSPORT_IB;
        let name = core.name().to_owned();
        write(&mut c.name, &name);
        write(&mut c.dev_name, &format!("uverbs{index}"));
        write(&mut c.dev_path, &format!("/sys/class/infiniband_verbs/{name}"));
        write(&mut c.ibdev_path, &format!("/sys/class/infiniband/{name}"));
        Device { c, _driver: [0; 16], core }
    };
    dat_soft_verbs::devices().into_iter().enumerate().map(new).collect()
});

/// Writes a text that ends with a zero byte, cut to the length of the array.
pub(crate) fn write(array: &mut [c_char], text: &str) {
    let length = text.len().min(array.len() - 1);
    for (to, from) in array.iter_mut().zip(&text.as_bytes()[..length]) {
        *to = *from as c_char;
    }
    array[length] = 0;
}

/// The devices, and their number if the pointer is not null. The list ends with a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_device_list(
    count: Option<&mut MaybeUninit<c_int>>,
) -> *mut *mut ibv_device {
    guard::object(|| {
        let mut list: Vec<*mut ibv_device> =
            DEVICES.iter().map(|device| (&raw const *device).cast_mut().cast()).collect();
        let length = list.len();
        list.push(null_mut());
        // SAFETY: the size is not 0.
        let copy = unsafe { libc::malloc(size_of_val(&*list)) }.cast::<*mut ibv_device>();
        if copy.is_null() {
            return Err(Failure(libc::ENOMEM));
        }
        // SAFETY: the memory was just allocated for this number of elements.
        unsafe { copy.copy_from_nonoverlapping(list.as_ptr(), list.len()) };
        if let Some(count) = count {
            count.write(c_int::try_from(length).unwrap_or(c_int::MAX));
        }
        Ok(copy)
    })
}

/// Frees a list. The devices remain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_free_device_list(list: *mut *mut ibv_device) {
    // SAFETY: it was allocated by malloc.
    unsafe { libc::free(list.cast()) };
}

/// The name of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char {
    // SAFETY: the caller guarantees a device, which lives as long as the process.
    unsafe { (&raw const (*device).name).cast() }
}

/// The index of a device in the kernel: -1, because the kernel does not know it.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_device_index(_device: *mut ibv_device) -> c_int {
    -1
}

/// The GUID of a device, in network byte order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_guid(device: *mut ibv_device) -> u64 {
    // SAFETY: the caller guarantees a device.
    u64::from_ne_bytes(unsafe { core(device) }.guid())
}
