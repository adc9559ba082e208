//! Memory windows.
//!
//! A bind reserves its key when it is posted. The key of the previous bind stays valid until the new one
//! executes; a flushed bind leaves the window unchanged.

use std::cell::Cell;
use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::Privileges;
use dat_provider::verbs::VerbsWindow;
use dat_provider::{BindRequest, MemoryWindow, WindowScope};
use dat_sync::Mutex;
use dat_sync::region_table::Region;

use crate::direct::{self, RegistrationTime};
use crate::domain::{self, Domain};
use crate::errors::{foreign_object, no_region};
use crate::regions::{self, Placed, regions};

/// The part of a key that a bind chooses.
const LAST_BYTE: u32 = 0xff;

/// A bind whose key is not one of those that are reserved for the window.
#[cold]
fn not_reserved(key: u32) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg1)
        .because(format!("the key {key:#x} is not one that is reserved for the memory window"))
        .advise("change only the last byte of the reserved key")
}

/// A memory window.
pub struct Window {
    /// The tag that completions of its binds return.
    pub tag: u64,
    domain: Arc<Domain>,
    scope: WindowScope,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key of the last executed bind, or 0.
    key: u32,
    /// One of the keys that are reserved for binds with a key of their own, or 0.
    reserved: u32,
    is_freed: bool,
}

impl Window {
    /// Removes a key of the window, and waits for peers that access memory directly. Ends the connection of a peer that
    /// does not stop.
    fn revoke(&self, key: u32) {
        if key != 0 && regions::remove(key) {
            direct::revoke(self.domain.id, RegistrationTime::default());
        }
    }
}

/// The object that represents a window in the provider contract.
struct WindowHandle(Arc<Window>);

/// Creates an unbound window in a domain.
pub fn create(domain: &Arc<Domain>, tag: u64, scope: WindowScope) -> Arc<dyn MemoryWindow> {
    let domain = Arc::clone(domain);
    Arc::new(WindowHandle(Arc::new(Window { tag, domain, scope, state: Mutex::default() })))
}

impl MemoryWindow for WindowHandle {
    fn for_verbs(&self) -> &dyn VerbsWindow {
        self
    }
}

impl VerbsWindow for WindowHandle {
    fn reserve_key(&self) -> Result<u32> {
        let mut state = self.0.state.lock();
        if state.reserved == 0 {
            state.reserved = regions::reserve().map_err(no_region)?;
        }
        Ok(state.reserved)
    }
}

impl Drop for WindowHandle {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_freed = true;
        self.0.revoke(std::mem::take(&mut state.key));
        regions::release(std::mem::take(&mut state.reserved));
    }
}

/// The backing of a bound window, or of a region that peers name by other addresses: its value in the region table.
#[derive(Clone, Copy)]
pub struct Backing {
    /// The key of the underlying region.
    pub key: u32,
    /// The id of the only queue pair that may access the window, or 0 for any.
    pub queue_pair: u32,
}

/// The access bit of an entry of the region table that has a backing and is not a window.
const NO_WINDOW: u32 = 0x80;

/// The memory of a key by which peers name a region that begins at another address for them.
pub(crate) fn other_name(
    key: u32,
    memory: &Region,
    address: u64,
    privileges: Privileges,
) -> Placed {
    let access = (privileges & Privileges::REMOTE).bits() | NO_WINDOW;
    let value = Backing { key, queue_pair: 0 }.pack();
    let shift = memory.address.wrapping_sub(address);
    Placed { region: Region { address, value, access, ..*memory }, shift }
}

impl Backing {
    fn pack(self) -> u64 {
        u64::from(self.queue_pair) << 32 | u64::from(self.key)
    }

    /// Decodes the value of an entry of the region table; the key is 0 for a plain region.
    pub const fn unpack(value: u64) -> Self {
        Self { key: value as u32, queue_pair: (value >> 32) as u32 }
    }
}

/// Invalidates the key of a bound window that a queue pair of the domain may access. Returns true if it was such a key.
pub fn invalidate(key: u32, domain: u32, queue_pair: u32) -> bool {
    is_bound(key, domain, queue_pair) && regions::remove(key) && {
        direct::revoke(domain, RegistrationTime::default());
        true
    }
}

