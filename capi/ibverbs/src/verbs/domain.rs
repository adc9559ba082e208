//! Protection domains, thread domains and parent domains (ibv_alloc_pd(3), ibv_alloc_td(3),
//! ibv_alloc_parent_domain(3)).

use std::ffi::c_int;
use std::sync::Arc;

use dat_soft_verbs::Domain;
use rdma_verbs::sys::domain_ex::{ibv_parent_domain_init_attr, ibv_td, ibv_td_init_attr};
use rdma_verbs::sys::verbs::{ibv_context, ibv_pd};

use super::context;
use crate::guard::{self, invalid, unsupported};
use crate::object::{self, fields_of};

/// `IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT`; the other flag is for allocators of drivers.
const PD_CONTEXT: u32 = 1 << 1;

#[repr(C)]
struct Pd {
    c: ibv_pd,
    core: Arc<Domain>,
    /// A parent domain is another handle of its domain, which it keeps.
    is_parent: bool,
}

fields_of!(ibv_pd as Pd: core: Arc<Domain>);

/// The context of a domain.
///
/// # Safety
/// The domain must be alive.
pub(crate) unsafe fn context(pd: *mut ibv_pd) -> *mut ibv_context {
    // SAFETY: the caller guarantees a live domain; the field never changes.
    unsafe { (*pd).context }
}

fn create(
    context: *mut ibv_context,
    core: Arc<Domain>,
    is_parent: bool,
) -> guard::Result<*mut ibv_pd> {
    let c = ibv_pd { context, handle: 0 };
    Ok(object::create(|_| Ok(Pd { c, core, is_parent }))?.cast())
}

/// Allocates a domain, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    guard::object(|| {
        // SAFETY: the caller guarantees an open context.
        let core = unsafe { context::core(context) }.create_domain()?;
        create(context, core, false)
    })
}

/// Deallocates a domain: 0 or an errno, `EBUSY` while it has objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int {
    guard::status(|| {
        let whole = pd.cast::<Pd>();
        // SAFETY: the caller guarantees a live domain.
        if !unsafe { (*whole).is_parent } {
            // SAFETY: as above.
            unsafe { core(pd) }.deallocate()?;
        }
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(whole) };
        Ok(())
    })
}

/// The operation of `ibv_alloc_parent_domain`. Allocators for the memory of drivers are not used.
pub(crate) unsafe extern "C" fn allocate_parent(
    context: *mut ibv_context,
    attributes: *mut ibv_parent_domain_init_attr,
) -> *mut ibv_pd {
    guard::object(|| {
        // SAFETY: the caller guarantees the structure.
        let attributes = unsafe { &*attributes };
        if attributes.pd.is_null() {
            return Err(invalid("cannot allocate a parent domain of a domain that is null"));
        }
        if attributes.comp_mask & !PD_CONTEXT != 0 {
            return Err(unsupported(
                "cannot allocate a parent domain with allocators: the device has no use for them",
            ));
        }
        // SAFETY: the caller guarantees a live domain.
        create(context, Arc::clone(unsafe { core(attributes.pd) }), true)
    })
}

/// The operation of `ibv_alloc_td`. A thread domain is a hint of the program, which changes nothing here.
pub(crate) unsafe extern "C" fn allocate_thread_domain(
    context: *mut ibv_context,
    attributes: *mut ibv_td_init_attr,
) -> *mut ibv_td {
    guard::object(|| {
        // SAFETY: the caller guarantees the structure.
        if unsafe { (*attributes).comp_mask } != 0 {
            return Err(invalid("cannot allocate a thread domain: comp_mask must be 0"));
        }
        object::create(|_| Ok(ibv_td { context }))
    })
}

/// The operation of `ibv_dealloc_td`.
pub(crate) unsafe extern "C" fn deallocate_thread_domain(td: *mut ibv_td) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live domain, which came from a box.
        unsafe { object::delete(td) };
        Ok(())
    })
}
