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
use super::convert::{number, to_c};
use super::handle;
use super::registration::Registration;
use crate::abi::DAT_HANDLE;

/// An object of the library.
pub(crate) struct Object {
    handle: usize,
    kind: ObjectKind,
    ia: Arc<Adapter>,
    /// True if this crate has seen the object end.
    ended: AtomicBool,
    /// True if dropping the last handle frees the object.
    owned: bool,
    keep: Mutex<Keep>,
    /// The results of dat_lmr_create, for a region.
    pub(crate) region: OnceLock<Registration>,
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

    /// Returns true if the handle value still refers to this object, as far as this crate can know: the
    /// library reuses handle values.
    fn is_current(&self) -> bool {
        let known = KNOWN.lock();
        known.get(&self.handle).is_some_and(|known| std::ptr::eq(known.as_ptr(), self))
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.ended.load(Ordering::Acquire)
            && self.is_current()
            && handle::kind_of(self.handle()) == Ok(self.kind)
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
        self.end(|handle| handle::free(handle, self.kind))
    }

    pub(crate) fn consumer_context(&self) -> u64 {
        handle::consumer_context(self.handle())
    }

    pub(crate) fn set_consumer_context(&self, context: u64) {
        handle::set_consumer_context(self.handle(), context);
    }
}

impl Left {
    pub(crate) const fn is(&self, handle: usize) -> bool {
        self.handle == handle
    }

    /// Tries again to free the object; returns it if other objects still use it.
    pub(crate) fn free(self) -> Option<Self> {
        still_used(handle::free(to_c(self.handle), self.kind)).then_some(self)
    }
}

/// Returns true if an object could not be freed because other objects use it.
fn still_used(freed: Result<()>) -> bool {
    freed.is_err_and(|error| !error.is(ReturnType::InvalidHandle))
}

impl Drop for Object {
    fn drop(&mut self) {
        let is_current = self.is_current();
        if *self.ended.get_mut() || !is_current || !self.owned {
            return;
        }
        let freed = handle::free(self.handle(), self.kind);
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
