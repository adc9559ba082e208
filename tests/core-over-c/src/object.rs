//! Objects of the library behind reference-counted handles: dropping the last handle frees the
//! object, as in the Rust API.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, Weak};

use parking_lot::Mutex;
use real::error::{Result, ReturnType};
use real::{Memory, ObjectKind};

use super::adapter::Adapter;
use super::library::call;
use super::lmr::Made;
use crate::abi::*;
use crate::version;

/// An object of the library.
pub(crate) struct Object {
    handle: usize,
    kind: ObjectKind,
    ia: Arc<Adapter>,
    /// Whether this crate has seen the object end.
    ended: AtomicBool,
    /// Whether dropping the last handle frees the object.
    owned: bool,
    keep: Mutex<Keep>,
    /// The results of dat_lmr_create, for a region.
    pub(crate) region: OnceLock<Made>,
}

/// What must live as long as an object.
#[derive(Default)]
pub(crate) struct Keep {
    /// The memory of a registration.
    pub(crate) memory: Option<Memory>,
    /// The endpoint of a request or of a reserved service point.
    pub(crate) endpoint: Option<Arc<Object>>,
}

/// The objects with handles, so that a query returns the same object.
static KNOWN: LazyLock<Mutex<HashMap<usize, Weak<Object>>>> = LazyLock::new(Mutex::default);

/// An object without handles that the library cannot free yet, because other objects use it.
pub(crate) struct Left {
    handle: usize,
    kind: ObjectKind,
    keep: Keep,
}

/// Converts a handle value for a call.
pub(crate) fn to_c(handle: usize) -> DAT_HANDLE {
    std::ptr::with_exposed_provenance_mut(handle)
}

/// The value of a handle.
pub(crate) fn number(handle: DAT_HANDLE) -> usize {
    handle.expose_provenance()
}

/// The kind of the live object behind a handle.
pub(crate) fn kind_of(handle: DAT_HANDLE) -> Result<ObjectKind> {
    let mut kind: DAT_HANDLE_TYPE = 0;
    call!(table.get_handle_type_func(handle, &raw mut kind))?;
    Ok(match kind {
        DAT_HANDLE_TYPE_CR => ObjectKind::Cr,
        DAT_HANDLE_TYPE_EP => ObjectKind::Ep,
        DAT_HANDLE_TYPE_EVD => ObjectKind::Evd,
        DAT_HANDLE_TYPE_IA => ObjectKind::Ia,
        DAT_HANDLE_TYPE_LMR => ObjectKind::Lmr,
        DAT_HANDLE_TYPE_PSP => ObjectKind::Psp,
        DAT_HANDLE_TYPE_PZ => ObjectKind::Pz,
        DAT_HANDLE_TYPE_RMR => ObjectKind::Rmr,
        DAT_HANDLE_TYPE_RSP => ObjectKind::Rsp,
        DAT_HANDLE_TYPE_CNO => ObjectKind::Cno,
        DAT_HANDLE_TYPE_SRQ => ObjectKind::Srq,
        other => version::kind(other).unwrap_or_else(|| panic!("{other} is not a handle type")),
    })
}

/// Frees an object.
fn free(handle: DAT_HANDLE, kind: ObjectKind) -> Result<()> {
    match kind {
        ObjectKind::Cr => version::reject(handle, &[]),
        ObjectKind::Ep => call!(table.ep_free_func(handle)),
        ObjectKind::Evd => call!(table.evd_free_func(handle)),
        ObjectKind::Ia => unreachable!("adapters are closed, not freed"),
        ObjectKind::Lmr => call!(table.lmr_free_func(handle)),
        ObjectKind::Psp => call!(table.psp_free_func(handle)),
        ObjectKind::Pz => call!(table.pz_free_func(handle)),
        ObjectKind::Rmr => call!(table.rmr_free_func(handle)),
        ObjectKind::Rsp => call!(table.rsp_free_func(handle)),
        ObjectKind::Cno => call!(table.cno_free_func(handle)),
        ObjectKind::Srq => call!(table.srq_free_func(handle)),
        ObjectKind::Csp => version::csp_free(handle),
    }
}

impl Object {
    /// An object that a call just created.
    pub(crate) fn new(handle: DAT_HANDLE, kind: ObjectKind, ia: &Arc<Adapter>) -> Arc<Self> {
        Self::register(handle, kind, ia, true, Keep::default())
    }

    fn register(
        handle: DAT_HANDLE,
        kind: ObjectKind,
        ia: &Arc<Adapter>,
        owned: bool,
        keep: Keep,
    ) -> Arc<Self> {
        let handle = number(handle);
        let object = Arc::new(Self {
            handle,
            kind,
            ia: Arc::clone(ia),
            ended: AtomicBool::new(false),
            owned,
            keep: Mutex::new(keep),
            region: OnceLock::new(),
        });
        KNOWN.lock().insert(handle, Arc::downgrade(&object));
        object
    }

    /// The object that the library names by a handle; `None` for NULL. The first caller that gets
    /// an object without handles owns it, unless the adapter owns it.
    pub(crate) fn named(
        handle: DAT_HANDLE,
        kind: ObjectKind,
        ia: &Arc<Adapter>,
        owned: bool,
    ) -> Option<Arc<Self>> {
        if handle.is_null() {
            return None;
        }
        let known = KNOWN.lock().get(&number(handle)).and_then(Weak::upgrade);
        if let Some(known) = known {
            if known.kind == kind && !known.ended.load(Ordering::Acquire) {
                return Some(known);
            }
        }
        let left = ia.take_left(number(handle));
        let (owned, keep) = match left {
            Some(left) => (true, left.keep),
            None => (owned, Keep::default()),
        };
        Some(Self::register(handle, kind, ia, owned, keep))
    }

