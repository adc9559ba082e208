//! Protection domains and registered memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::verbs::{VerbsDomain, VerbsRegion};
use dat_provider::{MemoryRegion, MemoryWindow, ProtectionDomain, Registration, WindowScope};
use dat_sync::Mutex;
use dat_sync::region_table::Region;
use slab::Slab;

use crate::direct::{self, RegistrationTime};
use crate::errors::{foreign_object, no_region, still_accessed};
use crate::regions;
use crate::sync::fence;
use crate::window;

/// A protection domain, with the queue pairs that may copy its memory.
pub struct Domain {
    /// Its owner id in the region table.
    pub id: u32,
    users: Mutex<Slab<Arc<dyn DomainUser>>>,
}

/// A queue pair that may copy memory of a domain.
pub trait DomainUser: Send + Sync {
    /// Waits until the copies that are in progress have ended, by passing through the locks under which
    /// they run. The caller has run a heavy fence.
    fn wait_for_copies(&self);

    /// As [`wait_for_copies`](Self::wait_for_copies), without a fence. Returns false, without waiting, if a lock is
    /// biased to another thread, so that a fence is necessary.
    fn wait_for_copies_without_fence(&self) -> bool;
}

/// The object that represents a domain in the provider contract.
struct DomainHandle(Arc<Domain>);

/// Creates a protection domain.
pub fn create() -> Arc<dyn ProtectionDomain> {
    Arc::new(DomainHandle(Arc::new(Domain { id: regions::add_owner(), users: Mutex::default() })))
}

/// The domain behind an object of the contract.
///
/// # Errors
/// The object belongs to another provider.
pub fn downcast(domain: &dyn ProtectionDomain) -> Result<Arc<Domain>> {
    match domain.as_any().downcast_ref::<DomainHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("protection domain", Subtype::InvalidHandlePz)),
    }
}

impl ProtectionDomain for DomainHandle {
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration> {
        let is_remote = privileges.intersects(Privileges::REMOTE);
        let region = self.0.region(span, privileges);
        let key = regions::insert(region.into(), is_remote).map_err(no_region)?;
        Ok(Registered::new(&self.0, key, is_remote).registration())
    }

    fn for_verbs(&self) -> &dyn VerbsDomain {
        self
    }

    fn create_window(&self, tag: u64, scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        Ok(window::create(&self.0, tag, scope))
    }
}

impl VerbsDomain for DomainHandle {
    fn register_at(
        &self,
        span: Span,
        address: u64,
        privileges: Privileges,
    ) -> Result<Registration> {
        if address == span.address() || !privileges.intersects(Privileges::REMOTE) {
            return self.register(span, privileges);
        }
        let region = self.0.region(span, privileges - Privileges::REMOTE);
        let key = regions::insert(region.into(), false).map_err(no_region)?;
        Registered::new(&self.0, key, false).named_at(address, &region, privileges)
    }
}

impl Domain {
    /// A region of the domain.
    fn region(&self, span: Span, privileges: Privileges) -> Region {
        Region {
            address: span.address(),
            length: span.len() as u64,
            owner: self.id,
            value: 0,
            access: privileges.bits(),
        }
    }

    /// Waits until all copies of the domain's memory that are in progress have ended.
    ///
    /// A copy runs under a lock of a queue pair of the domain, or of its peer. A queue pair that joins the domain or
    /// connects later sees the keys that were removed before this call.
    fn wait_for_copies(&self) {
        let mut users: Vec<_> =
            self.users.lock().iter().map(|(_, user)| Arc::clone(user)).collect();
        // The fence is a system call. Usually one thread uses a queue pair and frees its memory, so no other thread
        // owns the bias of a lock, and no fence is needed.
        users.retain(|user| !user.wait_for_copies_without_fence());
        if users.is_empty() {
            return;
        }
        // Pairs with the light fences of the locks under which the users copy.
        fence::heavy();
        for user in users {
            user.wait_for_copies();
        }
    }
}

