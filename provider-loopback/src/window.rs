//! Memory windows.
//!
//! A bind takes its key when it is posted, and the key of the bind before stays valid until
//! the new one executes; one that is flushed leaves the window as it was.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use dat_core::error::{Result, Subtype};
use dat_core::provider::{BindRequest, MemoryWindow};
use dat_core::region_table::Region;
use parking_lot::Mutex;

use crate::domain;
use crate::errors::{foreign, no_region};
use crate::fabric::regions;

pub(crate) struct Window {
    pub(crate) tag: u64,
    domain: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key of the last bind that executed, or 0.
    key: u32,
    freed: bool,
}

struct Handle(Arc<Window>);

pub(crate) fn create(domain: u64, tag: u64) -> Arc<dyn MemoryWindow> {
    Arc::new(Handle(Arc::new(Window { tag, domain, state: Mutex::default() })))
}

impl MemoryWindow for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.freed = true;
        regions().remove(std::mem::take(&mut state.key));
    }
}

/// A bind that was posted.
pub(crate) struct Bind {
    window: Arc<Window>,
    /// The new key until the bind executes; 0 for one that closes the window.
    key: Cell<u32>,
}

impl Bind {
    pub(crate) fn new(request: &BindRequest<'_>) -> Result<Self> {
        let Some(handle) = request.window.as_any().downcast_ref::<Handle>() else {
            return Err(foreign("memory window", Subtype::InvalidHandleRmr));
        };
        let window = Arc::clone(&handle.0);
        let key = match request.region {
            Some(region) if request.length > 0 => {
                let region = Region {
                    address: request.address,
                    length: request.length,
                    owner: window.domain,
                    value: u64::from(domain::key_of(region)?),
                    access: request.privileges.bits(),
                };
                regions().insert(region).ok_or_else(no_region)?
            }
            _ => 0,
        };
        Ok(Self { window, key: Cell::new(key) })
    }

    pub(crate) fn key(&self) -> u32 {
        self.key.get()
    }

    pub(crate) fn tag(&self) -> u64 {
        self.window.tag
    }

    /// Makes the new key the window's, if a queue pair of that domain may do so and the
    /// region below is still there.
    pub(crate) fn execute(&self, domain: u64) -> bool {
        let mut state = self.window.state.lock();
        if state.freed || self.window.domain != domain || !self.is_backed() {
            return false;
        }
        let old = std::mem::replace(&mut state.key, self.key.take());
        regions().remove(old);
        true
    }

    fn is_backed(&self) -> bool {
        if self.key() == 0 {
            return true;
        }
        let Some(bound) = regions().get(self.key()) else { return false };
        let below = u32::try_from(bound.value).ok().and_then(|key| regions().get(key));
        below.is_some_and(|region| {
            region.owner == bound.owner && region.contains(bound.address, bound.length)
        })
    }
}

impl Drop for Bind {
    /// A bind that did not execute leaves nothing behind.
    fn drop(&mut self) {
        regions().remove(self.key());
    }
}