/// Returns true if the key belongs to a bound window that a queue pair of the domain may access.
pub fn is_bound(key: u32, domain: u32, queue_pair: u32) -> bool {
    regions().get(key).is_some_and(|region| {
        let backing = Backing::unpack(region.value);
        region.owner == domain
            && backing.key != 0
            && region.access & NO_WINDOW == 0
            && (backing.queue_pair == 0 || backing.queue_pair == queue_pair)
    })
}

/// A posted bind.
pub struct Bind {
    window: Arc<Window>,
    /// The new key until the bind executes; 0 if the bind unbinds the window.
    key: Cell<u32>,
    /// The range of memory that the new key will name.
    memory: (u64, u64),
    /// The memory that the new key names, if it was chosen: it is not in the table before the bind executes.
    chosen: Option<Placed>,
}

impl Bind {
    /// A bind that is posted to the queue pair with this id.
    ///
    /// # Errors
    /// An object belongs to another provider, or the region table is full.
    pub fn new(request: &BindRequest<'_>, queue_pair: u32) -> Result<Self> {
        let Some(handle) = request.window.as_any().downcast_ref::<WindowHandle>() else {
            return Err(foreign_object("memory window", Subtype::InvalidHandleRmr));
        };
        let window = Arc::clone(&handle.0);
        let scope = match window.scope {
            WindowScope::Domain => 0,
            WindowScope::QueuePair => queue_pair,
        };
        let bound = match request.region {
            Some(region) if request.length > 0 => Some(Placed {
                region: Region {
                    address: request.remote_address,
                    length: request.length,
                    owner: window.domain.id,
                    value: Backing { key: domain::key_of(region)?, queue_pair: scope }.pack(),
                    access: request.privileges.bits(),
                },
                shift: request.address.wrapping_sub(request.remote_address),
            }),
            _ => None,
        };
        let (key, chosen) = match (bound, request.key) {
            (None, _) => (0, None),
            (Some(placed), Some(key)) => {
                let reserved = window.state.lock().reserved;
                if reserved == 0 || key & !LAST_BYTE != reserved & !LAST_BYTE {
                    return Err(not_reserved(key));
                }
                (key, Some(placed))
            }
            (Some(placed), None) => (regions::insert(placed, true).map_err(no_region)?, None),
        };
        let memory = (request.address, request.length);
        Ok(Self { window, key: Cell::new(key), memory, chosen })
    }

    /// Moves the bind out, so that it can be stored; dropping `self` then has no effect.
    pub fn take(&self) -> Self {
        let (window, key) = (Arc::clone(&self.window), Cell::new(self.key.take()));
        Self { window, key, ..*self }
    }

    /// The new key, or 0.
    pub fn key(&self) -> u32 {
        self.key.get()
    }

    /// The tag of its window.
    pub fn tag(&self) -> u64 {
        self.window.tag
    }

    /// Executes the bind. Returns false if the window belongs to another domain or is freed, or if the underlying
    /// region no longer exists.
    pub fn execute(&self, domain: u32) -> bool {
        let mut state = self.window.state.lock();
        if state.is_freed || self.window.domain.id != domain || !self.is_backed() {
            return false;
        }
        let key = self.key.take();
        let old = std::mem::replace(&mut state.key, key);
        self.window.revoke(old);
        self.chosen.is_none_or(|placed| regions::set(key, placed))
    }

    fn is_backed(&self) -> bool {
        if self.key() == 0 {
            return true;
        }
        let chosen = self.chosen.map(|placed| placed.region);
        let Some(bound) = chosen.or_else(|| regions().get(self.key())) else { return false };
        let region = regions().get(Backing::unpack(bound.value).key);
        let (address, length) = self.memory;
        region.is_some_and(|region| region.owner == bound.owner && region.contains(address, length))
    }
}

impl Drop for Bind {
    /// Releases the key of a bind that did not execute.
    fn drop(&mut self) {
        if self.chosen.is_none() {
            regions::remove(self.key());
        }
    }
}
