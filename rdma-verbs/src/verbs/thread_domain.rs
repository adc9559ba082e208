//! Thread domains, and the parent domains that extend a protection domain with one.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::{Context, Error, Owner, ProtectionDomain, Result, object};
use crate::sys::domain_ex::{ibv_parent_domain_init_attr, ibv_td, ibv_td_init_attr};
use crate::sys::operations;

object! {
    /// A thread domain (ibv_alloc_td(3)): objects that are created in it are used by one thread at a
    /// time, so that the driver takes no lock for them and may give them a doorbell of their own.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rdma_verbs::verbs::{ProtectionDomain, ThreadDomain};
    ///
    /// fn parent(domain: &Arc<ProtectionDomain>) -> rdma_verbs::Result<Arc<ProtectionDomain>> {
    ///     let thread = ThreadDomain::new(domain.context())?;
    ///     // SAFETY: one thread uses all objects that are created in the result.
    ///     unsafe { domain.parent_of_thread(&thread) }
    /// }
    /// ```
    ThreadDomain(ibv_td) { context: Context }
}

impl ThreadDomain {
    /// Allocates a thread domain on the device.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, its driver or the library has no thread domains; `ENOMEM`: the
    /// device has none left.
    pub fn new(context: &Context) -> Result<Arc<Self>> {
        let mut attributes = ibv_td_init_attr::default();
        // SAFETY: the context is open.
        let raw = unsafe { operations::alloc_td(context.raw(), &mut attributes) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_alloc_td"))?;
        Ok(Arc::new(Self { raw, context: context.clone() }))
    }

    /// The device of the domain.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for ThreadDomain {
    fn drop(&mut self) {
        // SAFETY: this crate allocated it; its parent domains keep it alive, so they are gone; it is
        // freed once.
        let _ = unsafe { operations::dealloc_td(self.raw()) };
    }
}

impl ProtectionDomain {
    /// Allocates a parent domain of the protection domain (ibv_alloc_parent_domain(3)). It is equal
    /// to the protection domain, and takes its place in every call: objects of either can be used
    /// with those of the other. The driver may keep its objects together.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, its driver or the library has no parent domains; `EINVAL`: the
    /// protection domain is a parent domain itself.
    pub fn parent(self: &Arc<Self>) -> Result<Arc<Self>> {
        self.allocate_parent(None)
    }

    /// As [`parent`](Self::parent), with a thread domain to which the objects belong that are created
    /// in the parent domain.
    ///
    /// # Errors
    /// As [`parent`](Self::parent); `EINVAL`: the domains belong to different devices.
    ///
    /// # Safety
    /// The driver takes no lock for the objects. No two threads may make calls at the same time on
    /// objects that were created in parent domains with this thread domain: queue pairs, shared
    /// receive queues and extended completion queues. Dropping the last handle of an object is such a
    /// call.
    pub unsafe fn parent_of_thread(
        self: &Arc<Self>,
        thread: &Arc<ThreadDomain>,
    ) -> Result<Arc<Self>> {
        self.allocate_parent(Some(thread))
    }

    fn allocate_parent(self: &Arc<Self>, thread: Option<&Arc<ThreadDomain>>) -> Result<Arc<Self>> {
        const CALL: &str = "ibv_alloc_parent_domain";
        let is_of_device = thread.is_none_or(|thread| thread.context() == self.context());
        if self.is_parent() || !is_of_device {
            return Err(Error::new(CALL, libc::EINVAL));
        }
        let mut attributes = ibv_parent_domain_init_attr {
            pd: self.raw(),
            td: thread.map_or(null_mut(), |thread| thread.raw()),
            comp_mask: 0,
            alloc: None,
            free: None,
            pd_context: null_mut(),
        };
        let context = self.context().raw();
        // SAFETY: the domains are alive and of this device.
        let raw = unsafe { operations::alloc_parent_domain(context, &raw mut attributes) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last(CALL))?;
        let thread: Option<Owner> = thread.map(|thread| Arc::clone(thread) as Owner);
        Ok(Self::extending(raw, self, thread))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;
    use std::mem::offset_of;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::fake;
    use super::*;
    use crate::sys::extended::verbs_context;
    use crate::sys::verbs::{ibv_context, ibv_pd};

    static LIVE: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn alloc_td(
        context: *mut ibv_context,
        attributes: *mut ibv_td_init_attr,
    ) -> *mut ibv_td {
        // SAFETY: the caller passes valid attributes.
        assert_eq!(unsafe { (*attributes).comp_mask }, 0);
        LIVE.fetch_add(1, Ordering::Relaxed);
        Box::into_raw(Box::new(ibv_td { context }))
    }

    unsafe extern "C" fn dealloc_td(td: *mut ibv_td) -> c_int {
        // SAFETY: it came from `alloc_td`.
        drop(unsafe { Box::from_raw(td) });
        LIVE.fetch_sub(1, Ordering::Relaxed);
        0
    }

    /// Fails, because the domain would be freed by the library.
    unsafe extern "C" fn alloc_parent(
        _context: *mut ibv_context,
        attributes: *mut ibv_parent_domain_init_attr,
    ) -> *mut ibv_pd {
        // SAFETY: the caller passes valid attributes.
        let attributes = unsafe { &*attributes };
        assert!(attributes.comp_mask == 0 && attributes.td.is_null());
        nix::errno::Errno::ENOMEM.set();
        null_mut()
    }

    fn with_everything(operations: &mut verbs_context) {
        operations.alloc_td = Some(alloc_td);
        operations.dealloc_td = Some(dealloc_td);
        operations.alloc_parent_domain = Some(alloc_parent);
    }

    #[test]
    fn a_dropped_thread_domain_is_freed() {
        let context = fake::context(with_everything);
        let thread = ThreadDomain::new(&context).expect("a thread domain");
        assert_eq!(thread.context(), &context);
        assert_eq!(LIVE.load(Ordering::Relaxed), 1);
        drop(thread);
        assert_eq!(LIVE.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_failed_parent_domain_has_the_errno_of_the_driver() {
        let context = fake::context(with_everything);
        let error = fake::domain(&context).parent().expect_err("it fails");
        assert_eq!((error.call, error.errno), ("ibv_alloc_parent_domain", libc::ENOMEM));
    }

    #[test]
    fn a_driver_or_library_without_such_domains_is_an_error_with_advice() {
        let after = offset_of!(verbs_context, alloc_td) + size_of::<usize>();
        for context in [fake::context(|_| {}), fake::old_context(after, with_everything)] {
            let errors = [
                ThreadDomain::new(&context).expect_err("not supported"),
                fake::domain(&context).parent().expect_err("not supported"),
            ];
            for error in errors {
                assert_eq!(error.errno, libc::EOPNOTSUPP);
                assert!(error.to_string().contains("libibverbs"), "{error}");
            }
        }
    }
}
