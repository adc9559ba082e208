//! Memory windows.
//!
//! A window for a whole domain is of type 1: its key changes with each bind. A window for a single
//! queue pair is of type 2, which must be unbound before it is bound again: so each bind uses a new
//! one, and frees the former. A window of either type is closed by freeing it, because not every
//! library accepts a bind of length 0.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::error::{Result, Subtype};
use dat_provider::{BindRequest, MemoryWindow, WindowScope, unsupported};
use dat_provider_kit::errors::{foreign_object, no_credit};
use dat_sync::Mutex;

use crate::domain::{self, Domain, remote_access};
use crate::errors::{exhausted, internal};
use crate::queue_pair::empty_write;
use crate::sys::dispatch::inc_rkey;
use crate::verbs::{self, QueuePair, SendFlags, WindowBind, WindowType};

pub(crate) struct Window {
    pub(crate) tag: u64,
    domain: Arc<Domain>,
    window_type: WindowType,
    current: Mutex<Option<verbs::MemoryWindow>>,
    /// True if the current window was bound; protected by the lock.
    bound: AtomicBool,
}

struct WindowHandle(Arc<Window>);

const NONE: &str = "memory window, which a remote memory region needs";

pub(crate) fn create(
    domain: &Arc<Domain>,
    tag: u64,
    scope: WindowScope,
) -> Result<Arc<dyn MemoryWindow>> {
    let limits = &domain.device.limits;
    let window_type = match scope {
        WindowScope::Domain if limits.has_windows_one => WindowType::One,
        WindowScope::QueuePair if limits.has_windows_two => WindowType::Two,
        _ => return Err(unsupported(NONE)),
    };
    let current = Mutex::new(Some(allocate(domain, window_type)?));
    let domain = Arc::clone(domain);
    Ok(Arc::new(WindowHandle(Arc::new(Window {
        tag,
        domain,
        window_type,
        current,
        bound: AtomicBool::new(false),
    }))))
}

fn allocate(domain: &Arc<Domain>, window_type: WindowType) -> Result<verbs::MemoryWindow> {
    verbs::MemoryWindow::new(&domain.hardware, window_type)
        .map_err(|failure| exhausted(failure, Subtype::ResourceMemoryRegion, "memory window"))
}

/// The window of a contract object.
pub(crate) fn find(window: &dyn MemoryWindow) -> Result<Arc<Window>> {
    match window.as_any().downcast_ref::<WindowHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("memory window", Subtype::InvalidHandleRmr)),
    }
}

impl MemoryWindow for WindowHandle {}

impl Window {
    /// Posts a bind with an identifier and flags, and returns the new key.
    pub(crate) fn post(
        &self,
        queue_pair: &QueuePair,
        bind: &BindRequest<'_>,
        id: u64,
        flags: SendFlags,
    ) -> Result<u32> {
        let mut current = self.current.lock();
        let closes = bind.length == 0;
        let region = match bind.region {
            Some(region) if !closes => Some(domain::region(region)?),
            _ if closes => None,
            _ => return Err(foreign_object("memory region", Subtype::InvalidHandleLmr)),
        };
        let was_bound = self.bound.load(Ordering::Relaxed);
        if closes || was_bound && self.window_type == WindowType::Two {
            // Freed now: its key is invalid before this bind completes.
            *current = None;
            self.bound.store(false, Ordering::Relaxed);
        }
        if closes {
            return self.post_nothing(queue_pair, id, flags);
        }
        let window = match &mut *current {
            Some(window) => window,
            none => none.insert(allocate(&self.domain, self.window_type)?),
        };
        let request = WindowBind {
            id,
            flags,
            window,
            region,
            address: bind.address,
            length: bind.length,
            access: remote_access(bind.privileges),
            key: inc_rkey(window.key_raw()),
        };
        let posted = queue_pair.bind_window_raw(&request);
        let key = posted.map_err(|failure| match failure.errno {
            libc::ENOMEM => no_credit(),
            _ => internal(failure, "cannot post the bind"),
        })?;
        self.bound.store(true, Ordering::Relaxed);
        Ok(key)
    }

    /// Completes a bind that needs nothing from the device, by an empty write.
    fn post_nothing(&self, queue_pair: &QueuePair, id: u64, flags: SendFlags) -> Result<u32> {
        let posted = queue_pair.post_send(&empty_write(id, flags));
        posted.map(|()| 0).map_err(|failure| internal(failure, "cannot post the bind"))
    }
}
