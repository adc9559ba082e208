//! Memory windows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_provider::{MemoryWindow, WindowScope};
use dat_sync::Mutex;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::in_use::{Use, UseCount};

/// The type of a window (`ibv_mw_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowType {
    /// Bound by ibv_bind_mw(3); any queue pair of the domain may use it.
    One,
    /// Bound by a request; only the queue pair that bound it may use it (type 2B).
    Two,
}

/// The part of a key that changes with each bind.
const LAST_BYTE: u32 = 0xff;

/// A memory window (ibv_alloc_mw(3)): a part of a region that a peer may access, which a request binds.
pub struct Window {
    domain: Arc<Domain>,
    pub(crate) kit: Mutex<Option<Arc<dyn MemoryWindow>>>,
    kind: WindowType,
    key: AtomicU32,
    /// The use of the region that it is bound to.
    bound: Mutex<Option<Use>>,
    uses: UseCount,
}

impl Window {
    pub(crate) fn allocate(domain: &Arc<Domain>, kind: WindowType) -> Result<Arc<Self>> {
        let used = domain.add_use()?;
        let scope = match kind {
            WindowType::One => WindowScope::Domain,
            WindowType::Two => WindowScope::QueuePair,
        };
        let kit = domain.kit.create_window(0, scope)?;
        let key = kit.for_verbs().reserve_key()?;
        let window = Arc::new(Self {
            domain: Arc::clone(domain),
            kit: Mutex::new(Some(kit)),
            kind,
            key: AtomicU32::new(key),
            bound: Mutex::default(),
            uses: UseCount::using(vec![used]),
        });
        domain.windows.lock().insert(key & !LAST_BYTE, Arc::downgrade(&window));
        Ok(window)
    }

    /// The window of a domain to which a remote key belongs, valid or not.
    pub(crate) fn find(domain: &Domain, key: u32) -> Option<Arc<Self>> {
        domain.windows.lock().get(&(key & !LAST_BYTE))?.upgrade()
    }

    /// The key of the next bind by ibv_bind_mw(3).
    pub(crate) fn next_key(&self) -> u32 {
        let key = self.remote_key();
        key & !LAST_BYTE | key.wrapping_add(1) & LAST_BYTE
    }

    /// A bind with this key is posted. Returns the key before.
    ///
    /// # Errors
    /// `EINVAL` if more than the last byte differs.
    pub(crate) fn set_key(&self, key: u32) -> Result<u32> {
        let before = self.remote_key();
        if (before ^ key) & !LAST_BYTE != 0 {
            return Err(Error::invalid(format!(
                "cannot bind the window with the key {key:#x}: only the last byte of {before:#x} may change"
            )));
        }
        self.key.store(key, Ordering::Release);
        Ok(before)
    }

    /// Its domain.
    #[must_use]
    pub const fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> WindowType {
        self.kind
    }

    /// Its remote key, which each bind changes.
    #[must_use]
    pub fn remote_key(&self) -> u32 {
        self.key.load(Ordering::Acquire)
    }

    /// The engine has a bind to a region, or one to nothing.
    pub(crate) fn note_bound(&self, region: Option<Use>) {
        let before = std::mem::replace(&mut *self.bound.lock(), region);
        drop(before);
    }

    /// Deallocates it (ibv_dealloc_mw(3)), which also unbinds it.
    ///
    /// # Errors
    /// `EINVAL` if it is deallocated already.
    pub fn deallocate(&self) -> Result<()> {
        self.uses.end("the window is used")?;
        self.domain.windows.lock().remove(&(self.remote_key() & !LAST_BYTE));
        let kit = self.kit.lock().take();
        drop(kit);
        let bound = self.bound.lock().take();
        drop(bound);
        Ok(())
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window(type {:?}, key {:#x})", self.kind, self.remote_key())
    }
}
