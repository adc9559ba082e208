//! What is under test: a name that a registry opens.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::{InterfaceAdapter, Registry, Result};
use parking_lot::RwLock;

use crate::case::skip;

/// The largest count that the API under test can say: a `DAT_COUNT` of C is signed.
pub const MOST: u32 = if cfg!(feature = "c") { i32::MAX as u32 } else { u32::MAX };

/// The longest length that the API under test can say: one of DAT 2.0 in C has 32 bits.
pub const LONGEST: u64 = if cfg!(feature = "c") { u32::MAX as u64 } else { u64::MAX };

/// Whether the API under test has the calls that DAT 2.0 added.
pub const HAS_2_0: bool = !cfg!(feature = "c-1-2");

/// The adapter under test.
#[derive(Clone, Debug)]
pub struct Target {
    /// What opens it.
    pub registry: Registry,
    /// The name to open it by.
    pub name: String,
}

static TARGET: RwLock<Option<Target>> = RwLock::new(None);

/// Sets the adapter that the cases of this process try their rules on.
pub fn set_target(target: Target) {
    *TARGET.write() = Some(target);
}

/// The adapter under test.
///
/// # Panics
/// When none was set.
#[must_use]
pub fn target() -> Target {
    TARGET.read().clone().expect("the runner sets the target first")
}

/// Whether the adapter takes the parameters of the loopback provider, by which cases reach
/// limits and keep out of each other's way.
#[must_use]
pub fn takes_parameters() -> bool {
    let name = target().name;
    name == "loopback" || name.starts_with("loopback?")
}

/// An address that no other adapter of this process has; only where adapters can choose.
#[must_use]
pub fn fresh_address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, high, middle, low] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, high + 1, middle, low))
}

/// Another instance of the adapter under test. A case that names parameters is skipped where
/// the adapter doesn't take them.
///
/// # Errors
/// What the open said.
pub fn try_open(parameters: &str) -> Result<InterfaceAdapter> {
    let Target { registry, name } = target();
    if !takes_parameters() {
        if !parameters.is_empty() {
            skip(format!("the adapter takes no parameters, and the case needs {parameters}"));
        }
        return registry.open(&name);
    }
    let separator = if name.contains('?') { ',' } else { '?' };
    registry.open(&format!("{name}{separator}address={},{parameters}", fresh_address()))
}

/// Another instance of the adapter under test at an address; skips the case where adapters
/// can't choose theirs.
///
/// # Panics
/// When it can't be opened.
#[track_caller]
#[must_use]
pub fn open_at(address: IpAddr, parameters: &str) -> InterfaceAdapter {
    let Target { registry, name } = target();
    if !takes_parameters() {
        skip("the adapter can't choose its address");
    }
    let separator = if name.contains('?') { ',' } else { '?' };
    let name = format!("{name}{separator}address={address},{parameters}");
    registry.open(&name).expect("the adapter under test opens")
}
