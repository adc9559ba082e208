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
        let context = $context;
        // SAFETY: the caller guarantees an open context.
        let tail = unsafe { extended(context, FIELD) };
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

/// The context that is given, or that of a live object.
macro_rules! context {
    (context $context:ident) => {
        $context
    };
    ($kind:ident $object:ident) => {
        // SAFETY: the caller guarantees a live object, whose context lives at least as long.
        unsafe { (*$object).context }
    };
}

/// Functions that call the operation of the same name of a context, or of the context of an object.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident($kind:ident $first:ident: $object:ty $(, $argument:ident: $type:ty)*) -> $result:ty
            => $missing:expr;
    )+) => {$(
        $(#[$doc])*
        pub unsafe fn $name($first: $object $(, $argument: $type)*) -> $result {
            match operation!(context!($kind $first), $name) {
                // SAFETY: the caller guarantees the arguments.
                Some(call) => unsafe { call($first $(, $argument)*) },
                None => $missing,
            }
        }
    )+};
}

operations! {
    /// `ibv_create_cq_ex`: a queue, or null with errno set.
    ///
    /// # Safety
    /// The context must be open, and all objects of the attributes alive and of that device.
    create_cq_ex(context context: *mut ibv_context, attributes: *mut ibv_cq_init_attr_ex)
        -> *mut ibv_cq_ex => none();

    /// `ibv_query_rt_values_ex`: 0 or an errno.
    ///
    /// # Safety
    /// The context must be open.
    query_rt_values(context context: *mut ibv_context, values: &mut ibv_values_ex)
        -> c_int => libc::EOPNOTSUPP;

    /// `ibv_modify_cq`: 0 or an errno.
    ///
    /// # Safety
    /// The queue must be alive.
    modify_cq(object cq: *mut ibv_cq, attributes: &mut ibv_modify_cq_attr)
        -> c_int => libc::EOPNOTSUPP;

    /// `ibv_alloc_td`: a thread domain, or null with errno set.
    ///
    /// # Safety
    /// The context must be open.
    alloc_td(context context: *mut ibv_context, attributes: &mut ibv_td_init_attr)
        -> *mut ibv_td => none();

    /// `ibv_dealloc_td`: 0 or an errno.
    ///
    /// # Safety
    /// The thread domain must be alive; after a success it is gone.
    dealloc_td(object td: *mut ibv_td) -> c_int => libc::EOPNOTSUPP;

    /// `ibv_alloc_parent_domain`: a domain, or null with errno set.
    ///
    /// # Safety
    /// The context must be open, and the domains of the attributes alive and of that device.
    alloc_parent_domain(
        context context: *mut ibv_context, attributes: *mut ibv_parent_domain_init_attr
    ) -> *mut ibv_pd => none();

    /// `ibv_advise_mr`: 0 or an errno.
    ///
    /// # Safety
    /// The domain must be alive, and `count` ranges of registered memory at the pointer.
    advise_mr(object pd: *mut ibv_pd, advice: c_int, flags: u32, ranges: *mut ibv_sge, count: u32)
        -> c_int => libc::EOPNOTSUPP;
}
