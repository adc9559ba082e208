//! What the whole process shares: hosts, listeners, ports.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{ListenSink, Listener, ListenerParts};
pub(crate) use dat_provider_kit::regions::{queue_pair_id, unique_id};
use parking_lot::Mutex;

static HOSTS: LazyLock<Mutex<Hosts>> = LazyLock::new(Mutex::default);
static PORTS: AtomicU64 = AtomicU64::new(FIRST_EPHEMERAL);

/// Where qualifiers of the fabric's choice start.
const FIRST_CHOSEN: u64 = 0x1_0000;
/// Where the ports of connecting queue pairs start; they name, they are never connected to.
const FIRST_EPHEMERAL: u64 = 0x1_0000_0000;

/// A port for a queue pair that connects.
pub(crate) fn ephemeral_port() -> u64 {
    PORTS.fetch_add(1, Ordering::Relaxed)
}

#[derive(Default)]
struct Hosts {
    /// How many adapters are open at each address.
    adapters: BTreeMap<IpAddr, usize>,
    listeners: BTreeMap<(IpAddr, u64), Arc<dyn ListenSink>>,
    /// How many qualifiers were tried for listeners without one.
    chosen: u64,
}

/// An adapter's presence at its address, for as long as any of its objects lives.
pub(crate) struct Host {
    address: IpAddr,
}

impl Host {
    pub(crate) fn new(address: IpAddr) -> Arc<Self> {
        *HOSTS.lock().adapters.entry(address).or_default() += 1;
        Arc::new(Self { address })
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let mut hosts = HOSTS.lock();
        if let Some(count) = hosts.adapters.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                hosts.adapters.remove(&self.address);
            }
        }
    }
}

/// What is found at an address and qualifier.
pub(crate) enum Route {
    NoHost,
    NoListener,
    Listener(Arc<dyn ListenSink>),
}

pub(crate) fn route(address: IpAddr, qualifier: u64) -> Route {
    let hosts = HOSTS.lock();
    match hosts.listeners.get(&(address, qualifier)) {
        Some(sink) => Route::Listener(Arc::clone(sink)),
        None if hosts.adapters.contains_key(&address) => Route::NoListener,
        None => Route::NoHost,
    }
}

struct Listening {
    host: Arc<Host>,
    qualifier: u64,
}

pub(crate) fn listen(
    host: &Arc<Host>,
    qualifier: Option<u64>,
    sink: Arc<dyn ListenSink>,
) -> Result<ListenerParts> {
    let mut hosts = HOSTS.lock();
    let qualifier = match qualifier {
        Some(qualifier) => qualifier,
        None => loop {
            let next = FIRST_CHOSEN + hosts.chosen;
            hosts.chosen = (hosts.chosen + 1) % (FIRST_EPHEMERAL - FIRST_CHOSEN);
            if !hosts.listeners.contains_key(&(host.address, next)) {
                break next;
            }
        },
    };
    let key = (host.address, qualifier);
    if hosts.listeners.contains_key(&key) {
        return Err(Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype).because(format!(
            "connection qualifier {qualifier} is already in use at \
                 {}",
            host.address
        )));
    }
    hosts.listeners.insert(key, sink);
    let listener = Box::new(Listening { host: Arc::clone(host), qualifier });
    Ok(ListenerParts { qualifier, listener })
}

impl Listener for Listening {}

impl Drop for Listening {
    fn drop(&mut self) {
        let sink = HOSTS.lock().listeners.remove(&(self.host.address, self.qualifier));
        // The sink may own more than this module knows of, so it goes without the lock.
        drop(sink);
    }
}
