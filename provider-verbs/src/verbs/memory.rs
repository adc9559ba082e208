//! Protection domains, memory regions and windows.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Context, Failure, Result, field, library};
use crate::sys::dispatch;
use crate::sys::verbs::{self as sys, ibv_mr, ibv_mw, ibv_pd};

/// An object of the library behind a pointer; `Send` and `Sync`, since the library's calls are
/// thread safe.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ident) {
        $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$doc])*
        pub(crate) struct $name {
            raw: NonNull<$raw>,
            $($(#[$attribute])* $field: $type,)*
        }

        // SAFETY: the library's calls on it are thread safe, and what is read of it directly
        // never changes, or changes under a lock of its owner's.
        unsafe impl Send for $name {}
        // SAFETY: as for Send.
        unsafe impl Sync for $name {}

        impl $name {
            #[inline]
            pub(crate) fn raw(&self) -> *mut $raw {
                self.raw.as_ptr()
            }
        }
    };
}
pub(super) use handle;

/// Who destroys an object that is not ours; holding it keeps the object alive.
pub(crate) type Lent = Arc<dyn Any + Send + Sync>;
/// Nothing for an object of our own.
pub(super) type Lender = Option<Lent>;

handle! {
    /// A protection domain (ibv_alloc_pd(3)).
    ProtectionDomain(ibv_pd) { _context: Context, lender: Lender }
}

impl ProtectionDomain {
    pub(crate) fn new(context: &Context) -> Result<Arc<Self>> {
        // SAFETY: the context is open.
        let raw = unsafe { (library!(verbs).ibv_alloc_pd)(context.raw()) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw, _context: context.clone(), lender: None })),
            None => Err(Failure::last("ibv_alloc_pd")),
        }
    }

    /// A domain of the lender's.
    ///
    /// # Safety
    /// It must live as long as its lender.
    pub(crate) unsafe fn lent(raw: NonNull<ibv_pd>, context: Context, lender: Lent) -> Arc<Self> {
        Arc::new(Self { raw, _context: context, lender: Some(lender) })
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        if self.lender.is_none() {
            // SAFETY: it is ours, what was made in it keeps it and so is gone; freed once.
            let _ = unsafe { (library!(verbs).ibv_dealloc_pd)(self.raw()) };
        }
    }
}

/// Registered memory (ibv_reg_mr(3)).
pub(crate) struct MemoryRegion {
    /// Nothing once it is deregistered.
    raw: Mutex<Option<RegionPointer>>,
    local_key: u32,
    remote_key: u32,
    domain: Arc<ProtectionDomain>,
}

#[derive(Clone, Copy)]
struct RegionPointer(NonNull<ibv_mr>);

// SAFETY: the library's calls on it are thread safe.
unsafe impl Send for RegionPointer {}

impl MemoryRegion {
    /// Registers memory; `access` is a set of `IBV_ACCESS_…`.
    ///
    /// # Safety
    /// The memory must stay until the region is deregistered, and nothing may rely on its not
    /// changing as far as `access` lets the device write it.
    pub(crate) unsafe fn new(
        domain: &Arc<ProtectionDomain>,
        address: u64,
        length: usize,
        access: u32,
    ) -> Result<Self> {
        let place = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the domain is alive; what is at the address the kernel looks at itself.
        let raw =
            unsafe { (library!(verbs).ibv_reg_mr)(domain.raw(), place, length, access as i32) };
        let Some(raw) = NonNull::new(raw) else { return Err(Failure::last("ibv_reg_mr")) };
        // SAFETY: it was just made, and its keys never change.
        let mr = unsafe { raw.as_ref() };
        Ok(Self {
            raw: Mutex::new(Some(RegionPointer(raw))),
            local_key: mr.lkey,
            remote_key: mr.rkey,
            domain: Arc::clone(domain),
        })
    }

    pub(crate) fn local_key(&self) -> u32 {
        self.local_key
    }

    pub(crate) fn remote_key(&self) -> u32 {
        self.remote_key
    }

    pub(crate) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// Does something with the region unless it is deregistered, which waits meanwhile.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(*mut ibv_mr) -> R) -> Option<R> {
        let raw = self.raw.lock();
        raw.map(|raw| use_it(raw.0.as_ptr()))
    }

    /// Deregisters the memory: when this returns well the device does not touch it any more
    /// (ibv_dereg_mr(3)). A second call does nothing.
    pub(crate) fn deregister(&self) -> Result<()> {
        let mut place = self.raw.lock();
        let Some(raw) = *place else { return Ok(()) };
        // SAFETY: it is alive, as the place says, and is no more after a success.
        let code = unsafe { (library!(verbs).ibv_dereg_mr)(raw.0.as_ptr()) };
        Failure::check("ibv_dereg_mr", code)?;
        *place = None;
        Ok(())
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // One that the device does not give up stays registered: nothing better can be done.
        let _ = self.deregister();
    }
}

/// The two kinds of memory windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowKind {
    /// Usable over every queue pair of the domain; its keys are the device's.
    One,
    /// Usable over the queue pair it was bound on; the low byte of its key is the consumer's.
    Two,
}

handle! {
    /// A memory window (ibv_alloc_mw(3)).
    MemoryWindow(ibv_mw) { domain: Arc<ProtectionDomain>, kind: WindowKind }
}

impl MemoryWindow {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, kind: WindowKind) -> Result<Self> {
        let value = match kind {
            WindowKind::One => sys::IBV_MW_TYPE_1,
            WindowKind::Two => sys::IBV_MW_TYPE_2,
        };
        // SAFETY: the domain is alive.
        let raw = unsafe { dispatch::alloc_mw(domain.raw(), value) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Self { raw, domain: Arc::clone(domain), kind }),
            None => Err(Failure::last("ibv_alloc_mw")),
        }
    }

    pub(crate) fn kind(&self) -> WindowKind {
        self.kind
    }

    pub(crate) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The key as the library knows it. Only binds change it, which the owner must not do at
    /// the same time.
    pub(crate) fn key(&self) -> u32 {
        field!(self.raw(), rkey)
    }
}

impl Drop for MemoryWindow {
    fn drop(&mut self) {
        // SAFETY: it is alive and freed once, which ends its binding.
        let _ = unsafe { dispatch::dealloc_mw(self.raw()) };
    }
}
