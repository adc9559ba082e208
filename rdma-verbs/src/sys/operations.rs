//! The inline functions of the header that call operations of the extended context. Without the
//! operation they return the same as the header's functions: `EOPNOTSUPP`, or null with that errno.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr::{null, null_mut};

use libc::size_t;
use nix::errno::Errno;

use super::completion_ex::{ibv_cq_ex, ibv_cq_init_attr_ex, ibv_modify_cq_attr, ibv_values_ex};
use super::device_ex::ibv_device_attr_ex;
use super::domain_ex::{ibv_parent_domain_init_attr, ibv_td, ibv_td_init_attr};
use super::extended::{extended, verbs_context};
use super::verbs::{ibv_context, ibv_cq, ibv_pd, ibv_sge};

/// The operation of an open context, if it has it (`verbs_get_ctx_op`).
macro_rules! operation {
    ($context:expr, $field:ident) => {{
        const FIELD: usize = offset_of!(verbs_context, $field);
        // SAFETY: the caller guarantees an open context.
        let tail = unsafe { extended($context, FIELD) };
        // SAFETY: the context includes this field, which never changes.
        tail.and_then(|tail| unsafe { (*tail).$field })
    }};
}

/// The result of a call that creates an object, for a context without the operation.
fn none<T>() -> *mut T {
    Errno::EOPNOTSUPP.set();
    null_mut()
}

/// The operation of `ibv_query_device_ex`: 0 or an errno.
///
/// # Safety
/// The context must be open, and there must be `size` bytes of memory for the attributes.
pub unsafe fn query_device_ex(
    context: *mut ibv_context,
    attributes: *mut ibv_device_attr_ex,
    size: size_t,
) -> c_int {
    match operation!(context, query_device_ex) {
        // SAFETY: the caller guarantees the arguments.
        Some(call) => unsafe { call(context, null(), attributes, size) },
        None => libc::EOPNOTSUPP,
    }
}

/// `ibv_create_cq_ex`: a queue, or null with errno set.
///
/// # Safety
/// The context must be open, and all objects of the attributes alive and of that device.
pub unsafe fn create_cq_ex(
    context: *mut ibv_context,
    attributes: *mut ibv_cq_init_attr_ex,
) -> *mut ibv_cq_ex {
    match operation!(context, create_cq_ex) {
        // SAFETY: the caller guarantees the arguments.
        Some(call) => unsafe { call(context, attributes) },
        None => none(),
    }
}

/// `ibv_query_rt_values_ex`: 0 or an errno.
///
/// # Safety
/// The context must be open.
pub unsafe fn query_rt_values(context: *mut ibv_context, values: &mut ibv_values_ex) -> c_int {
    match operation!(context, query_rt_values) {
        // SAFETY: the caller guarantees the context.
        Some(call) => unsafe { call(context, values) },
        None => libc::EOPNOTSUPP,
    }
}

/// `ibv_modify_cq`: 0 or an errno.
///
/// # Safety
/// The queue must be alive.
pub unsafe fn modify_cq(cq: *mut ibv_cq, attributes: &mut ibv_modify_cq_attr) -> c_int {
    // SAFETY: the caller guarantees a live queue, whose context lives at least as long.
    let context = unsafe { (*cq).context };
    match operation!(context, modify_cq) {
        // SAFETY: the caller guarantees the queue.
        Some(call) => unsafe { call(cq, attributes) },
        None => libc::EOPNOTSUPP,
    }
}

/// `ibv_alloc_td`: a thread domain, or null with errno set.
///
/// # Safety
/// The context must be open.
pub unsafe fn alloc_td(
    context: *mut ibv_context,
    attributes: &mut ibv_td_init_attr,
) -> *mut ibv_td {
    match operation!(context, alloc_td) {
        // SAFETY: the caller guarantees the context.
        Some(call) => unsafe { call(context, attributes) },
        None => none(),
    }
}

/// `ibv_dealloc_td`: 0 or an errno.
///
/// # Safety
/// The thread domain must be alive; after a success it is gone.
pub unsafe fn dealloc_td(td: *mut ibv_td) -> c_int {
    // SAFETY: the caller guarantees a live domain, whose context lives at least as long.
    let context = unsafe { (*td).context };
    match operation!(context, dealloc_td) {
        // SAFETY: the caller guarantees the domain.
        Some(call) => unsafe { call(td) },
        None => libc::EOPNOTSUPP,
    }
}

/// `ibv_alloc_parent_domain`: a domain, or null with errno set.
///
/// # Safety
/// The context must be open, and the domains of the attributes alive and of that device.
pub unsafe fn alloc_parent_domain(
    context: *mut ibv_context,
    attributes: *mut ibv_parent_domain_init_attr,
) -> *mut ibv_pd {
    match operation!(context, alloc_parent_domain) {
        // SAFETY: the caller guarantees the arguments.
        Some(call) => unsafe { call(context, attributes) },
        None => none(),
    }
}

/// `ibv_advise_mr`: 0 or an errno.
///
/// # Safety
/// The domain must be alive, and `count` ranges of registered memory at the pointer.
pub unsafe fn advise_mr(
    pd: *mut ibv_pd,
    advice: c_int,
    flags: u32,
    ranges: *mut ibv_sge,
    count: u32,
) -> c_int {
    // SAFETY: the caller guarantees a live domain, whose context lives at least as long.
    let context = unsafe { (*pd).context };
    match operation!(context, advise_mr) {
        // SAFETY: the caller guarantees the arguments.
        Some(call) => unsafe { call(pd, advice, flags, ranges, count) },
        None => libc::EOPNOTSUPP,
    }
}