    pub(crate) fn handle(&self) -> DAT_HANDLE {
        to_c(self.handle)
    }

    pub(crate) const fn id(&self) -> u64 {
        self.handle as u64
    }

    pub(crate) const fn ia(&self) -> &Arc<Adapter> {
        &self.ia
    }

    /// Keeps something alive as long as the object.
    pub(crate) fn keep(&self, change: impl FnOnce(&mut Keep)) {
        change(&mut self.keep.lock());
    }

    /// Whether the handle value still refers to this object, as far as this crate can know: the
    /// library reuses handle values.
    fn is_current(&self) -> bool {
        let known = KNOWN.lock();
        known.get(&self.handle).is_some_and(|known| std::ptr::eq(known.as_ptr(), self))
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.ended.load(Ordering::Acquire)
            && self.is_current()
            && kind_of(self.handle()) == Ok(self.kind)
    }

    /// Frees the object by a call of the consumer.
    pub(crate) fn end(&self, call: impl FnOnce(DAT_HANDLE) -> Result<()>) -> Result<()> {
        call(self.handle())?;
        self.ended.store(true, Ordering::Release);
        drop(std::mem::take(&mut *self.keep.lock()));
        self.ia.free_left();
        Ok(())
    }

    pub(crate) fn free(&self) -> Result<()> {
        self.end(|handle| free(handle, self.kind))
    }

    pub(crate) fn consumer_context(&self) -> u64 {
        consumer_context(self.handle())
    }

    pub(crate) fn set_consumer_context(&self, context: u64) {
        set_consumer_context(self.handle(), context);
    }
}

/// The consumer context of an object; 0 if the call fails.
pub(crate) fn consumer_context(handle: DAT_HANDLE) -> u64 {
    let mut context = DAT_CONTEXT { as_64: 0 };
    // The call of the Rust API cannot fail either.
    let _ = call!(table.get_consumer_context_func(handle, &raw mut context));
    // SAFETY: every bit pattern is a valid integer.
    unsafe { context.as_64 }
}

pub(crate) fn set_consumer_context(handle: DAT_HANDLE, context: u64) {
    let context = DAT_CONTEXT { as_64: context };
    // The call of the Rust API cannot fail either.
    let _ = call!(table.set_consumer_context_func(handle, context));
}

impl Left {
    pub(crate) const fn is(&self, handle: usize) -> bool {
        self.handle == handle
    }

    /// Tries again to free the object; returns it if other objects still use it.
    pub(crate) fn free(self) -> Option<Self> {
        still_used(free(to_c(self.handle), self.kind)).then_some(self)
    }
}

/// Whether an object could not be freed because other objects use it.
fn still_used(freed: Result<()>) -> bool {
    freed.is_err_and(|error| !error.is(ReturnType::InvalidHandle))
}

impl Drop for Object {
    fn drop(&mut self) {
        let is_current = self.is_current();
        if *self.ended.get_mut() || !is_current || !self.owned {
            return;
        }
        let freed = free(self.handle(), self.kind);
        let is_used = still_used(freed);
        if is_used {
            let keep = std::mem::take(self.keep.get_mut());
            self.ia.leave(Left { handle: self.handle, kind: self.kind, keep });
        } else {
            drop(std::mem::take(self.keep.get_mut()));
            self.ia.free_left();
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.handle)
    }
}

/// A handle type of the API.
pub(crate) trait Handle: Sized {
    /// The kind of its objects.
    const KIND: ObjectKind;

    /// The handle of an object of that kind.
    fn of(object: Arc<Object>) -> Self;

    /// Its object.
    fn object(&self) -> &Arc<Object>;

    /// The handle of an object that a call just created.
    fn made_of(handle: DAT_HANDLE, ia: &Arc<Adapter>) -> Self {
        Self::of(Object::new(handle, Self::KIND, ia))
    }

    /// The handle of an object that the library names; `None` for NULL.
    fn named(handle: DAT_HANDLE, ia: &Arc<Adapter>) -> Option<Self> {
        Object::named(handle, Self::KIND, ia, true).map(Self::of)
    }

    /// The handle as C has it.
    fn handle(&self) -> DAT_HANDLE {
        self.object().handle()
    }
}

/// Defines a handle type with the functions that all handle types have.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident = $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            pub(crate) object: std::sync::Arc<$crate::api::object::Object>,
        }

        impl $crate::api::object::Handle for $name {
            const KIND: real::ObjectKind = real::ObjectKind::$kind;

            fn of(object: std::sync::Arc<$crate::api::object::Object>) -> Self {
                Self { object }
            }

            fn object(&self) -> &std::sync::Arc<$crate::api::object::Object> {
                &self.object
            }
        }

        impl $name {
            /// The value of the handle.
            #[must_use]
            pub fn id(&self) -> u64 {
                self.object.id()
            }

            /// Whether the object is live.
            #[must_use]
            pub fn is_live(&self) -> bool {
                self.object.is_live()
            }

            /// The adapter of the object.
            #[must_use]
            pub fn adapter(&self) -> $crate::api::InterfaceAdapter {
                $crate::api::InterfaceAdapter::of(self.object.ia())
            }

            /// dat_get_consumer_context(3DAT).
            #[must_use]
            pub fn consumer_context(&self) -> u64 {
                self.object.consumer_context()
            }

            /// dat_set_consumer_context(3DAT).
            pub fn set_consumer_context(&self, context: u64) {
                self.object.set_consumer_context(context);
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                std::sync::Arc::ptr_eq(&self.object, &other.object)
            }
        }

        impl Eq for $name {}

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.object.fmt(f)
            }
        }
    };
}
pub(crate) use handle;
