//! Memory windows.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_sync::{Mutex, MutexGuard};

use super::region::RegionUse;
use super::{Error, ProtectionDomain, Result, field, object};
use crate::sys::dispatch;
use crate::sys::verbs::{self as sys, ibv_mw};

/// The two types of memory windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowType {
    /// Type 1: usable over every queue pair of the domain; the device chooses its keys.
    One,
    /// Type 2: usable over the queue pair on which it was bound; the program chooses the low byte
    /// of its keys.
    Two,
}

object! {
    /// A memory window (ibv_alloc_mw(3)): remote access to a part of a region. Posts grant and
    /// revoke it ([`QueuePair::bind_window`](super::QueuePair::bind_window)).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rdma_verbs::verbs::{Access, MemoryWindow, QueuePair, Segment, SendFlags, WindowType};
    ///
    /// /// Grants the peer of a queue pair reads of a range; returns the key by which it reads.
    /// fn grant(queue_pair: &QueuePair, range: &Segment) -> rdma_verbs::Result<u32> {
    ///     let window = Arc::new(MemoryWindow::new(queue_pair.domain(), WindowType::One)?);
    ///     queue_pair.bind_window(1, &window, range, Access::REMOTE_READ, SendFlags::SIGNALED)
    /// }
    /// ```
    MemoryWindow(ibv_mw) {
        domain: Arc<ProtectionDomain>,
        window_type: WindowType,
        /// The key of the next binding of a window of type 2.
        next_key: AtomicU32,
        /// The region to which it is bound, which cannot be deregistered during that time.
        bound: Mutex<Option<RegionUse>>,
    }
}

impl MemoryWindow {
    /// Allocates an unbound window.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device does not support windows of that type.
    pub fn new(domain: &Arc<ProtectionDomain>, window_type: WindowType) -> Result<Self> {
        let value = match window_type {
            WindowType::One => sys::IBV_MW_TYPE_1,
            WindowType::Two => sys::IBV_MW_TYPE_2,
        };
        // SAFETY: the domain is alive.
        let raw = unsafe { dispatch::alloc_mw(domain.raw(), value) };
        let raw = NonNull::new(raw).ok_or_else(|| Error::last("ibv_alloc_mw"))?;
        // SAFETY: it was just created.
        let key = unsafe { raw.as_ref() }.rkey;
        Ok(Self {
            raw,
            domain: Arc::clone(domain),
            window_type,
            next_key: AtomicU32::new(dispatch::inc_rkey(key)),
            bound: Mutex::default(),
        })
    }

    /// Its type.
    #[must_use]
    pub fn window_type(&self) -> WindowType {
        self.window_type
    }

    /// The domain of the window.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The key in the library's object. A bind of a window of type 1 changes it; after a bind of
    /// type 2 the key is the one in the post.
    #[must_use]
    pub fn key_raw(&self) -> u32 {
        field!(self.raw(), rkey)
    }

    /// Returns a new key for the next binding of a window of type 2.
    pub(super) fn take_key(&self) -> u32 {
        let next = |key| Some(dispatch::inc_rkey(key));
        self.next_key.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).unwrap_or_default()
    }

    /// Returns true if the window and the domain of a queue pair belong to the same open device. The library
    /// does not check this before it passes both to the window's driver.
    pub(super) fn is_on_device_of(&self, domain: &ProtectionDomain) -> bool {
        self.domain.context() == domain.context()
    }

    /// The region to which it is bound. A bind posted while this is locked cannot overtake another
    /// one, so the region stays the one that the last bind names.
    pub(super) fn bound(&self) -> MutexGuard<'_, Option<RegionUse>> {
        self.bound.lock()
    }
}

impl Drop for MemoryWindow {
    fn drop(&mut self) {
        // SAFETY: it is alive and freed once, which ends its binding.
        let _ = unsafe { dispatch::dealloc_mw(self.raw()) };
    }
}
