//! Objects of C: memory that begins with a structure of the header.

use std::mem::MaybeUninit;

use rdma_verbs::sys::completion_ex::ibv_cq_ex;
use rdma_verbs::sys::extended::{ibv_qp_ex, verbs_context};
use rdma_verbs::sys::verbs::{
    ibv_ah, ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_mr, ibv_mw, ibv_pd,
    ibv_port_attr, ibv_qp, ibv_srq,
};

use crate::guard::Result;

/// A structure of C for which all zeros is a valid value.
///
/// # Safety
/// It consists of numbers, pointers, optional functions, and locks that zeros initialise.
pub unsafe trait Zero: Sized {
    /// All zeros.
    #[must_use]
    fn zero() -> Self {
        // SAFETY: the implementation says that this is a valid value.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}

macro_rules! zero {
    ($($type:ty),+ $(,)?) => {$(
        // SAFETY: numbers, pointers, optional functions, and a mutex and a condition of pthread, whose initial values
        // are zeros.
        unsafe impl Zero for $type {}
    )+};
}

zero!(
    verbs_context,
    ibv_context,
    ibv_device,
    ibv_port_attr,
    ibv_pd,
    ibv_mr,
    ibv_mw,
    ibv_ah,
    ibv_comp_channel,
    ibv_cq,
    ibv_cq_ex,
    ibv_srq,
    ibv_qp,
    ibv_qp_ex,
    rdma_verbs::sys::device_ex::ibv_device_attr_ex,
    rdma_verbs::sys::verbs::ibv_device_attr,
);

/// Creates an object whose address is known before it is complete: the core returns it as the `user` of events.
///
/// # Errors
/// The result of `create`.
pub fn create<T>(create: impl FnOnce(u64) -> Result<T>) -> Result<*mut T> {
    let mut space = Box::<T>::new_uninit();
    let address = space.as_mut_ptr().expose_provenance();
    space.write(create(address as u64)?);
    // SAFETY: it was just written.
    Ok(Box::into_raw(unsafe { space.assume_init() }))
}

/// The object with that address ([`create`]).
#[must_use]
pub fn at<T>(user: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(user as usize)
}

/// Ends an object.
///
/// # Safety
/// It came from [`create`], and is used by no thread.
pub unsafe fn delete<T>(object: *mut T) {
    // SAFETY: the caller guarantees a live object that came from a box.
    drop(unsafe { Box::from_raw(object) });
}

/// Functions with the names of fields, from the pointer that C has to a field of the whole object.
macro_rules! fields_of {
    ($c:ty as $whole:ident: $($field:ident: $type:ty),+ $(,)?) => {$(
        /// This part of an object, which never changes its place.
        ///
        /// # Safety
        /// The object must be alive.
        #[inline]
        pub(crate) unsafe fn $field<'a>(object: *mut $c) -> &'a $type {
            // SAFETY: the caller guarantees a live object, which begins with the structure of C.
            unsafe { &(*object.cast::<$whole>()).$field }
        }
    )+};
}
pub(crate) use fields_of;

/// A structure that has fields in common with others, from which they are copied; the rest follows.
macro_rules! with_fields {
    ($type:ident $(of $from:ident: $($same:ident),+)+; $($field:ident: $value:expr),*) => {
        $type { $($($same: $from.$same,)+)+ $($field: $value),* }
    };
}
pub(crate) use with_fields;

/// Writes a structure as far as the program's headers know it, and zeros behind it.
///
/// # Safety
/// There must be `size` bytes.
pub unsafe fn write_known<T>(from: &T, into: *mut T, size: usize) {
    let into = into.cast::<u8>();
    // SAFETY: the caller guarantees this number of bytes.
    unsafe { into.write_bytes(0, size) };
    let known = size.min(size_of::<T>());
    // SAFETY: as above, and the source has them.
    unsafe { into.copy_from_nonoverlapping((&raw const *from).cast(), known) };
}

/// Writes a field of an object of C, which another thread may read.
macro_rules! write_field {
    ($object:expr, $field:ident = $value:expr) => {{
        let value = $value;
        // SAFETY: the object is alive, so the field lies in it.
        let place = unsafe { &raw mut (*$object).$field };
        // SAFETY: as above; the program does not let two threads change it at once.
        unsafe { place.write(value) };
    }};
}
pub(crate) use write_field;
