//! Protection domains, and the memory registered in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::error::{Result, Subtype};
use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::{MemoryRegion, MemoryWindow, ProtectionDomain, Registration, WindowScope};
use dat_sync::region_table::Region;
use parking_lot::Mutex;
use slab::Slab;

use crate::errors::{foreign_object, region_table_full};
use crate::regions::regions;
use crate::sync::fence;
use crate::window;

/// A domain: its number, and the queue pairs that may be copying its memory.
pub struct Domain {
    /// As an owner of regions.
    pub id: u32,
    users: Mutex<Slab<Arc<dyn DomainUser>>>,
}

/// A queue pair whose copies may touch memory of a domain.
pub trait DomainUser: Send + Sync {
    /// Passes through the locks under which it copies memory of its domains, after a heavy fence:
    /// a copy that began before is over.
    fn wait_for_copies(&self);

    /// As [`wait_for_copies`](Self::wait_for_copies) without the fence, unless one of the locks is biased to another
    /// thread; whether that was enough.
    fn wait_for_copies_without_fence(&self) -> bool;
}

struct DomainHandle(Arc<Domain>);

/// Makes a protection domain.
pub fn create() -> Arc<dyn ProtectionDomain> {
    Arc::new(DomainHandle(Arc::new(Domain { id: regions().add_owner(0), users: Mutex::default() })))
}

/// The domain behind a handle of the contract.
pub fn downcast(domain: &dyn ProtectionDomain) -> Result<Arc<Domain>> {
    match domain.as_any().downcast_ref::<DomainHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("protection domain", Subtype::InvalidHandlePz)),
    }
}

impl ProtectionDomain for DomainHandle {
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration> {
        let region = Region {
            address: span.address(),
            length: span.len() as u64,
            owner: self.0.id,
            value: 0,
            access: privileges.bits(),
        };
        let key = regions().insert(region).ok_or_else(region_table_full)?;
        let is_remote = privileges.intersects(Privileges::REMOTE);
        let domain = Arc::clone(&self.0);
        let region = Box::new(Registered { domain, key, gone: AtomicBool::new(false) });
        Ok(Registration { region, local_key: key, remote_key: if is_remote { key } else { 0 } })
    }

    fn create_window(&self, tag: u64, scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        Ok(window::create(&self.0, tag, scope))
    }
}

impl Domain {
    /// Waits until no copy that began before is still running on memory of the domain.
    ///
    /// A copy runs under the `rq` of the responder, so the queue pairs of the domain and
    /// their peers are all there are. One that joins, or connects, later has seen what was
    /// removed before this.
    fn wait_for_copies(&self) {
        let mut users: Vec<_> =
            self.users.lock().iter().map(|(_, user)| Arc::clone(user)).collect();
        // A queue pair whose locks are biased to no other thread needs no fence, which is a system
        // call: mostly one thread uses it and frees its memory.
        users.retain(|user| !user.wait_for_copies_without_fence());
        if users.is_empty() {
            return;
        }
        fence::heavy();
        for user in users {
            user.wait_for_copies();
        }
    }
}

impl Drop for Domain {
    /// What is of the domain keeps it, so nothing is left.
    fn drop(&mut self) {
        regions().remove_owner(self.id);
    }
}

/// A queue pair's entry among the users of a domain.
pub struct Membership {
    domain: Arc<Domain>,
    user: usize,
}

impl Membership {
    /// Enters a queue pair among the users of a domain.
    pub fn new(domain: &Arc<Domain>, user: Arc<dyn DomainUser>) -> Self {
        let user = domain.users.lock().insert(user);
        Self { domain: Arc::clone(domain), user }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.domain.users.lock().try_remove(self.user);
    }
}

/// Registered memory. One key serves both sides; what each may do is in its privileges.
struct Registered {
    domain: Arc<Domain>,
    key: u32,
    gone: AtomicBool,
}

/// The key of a region of the contract.
pub fn key_of(region: &dyn MemoryRegion) -> Result<u32> {
    match region.as_any().downcast_ref::<Registered>() {
        Some(region) => Ok(region.key),
        None => Err(foreign_object("memory region", Subtype::InvalidHandleLmr)),
    }
}

impl MemoryRegion for Registered {
    fn deregister(&self) -> Result<()> {
        if !self.gone.swap(true, Ordering::AcqRel) {
            regions().remove(self.key);
            self.domain.wait_for_copies();
        }
        Ok(())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // It never fails: see above.
        let _ = self.deregister();
    }
}
