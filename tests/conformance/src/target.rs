//! The adapter under test: a registry, and the name that it opens.

use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::{Address, FabricAddress, Ia, Registry, Result};
use parking_lot::RwLock;

use crate::case::skip;

/// The largest count that the API under test can express: a `DAT_COUNT` of C is signed.
pub const MOST: u32 = if cfg!(feature = "c") { i32::MAX as u32 } else { u32::MAX };

/// The largest length that the API under test can express, in bytes: in C, DAT 2.0 has 32 bits.
pub const LONGEST: u64 = if cfg!(feature = "c") { u32::MAX as u64 } else { u64::MAX };

/// True if the API under test has the calls that DAT 2.0 added.
pub const HAS_2_0: bool = !cfg!(feature = "c-1-2");

/// The adapter under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// The registry that opens the adapter.
    pub registry: Registry,
    /// The name of the adapter, with its parameters.
    pub name: String,
    /// How often cases repeat a race, in percent of the number that they request. An emulated device takes
    /// seconds for what loopback does in milliseconds, and the races of the core are the same
    /// over both.
    pub rounds_percent: u32,
}

impl Target {
    /// The adapter that a registry opens by a name, with all rounds of every race.
    #[must_use]
    pub fn new(registry: Registry, name: impl Into<String>) -> Self {
        Self { registry, name: name.into(), rounds_percent: 100 }
    }
}

static TARGET: RwLock<Option<Target>> = RwLock::new(None);

/// Sets the adapter under test of this process.
pub fn set_target(target: Target) {
    *TARGET.write() = Some(target);
}

/// The adapter under test.
///
/// # Panics
/// If [`set_target`] has not been called.
#[must_use]
pub fn target() -> Target {
    TARGET.read().clone().expect("the runner sets the target first")
}

/// Number of rounds of a race for a case that requests `full` of them: at least two.
#[must_use]
pub fn rounds(full: u32) -> u32 {
    let percent = u64::from(target().rounds_percent);
    let rounds = u64::from(full) * percent / 100;
    u32::try_from(rounds.max(2)).unwrap_or(u32::MAX)
}

/// The name of an adapter with further parameters.
pub(crate) fn with_parameters(name: &str, parameters: &str) -> String {
    let separator = if name.contains('?') { ',' } else { '?' };
    format!("{name}{separator}{parameters}")
}

/// Returns true if the adapter takes parameters that set its limits and its address. Cases use them to set
/// low limits and separate addresses. The adapter is asked by an open with both.
#[must_use]
pub fn takes_parameters() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let Target { registry, name, .. } = target();
        let parameters = format!("address={},max_eps=16", fresh_address());
        registry.open(&with_parameters(&name, &parameters)).is_ok()
    })
}

/// An address that no other adapter of this process uses, for adapters that can choose theirs.
#[must_use]
pub fn fresh_address() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let serial = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let [_, high, middle, low] = serial;
    fabric_family()
        .and_then(|family| FabricAddress::new(family, &serial))
        .map_or(Ipv4Addr::new(127, high + 1, middle, low).into(), Address::Fabric)
}

/// The family of the addresses of the adapter, if they are not IP addresses. Only one whose name
/// sets such an address has them.
fn fabric_family() -> Option<u16> {
    static ANSWER: OnceLock<Option<u16>> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let Target { registry, name, .. } = target();
        if !name.contains("address=") {
            return None;
        }
        match registry.open(&name).ok()?.attributes().address {
            Address::Ip(_) => None,
            Address::Fabric(address) => Some(address.family()),
        }
    })
}

/// Opens another instance of the adapter under test. Skips the case if it needs parameters and the
/// adapter does not take any.
///
/// # Errors
/// The error of the open.
pub fn try_open(parameters: &str) -> Result<Ia> {
    let Target { registry, name, .. } = target();
    if !takes_parameters() {
        if !parameters.is_empty() {
            skip(format!("the adapter takes no parameters, and the case needs {parameters}"));
        }
        return registry.open(&name);
    }
    let parameters = format!("address={},{parameters}", fresh_address());
    registry.open(&with_parameters(&name, &parameters))
}
