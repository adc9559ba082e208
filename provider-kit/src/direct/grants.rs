//! The connections whose peers may access memory of this process directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dat_provider::flags::Privileges;
use dat_sync::{Mutex, PerProcess};

use super::page;

/// How long the owner of memory waits for a peer's access to end: longer than any access takes unless the peer is
/// stopped.
const ACCESS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the end of a connection waits for an access to end.
const ACCESS_TIMEOUT_AT_END: Duration = Duration::from_millis(10);

/// The gate that the peer of one connection passes for each access. A link implements it.
pub trait Gate: Send + Sync {
    /// Allows accesses to begin.
    fn open(&self);

    /// Refuses accesses that need one of these remote privileges, from the next one on and until the next call.
    fn deny(&self, denied: Privileges);

    /// Prevents new accesses.
    fn close(&self);

    /// Makes the peer look up each region again in later accesses.
    fn revoke(&self);

    /// Waits until the access in progress has ended. Returns false if the deadline expires first. A peer that is gone
    /// accesses nothing.
    fn wait(&self, deadline: Instant) -> bool;

    /// Ends the connection, because the peer does not end its access.
    fn hang_up(&self);
}

struct Granted {
    domain: u32,
    gate: Box<dyn Gate>,
    /// The value of [`ENDED`] after the end of the connection; 0 before.
    closed: AtomicU64,
    /// True if an access did not end in time, so that later calls do not wait for it again.
    is_stuck: AtomicBool,
}

impl Granted {
    fn wait(&self, patience: Duration) -> bool {
        let is_stuck = self.is_stuck.load(Ordering::Relaxed);
        let now = Instant::now();
        self.gate.wait(if is_stuck { now } else { now + patience })
    }

