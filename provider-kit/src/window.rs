//! Memory windows.
//!
//! A bind takes its key when it is posted, and the key of the bind before stays valid until
//! the new one executes; one that is flushed leaves the window as it was.

use std::cell::Cell;
use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::{BindRequest, MemoryWindow, WindowScope};
use dat_sync::region_table::Region;
use parking_lot::Mutex;

use crate::domain::{self, Domain};
use crate::errors::{foreign_object, region_table_full};
use crate::regions::regions;

/// A memory window.
pub struct Window {
    /// The tag that its binds complete with.
    pub tag: u64,
    domain: Arc<Domain>,
    scope: WindowScope,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key of the last bind that executed, or 0.
    key: u32,
    freed: bool,
}

struct Handle(Arc<Window>);

/// Makes a window of a domain, which is bound to nothing.
pub fn create(domain: &Arc<Domain>, tag: u64, scope: WindowScope) -> Arc<dyn MemoryWindow> {
    let domain = Arc::clone(domain);
    Arc::new(Handle(Arc::new(Window { tag, domain, scope, state: Mutex::default() })))
}

impl MemoryWindow for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.freed = true;
        regions().remove(std::mem::take(&mut state.key));
    }
}

/// What the table keeps for a window: the key of the region below, and the number of the only
/// queue pair that may use it, or 0 for all.
#[derive(Clone, Copy)]
pub struct Backing {
    /// The key of the region.
    pub key: u32,
    /// The number of the queue pair, or 0.
    pub queue_pair: u32,
}

impl Backing {
    fn pack(self) -> u64 {
        u64::from(self.queue_pair) << 32 | u64::from(self.key)
    }

    /// What the value of a region in the table says.
    pub const fn unpack(value: u64) -> Self {
        Self { key: value as u32, queue_pair: (value >> 32) as u32 }
    }
}

/// Makes the key of a bound window invalid that a queue pair of that domain may use; whether
/// it was such a key.
pub fn invalidate(key: u32, domain: u32, queue_pair: u32) -> bool {
    is_bound(key, domain, queue_pair) && regions().remove(key)
}

/// Whether a key is that of a bound window that a queue pair of that domain may use.
pub fn is_bound(key: u32, domain: u32, queue_pair: u32) -> bool {
    regions().get(key).is_some_and(|region| {
        let below = Backing::unpack(region.value);
        region.owner == domain
            && below.key != 0
            && (below.queue_pair == 0 || below.queue_pair == queue_pair)
    })
}

/// A bind that was posted.
pub struct Bind {
    window: Arc<Window>,
    /// The new key until the bind executes; 0 for one that closes the window.
    key: Cell<u32>,
}

impl Bind {
    /// A bind on the queue pair of that number.
    pub fn new(request: &BindRequest<'_>, queue_pair: u32) -> Result<Self> {
        let Some(handle) = request.window.as_any().downcast_ref::<Handle>() else {
            return Err(foreign_object("memory window", Subtype::InvalidHandleRmr));
        };
        let window = Arc::clone(&handle.0);
        let only = match window.scope {
            WindowScope::Domain => 0,
            WindowScope::QueuePair => queue_pair,
        };
        let key = match request.region {
            Some(region) if request.length > 0 => {
                let region = Region {
                    address: request.address,
                    length: request.length,
                    owner: window.domain.id,
                    value: Backing { key: domain::key_of(region)?, queue_pair: only }.pack(),
                    access: request.privileges.bits(),
                };
                regions().insert(region).ok_or_else(region_table_full)?
            }
            _ => 0,
        };
        Ok(Self { window, key: Cell::new(key) })
    }

    /// The same bind to keep; this one is left without its key.
    pub fn take(&self) -> Self {
        Self { window: Arc::clone(&self.window), key: Cell::new(self.key.take()) }
    }

    /// The key that it takes effect with, or 0.
    pub fn key(&self) -> u32 {
        self.key.get()
    }

    /// The tag of its window.
    pub fn tag(&self) -> u64 {
        self.window.tag
    }

    /// Makes the new key the window's, if a queue pair of that domain may do so and the
    /// region below is still there.
    pub fn execute(&self, domain: u32) -> bool {
        let mut state = self.window.state.lock();
        if state.freed || self.window.domain.id != domain || !self.is_backed() {
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
        let below = regions().get(Backing::unpack(bound.value).key);
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
