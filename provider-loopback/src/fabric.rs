//! The part that all adapters of the process share: hosts, listeners and ports. A child of a fork has a fabric of its
//! own, without the adapters of its parent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{Address, ListenSink, Listener, ListenerParts, LocalCause};
use dat_provider_kit::network::within_this_machine;
use dat_sync::{Mutex, PerProcess, Process};

static HOSTS: PerProcess<Mutex<Hosts>> = PerProcess::new();
static PORTS: AtomicU64 = AtomicU64::new(FIRST_EPHEMERAL);

/// The first qualifier that is assigned to listeners which request none.
const FIRST_ASSIGNED: u64 = 0x1_0000;
/// The first port that is assigned to connecting queue pairs. Nothing listens on such ports.
const FIRST_EPHEMERAL: u64 = 0x1_0000_0000;

/// Assigns a port to a connecting queue pair.
pub(crate) fn ephemeral_port() -> u64 {
    PORTS.fetch_add(1, Ordering::Relaxed)
}

#[derive(Default)]
struct Hosts {
    /// Number of open adapters at each address.
    adapters: BTreeMap<Address, usize>,
    listeners: BTreeMap<(Address, u64), Arc<dyn ListenSink>>,
    /// Number of qualifiers that were tried for assignment, modulo their total.
    assigned: u64,
}

/// The presence of an adapter at its address, for as long as any of its objects exists.
pub(crate) struct Host {
    address: Address,
    process: Process,
    /// Number of datagrams that arrived and found no receive, or one that is too short.
    dropped: AtomicU64,
}

impl Host {
    pub(crate) fn new(address: Address) -> Arc<Self> {
        *HOSTS.get().lock().adapters.entry(address).or_default() += 1;
        Arc::new(Self { address, process: Process::current(), dropped: AtomicU64::new(0) })
    }

    /// A datagram is lost.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of datagrams that were lost.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let mut hosts = HOSTS.get().lock();
        if let Some(count) = hosts.adapters.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                hosts.adapters.remove(&self.address);
            }
        }
    }
}

/// The listener at an address and connection qualifier.
pub(crate) enum Route {
    NoHost,
    NoListener,
    Listener(Arc<dyn ListenSink>),
    /// This machine does not say where it is.
    Unknown(LocalCause),
}

/// The address by which the adapter of a peer's address is found; nothing for another machine.
fn found(address: Address) -> std::result::Result<Option<Address>, LocalCause> {
    match address {
        Address::Ip(ip) => within_this_machine(ip).map(|found| found.map(Address::Ip)),
        Address::Fabric(_) => Ok(Some(address)),
    }
}

/// Looks up a listener.
pub(crate) fn route(address: Address, qualifier: u64) -> Route {
    let address = match found(address) {
        Ok(Some(address)) => address,
        Ok(None) => return Route::NoHost,
        Err(cause) => return Route::Unknown(cause),
    };
    let hosts = HOSTS.get().lock();
    match hosts.listeners.get(&(address, qualifier)) {
        Some(sink) => Route::Listener(Arc::clone(sink)),
        None if hosts.adapters.contains_key(&address) => Route::NoListener,
        None => Route::NoHost,
    }
}

struct HostListener {
    host: Arc<Host>,
    qualifier: u64,
}

/// As [`listen`], if an address is that of the host.
pub(crate) fn listen_at(
    host: &Arc<Host>,
    address: Address,
    qualifier: u64,
    sink: Arc<dyn ListenSink>,
) -> Result<ListenerParts> {
    let found = found(address).map_err(|cause| cause.error(Subtype::ResourceDevice))?;
    if found != Some(host.address) {
        return Err(address.not_of_adapter(host.address));
    }
    listen(host, Some(qualifier), sink)
}

/// Adds a listener, which is removed when its object is dropped.
pub(crate) fn listen(
    host: &Arc<Host>,
    qualifier: Option<u64>,
    sink: Arc<dyn ListenSink>,
) -> Result<ListenerParts> {
    let mut hosts = HOSTS.get().lock();
    let qualifier = match qualifier {
        Some(qualifier) => qualifier,
        None => loop {
            let next = FIRST_ASSIGNED + hosts.assigned;
            hosts.assigned = (hosts.assigned + 1) % (FIRST_EPHEMERAL - FIRST_ASSIGNED);
            if !hosts.listeners.contains_key(&(host.address, next)) {
                break next;
            }
        },
    };
    let key = (host.address, qualifier);
    if hosts.listeners.contains_key(&key) {
        return Err(Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype).because(format!(
            "connection qualifier {qualifier} is already in use at {}",
            host.address
        )));
    }
    hosts.listeners.insert(key, sink);
    let listener = Box::new(HostListener { host: Arc::clone(host), qualifier });
    Ok(ListenerParts { qualifier, listener })
}

impl Listener for HostListener {}

impl Drop for HostListener {
    fn drop(&mut self) {
        if !self.host.process.is_current() {
            return;
        }
        let sink = HOSTS.get().lock().listeners.remove(&(self.host.address, self.qualifier));
        // The sink may own anything, so it is dropped without the lock.
        drop(sink);
    }
}