    fn close(&self) {
        self.gate.close();
        if self.closed.load(Ordering::Relaxed) == 0 {
            // Release: pairs with `RegistrationTime::now`.
            self.closed.store(ENDED.fetch_add(1, Ordering::AcqRel) + 1, Ordering::Relaxed);
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != 0
    }

    /// Returns true if its peer may access memory registered at that moment: false if the grant ended before.
    fn may_access(&self, registered: RegistrationTime) -> bool {
        !self.is_closed() || self.closed.load(Ordering::Relaxed) > registered.0
    }
}

/// Number of grants that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);
/// All grants of this process, including those of ended connections whose peers have not ended their access.
static GRANTS: PerProcess<Mutex<Vec<Arc<Granted>>>> = PerProcess::new();

/// The time of a registration, ordered relative to the ends of grants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegistrationTime(u64);

impl RegistrationTime {
    pub(crate) fn now() -> Self {
        Self(ENDED.load(Ordering::Acquire))
    }
}

/// The access of one peer to the memory of a domain; dropping it ends the access.
pub struct Grant(Arc<Granted>);

/// Grants the peer of a connection access to the memory of a domain, without the remote privileges that are denied.
#[must_use]
pub fn grant(domain: u32, gate: Box<dyn Gate>, denied: Privileges) -> Grant {
    let (closed, is_stuck) = (AtomicU64::new(0), AtomicBool::new(false));
    let granted = Arc::new(Granted { domain, gate, closed, is_stuck });
    {
        let mut grants = GRANTS.get().lock();
        let now = Instant::now();
        grants.retain(|one| !(one.is_closed() && one.gate.wait(now)));
        grants.push(Arc::clone(&granted));
    }
    granted.gate.deny(denied);
    // After it is listed, so that `revoke` does not miss an access.
    granted.gate.open();
    Grant(granted)
}

impl Grant {
    /// Denies the peer these remote privileges, and no others.
    pub(crate) fn deny(&self, denied: Privileges) {
        self.0.gate.deny(denied);
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.0.close();
        if self.0.wait(ACCESS_TIMEOUT_AT_END) {
            GRANTS.get().lock().retain(|one| !Arc::ptr_eq(one, &self.0));
        }
    }
}

/// True once this process has offered a message.
static HAS_OFFERS: AtomicBool = AtomicBool::new(false);

/// A message is about to be offered. The caller holds the lock of the queue pair until it has validated the message's
/// memory and written the offer. A deregistration takes that lock before it revokes.
#[inline]
pub(crate) fn note_offer() {
    if !has_offers() {
        HAS_OFFERS.store(true, Ordering::Relaxed);
    }
}

/// Returns true if peers may access memory without remote privileges, because it was offered.
pub(crate) fn has_offers() -> bool {
    HAS_OFFERS.load(Ordering::Relaxed)
}

/// Waits until no peer accesses memory of a domain that was registered at that moment and has been withdrawn from the
/// page. Returns true if that is certain. Ends the connections of peers that do not end their access within two
/// seconds.
pub(crate) fn revoke(domain: u32, registered: RegistrationTime) -> bool {
    if !page::is_in_use() {
        return true;
    }
    let may_access = |one: &&Arc<Granted>| one.domain == domain && one.may_access(registered);
    let grants: Vec<_> = GRANTS.get().lock().iter().filter(may_access).map(Arc::clone).collect();
    for one in &grants {
        one.gate.revoke();
    }
    let start = Instant::now();
    let mut is_certain = true;
    for one in &grants {
        if !one.wait(ACCESS_TIMEOUT.saturating_sub(start.elapsed())) {
            is_certain = false;
            one.is_stuck.store(true, Ordering::Relaxed);
            one.close();
            one.gate.hang_up();
        }
    }
    is_certain
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// Counts the calls; its peer is in an access that ends when `is_quiet` is set.
    #[derive(Default)]
    struct Calls {
        opened: AtomicU32,
        closed: AtomicU32,
        revoked: AtomicU32,
        hung_up: AtomicU32,
        is_quiet: AtomicBool,
    }

    struct Counting(Arc<Calls>);

    impl Gate for Counting {
        fn open(&self) {
            self.0.opened.fetch_add(1, Ordering::Relaxed);
        }
        fn deny(&self, _: Privileges) {}
        fn close(&self) {
            self.0.closed.fetch_add(1, Ordering::Relaxed);
        }
        fn revoke(&self) {
            self.0.revoked.fetch_add(1, Ordering::Relaxed);
        }
        fn wait(&self, _: Instant) -> bool {
            self.0.is_quiet.load(Ordering::Relaxed)
        }
        fn hang_up(&self) {
            self.0.hung_up.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn listed(domain: u32) -> usize {
        GRANTS.get().lock().iter().filter(|one| one.domain == domain).count()
    }

    #[test]
    fn revoking_concerns_the_grants_of_the_domain() {
        page::put_in_use();
        let (one, other) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
        let quiet = |calls: &Arc<Calls>| calls.is_quiet.store(true, Ordering::Relaxed);
        quiet(&one);
        quiet(&other);
        let grants = [(901, &one), (902, &other)].map(|(domain, calls)| {
            grant(domain, Box::new(Counting(Arc::clone(calls))), Privileges::empty())
        });
        assert!(revoke(901, RegistrationTime::now()));
        let count = |calls: &Calls| calls.revoked.load(Ordering::Relaxed);
        assert_eq!((count(&one), count(&other)), (1, 0));
        drop(grants);
        assert_eq!((listed(901), listed(902)), (0, 0));
        assert_eq!(one.closed.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_peer_that_does_not_end_its_access_is_hung_up_on_and_remembered() {
        page::put_in_use();
        let calls = Arc::new(Calls::default());
        let grant = grant(903, Box::new(Counting(Arc::clone(&calls))), Privileges::empty());
        let registered = RegistrationTime::now();
        assert!(!revoke(903, registered), "its access is in progress");
        assert_eq!(calls.hung_up.load(Ordering::Relaxed), 1);
        drop(grant);
        assert!(!revoke(903, registered), "the end of the connection does not end the access");
        assert!(
            revoke(903, RegistrationTime::now()),
            "it does not concern memory that was registered later"
        );
        assert_eq!(listed(903), 1);
        calls.is_quiet.store(true, Ordering::Relaxed);
        assert!(revoke(903, registered));
    }
}
