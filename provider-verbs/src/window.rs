//! Memory windows.
//!
//! One for a whole domain is a window of type 1, whose key changes with each bind. One for a
//! single queue pair is of type 2; such a window has to be free before it is bound again, so
//! each bind takes a new one, and the one before ends with it.

use std::any::Any;
use std::sync::Arc;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{BindRequest, MemoryWindow, WindowScope, unsupported};
use parking_lot::Mutex;

use crate::domain::{self, Domain, remote_access};
use crate::errors::{exhausted, foreign, internal};
use crate::sys::dispatch::inc_rkey;
use crate::verbs::{self, QueuePair, WindowBind, WindowKind};

pub(crate) struct Window {
    pub(crate) tag: u64,
    domain: Arc<Domain>,
    kind: WindowKind,
    current: Mutex<Option<verbs::MemoryWindow>>,
}

struct Handle(Arc<Window>);

const NONE: &str = "memory window, so no remote memory region";

pub(crate) fn create(
    domain: &Arc<Domain>,
    tag: u64,
    scope: WindowScope,
) -> Result<Arc<dyn MemoryWindow>> {
    let limits = &domain.device.limits;
    let kind = match scope {
        WindowScope::Domain if limits.has_windows_one => WindowKind::One,
        WindowScope::QueuePair if limits.has_windows_two => WindowKind::Two,
        _ => return Err(unsupported(NONE)),
    };
    let current = match kind {
        WindowKind::One => Some(allocate(domain, kind)?),
        WindowKind::Two => None,
    };
    let domain = Arc::clone(domain);
    Ok(Arc::new(Handle(Arc::new(Window { tag, domain, kind, current: Mutex::new(current) }))))
}

fn allocate(domain: &Arc<Domain>, kind: WindowKind) -> Result<verbs::MemoryWindow> {
    verbs::MemoryWindow::new(&domain.hardware, kind)
        .map_err(|failure| exhausted(failure, Subtype::ResourceMemoryRegion, "memory window"))
}

/// The window behind a handle of the contract.
pub(crate) fn find(window: &dyn MemoryWindow) -> Result<Arc<Window>> {
    match window.as_any().downcast_ref::<Handle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign("memory window", Subtype::InvalidHandleRmr)),
    }
}

impl MemoryWindow for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Window {
    /// Posts a bind under an identifier, with those flags, and returns the new key.
    pub(crate) fn post(
        &self,
        queue_pair: &QueuePair,
        bind: &BindRequest<'_>,
        id: u64,
        flags: u32,
    ) -> Result<u32> {
        let mut current = self.current.lock();
        let closes = bind.length == 0;
        let region = match bind.region {
            Some(region) if !closes => Some(domain::region(region)?),
            _ => None,
        };
        if self.kind == WindowKind::Two {
            // The one before ends now: its key is invalid before this bind completes.
            *current = None;
            if closes {
                return self.post_nothing(queue_pair, id, flags);
            }
            *current = Some(allocate(&self.domain, self.kind)?);
        }
        let Some(window) = &*current else {
            return Err(Error::new(ReturnType::InternalError, Subtype::NoSubtype)
                .because("the window is gone"));
        };
        let request = WindowBind {
            id,
            flags,
            window,
            region,
            address: if closes { 0 } else { bind.address },
            length: bind.length,
            access: if closes { 0 } else { remote_access(bind.privileges) },
            key: inc_rkey(window.key()),
        };
        let posted = queue_pair.post_bind(&request);
        posted.map_err(|failure| match failure.errno {
            libc::ENOMEM => crate::errors::no_room(),
            _ => internal(failure, "the bind was not posted"),
        })
    }

    /// Completes a bind that has nothing to do for the device: an empty write of nothing.
    #[allow(unsafe_code, reason = "a request without segments")]
    fn post_nothing(&self, queue_pair: &QueuePair, id: u64, flags: u32) -> Result<u32> {
        let what = verbs::What::Write { address: 0, key: 0 };
        let post = verbs::Post { id, flags, segments: &[], what };
        // SAFETY: there is no segment that could be read.
        let posted = unsafe { queue_pair.post(&post) };
        posted.map(|()| 0).map_err(|failure| internal(failure, "the bind was not posted"))
    }
}
