//! Interface adapters: closing, and their attributes.

use std::collections::HashMap;
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use real::attr::{EpAttributes, IaAttributes, ProviderAttributes};
use real::error::Result;
use real::{Close, Collective, ObjectKind};

use super::convert::{number, to_c};
use super::handle;
use super::object::Left;
use super::result::call;
use crate::abi::*;
use crate::version;

/// An open instance of an adapter (dat_ia_open(3DAT)). Clones refer to the same instance.
#[derive(Clone)]
pub struct Ia {
    adapter: Arc<Adapter>,
}

/// An instance. It closes when no handle and no object of it is left.
pub(crate) struct Adapter {
    /// The value of the handle in C. The library reuses it after a close.
    number: usize,
    /// Tells this instance from others with the same handle value.
    serial: u64,
    closed: AtomicBool,
    attributes: IaAttributes,
    provider: ProviderAttributes,
    default_ep: EpAttributes,
    left: Mutex<Vec<Left>>,
}

/// The serial number of the last instance with each handle value.
static NUMBERS: LazyLock<Mutex<HashMap<usize, u64>>> = LazyLock::new(Mutex::default);

impl Adapter {
    /// The handle; an invalid one if this instance is closed and another instance has its value.
    pub(crate) fn handle(&self) -> DAT_IA_HANDLE {
        let closed = self.closed.load(Ordering::Acquire);
        if closed && NUMBERS.lock().get(&self.number) != Some(&self.serial) {
            return to_c(usize::MAX);
        }
        to_c(self.number)
    }

    /// Keeps an object without handles that other objects still use.
    pub(crate) fn leave(&self, left: Left) {
        self.left.lock().push(left);
    }

    /// Returns such an object to a caller that found it again by its handle.
    pub(crate) fn take_left(&self, handle: usize) -> Option<Left> {
        let mut left = self.left.lock();
        let at = left.iter().position(|left| left.is(handle))?;
        Some(left.swap_remove(at))
    }

    /// Frees the kept objects that no other object uses any more.
    pub(crate) fn free_left(&self) {
        loop {
            // The calls run without the lock: they may call back into this crate.
            let left = std::mem::take(&mut *self.left.lock());
            let before = left.len();
            let mut kept: Vec<Left> = left.into_iter().filter_map(Left::free).collect();
            let after = kept.len();
            self.left.lock().append(&mut kept);
            if after == 0 || after == before {
                return;
            }
        }
    }

    fn close(&self, how: Close) -> Result<()> {
        if how == Close::Graceful {
            self.free_left();
        }
        let flags = match how {
            Close::Abrupt => DAT_CLOSE_ABRUPT_FLAG,
            Close::Graceful => DAT_CLOSE_GRACEFUL_FLAG,
        };
        call!(table.ia_close_func(self.handle(), flags))?;
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        if !*self.closed.get_mut() {
            // Drop has no caller to report an error to.
            let _ = self.close(Close::Abrupt);
        }
    }
}

impl Ia {
    /// The adapter of a handle that an open just returned.
    pub(crate) fn opened(
        handle: DAT_IA_HANDLE,
        attributes: IaAttributes,
        provider: ProviderAttributes,
        default_ep: EpAttributes,
    ) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let number = number(handle);
        NUMBERS.lock().insert(number, serial);
        let closed = AtomicBool::new(false);
        let left = Mutex::default();
        let adapter = Adapter { number, serial, closed, attributes, provider, default_ep, left };
        Self { adapter: Arc::new(adapter) }
    }

    pub(crate) fn of(adapter: &Arc<Adapter>) -> Self {
        Self { adapter: Arc::clone(adapter) }
    }

    pub(crate) const fn adapter(&self) -> &Arc<Adapter> {
        &self.adapter
    }

    pub(crate) fn handle(&self) -> DAT_IA_HANDLE {
        self.adapter.handle()
    }

    /// The value of the handle.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.adapter.number as u64
    }

    /// The name by which it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.adapter.attributes.adapter_name
    }

    /// Returns true if the instance is open.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.adapter.closed.load(Ordering::Acquire)
            && handle::kind_of(self.handle()) == Ok(ObjectKind::Ia)
    }

    /// The result of dat_ia_query(3DAT) at the time of the open.
    #[must_use]
    pub fn attributes(&self) -> &IaAttributes {
        &self.adapter.attributes
    }

    /// The result of dat_ia_query(3DAT) at the time of the open.
    #[must_use]
    pub fn provider_attributes(&self) -> &ProviderAttributes {
        &self.adapter.provider
    }

    /// The attributes that an endpoint gets by default.
    #[must_use]
    pub fn default_ep_attributes(&self) -> &EpAttributes {
        &self.adapter.default_ep
    }

    /// dat_get_consumer_context(3DAT).
    #[must_use]
    pub fn consumer_context(&self) -> u64 {
        handle::consumer_context(self.handle())
    }

    /// dat_set_consumer_context(3DAT).
    pub fn set_consumer_context(&self, context: u64) {
        handle::set_consumer_context(self.handle(), context);
    }

    /// Fails if the adapter is closed: queries without asking for any field.
    pub(crate) fn check_live(&self) -> Result<()> {
        let (no_evd, no_ia, no_provider) = (null_mut(), null_mut(), null_mut());
        call!(table.ia_query_func(self.handle(), no_evd, 0, no_ia, 0, no_provider))
    }

    /// A collective operation of the extensions.
    pub fn collective(&self, operation: Collective) -> Result<()> {
        version::collective(self.handle(), operation)
    }

    /// dat_ia_close(3DAT).
    pub fn close(&self, how: Close) -> Result<()> {
        self.adapter.close(how)
    }
}

impl PartialEq for Ia {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.adapter, &other.adapter)
    }
}

impl Eq for Ia {}

impl fmt::Debug for Ia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IA {} ({:?})", self.adapter.number, self.name())
    }
}