impl Drop for Domain {
    /// Regions and windows hold a reference to the domain, so none is left.
    fn drop(&mut self) {
        regions::remove_owner(self.id);
    }
}

/// A queue pair's entry among the users of a domain.
pub struct Membership {
    domain: Arc<Domain>,
    user: usize,
}

impl Membership {
    /// Adds a queue pair to the users of a domain.
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

/// Registered memory. Its key serves local and remote accesses, subject to its privileges, unless the peer names the
/// memory by other addresses.
struct Registered {
    domain: Arc<Domain>,
    key: u32,
    /// The key for peers, or 0.
    remote_key: u32,
    registered: RegistrationTime,
    is_deregistered: AtomicBool,
}

impl Registered {
    /// The region of a domain that a key names.
    fn new(domain: &Arc<Domain>, key: u32, is_remote: bool) -> Self {
        Self {
            domain: Arc::clone(domain),
            key,
            remote_key: if is_remote { key } else { 0 },
            registered: RegistrationTime::now(),
            is_deregistered: AtomicBool::new(false),
        }
    }

    /// Adds a key by which peers name the memory with addresses that begin with this one.
    fn named_at(
        mut self,
        address: u64,
        memory: &Region,
        privileges: Privileges,
    ) -> Result<Registration> {
        let placed = window::other_name(self.key, memory, address, privileges);
        self.remote_key = regions::insert(placed, true).map_err(no_region)?;
        Ok(self.registration())
    }

    fn registration(self) -> Registration {
        let (local_key, remote_key) = (self.key, self.remote_key);
        Registration { region: Box::new(self), local_key, remote_key }
    }

    /// Makes the key for peers invalid, if it is one of its own.
    fn end_remote_key(&self) {
        if self.remote_key != 0 && self.remote_key != self.key {
            regions::remove(self.remote_key);
        }
    }

    /// Waits until no transfer accesses the memory any more, whose key is invalid.
    fn end_accesses(&self) -> Result<()> {
        self.domain.wait_for_copies();
        let is_accessible = self.remote_key != 0 || direct::has_offers();
        if is_accessible && !direct::revoke(self.domain.id, self.registered) {
            return Err(still_accessed());
        }
        Ok(())
    }
}

/// Returns the key of a memory region of the contract.
///
/// # Errors
/// The object belongs to another provider.
pub fn key_of(region: &dyn MemoryRegion) -> Result<u32> {
    match region.as_any().downcast_ref::<Registered>() {
        Some(region) => Ok(region.key),
        None => Err(foreign_object("memory region", Subtype::InvalidHandleLmr)),
    }
}

impl MemoryRegion for Registered {
    fn deregister(&self) -> Result<()> {
        if self.is_deregistered.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.end_remote_key();
        regions::remove(self.key);
        self.end_accesses()
    }

    fn for_verbs(&self) -> &dyn VerbsRegion {
        self
    }
}

impl VerbsRegion for Registered {
    fn reregister(
        &self,
        domain: &dyn ProtectionDomain,
        span: Span,
        address: u64,
        privileges: Privileges,
    ) -> Result<Registration> {
        let domain = downcast(domain)?;
        if self.is_deregistered.swap(true, Ordering::AcqRel) || !regions::suspend(self.key) {
            return Err(Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandleLmr)
                .because("the region is deregistered"));
        }
        self.end_remote_key();
        if let Err(error) = self.end_accesses() {
            regions::release(self.key);
            return Err(error);
        }
        let is_remote = privileges.intersects(Privileges::REMOTE);
        if is_remote && address != span.address() {
            let region = domain.region(span, privileges - Privileges::REMOTE);
            regions::resume(self.key, region, false);
            return Self::new(&domain, self.key, false).named_at(address, &region, privileges);
        }
        regions::resume(self.key, domain.region(span, privileges), is_remote);
        Ok(Self::new(&domain, self.key, is_remote).registration())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Only an explicit call can report the error.
        let _ = self.deregister();
    }
}
