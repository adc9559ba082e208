//! Decorators: providers around a provider, which change or watch what goes through them.
//!
//! - [`faults`] makes calls fail, connections break and completions come late;
//! - [`trace`] records each call and each upcall;
//! - [`count`] counts them.
//!
//! They can be stacked in any order, over any provider:
//!
//! ```
//! use dat_core::Registry;
//! use dat_core::provider::decorate::count::{Count, CountingProvider};
//! use dat_core::provider::decorate::faults::{FaultPlan, FaultyProvider};
//!
//! let faulty = FaultyProvider::new(provider_loopback::provider(), FaultPlan::new().create_nth(2));
//! let counting = CountingProvider::new(std::sync::Arc::new(faulty));
//! let counters = counting.counters();
//! let registry = Registry::new();
//! registry.add_provider(std::sync::Arc::new(counting))?;
//! let ia = registry.open("loopback")?;
//! ia.pz_create()?;
//! assert!(ia.pz_create().is_err(), "the second creation");
//! assert_eq!(counters.snapshot().get(Count::Domains), 1);
//! # Ok::<(), dat_core::Error>(())
//! ```
//!
//! # How they are made
//! One layer of objects, generic over its `Hooks`, forwards every call and
//! upcall; a decorator is its hooks and nothing else. An object of the layer owns the object
//! of the provider below, and hands *that* down wherever a call names an object: in
//! specifications, binds and accepts. So each provider finds its own types behind `as_any`,
//! and two layers of one kind do not get in each other's way.

mod adapter;
mod call;
mod completion;
mod connection;
pub mod count;
mod domain;
pub mod faults;
mod hooks;
mod queue_pair;
mod shared_receive;
pub mod trace;

pub use call::{Kind, Object};

#[cfg(test)]
mod tests;
