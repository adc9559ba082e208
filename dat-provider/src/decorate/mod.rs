//! Decorators: providers around a provider that change or record its calls.
//!
//! - [`faults`] makes calls fail, connections break and completions come late;
//! - [`trace`] records each call and each upcall.
//!
//! They can be stacked in any order, over any provider:
//!
//! ```
//! use dat_provider::decorate::faults::{FaultPlan, FaultyProvider};
//! use dat_provider::decorate::trace::{TraceRing, TracingProvider};
//! use dat_provider::stub::StubProvider;
//! use std::sync::Arc;
//!
//! let faulty = FaultyProvider::new(Arc::new(StubProvider), FaultPlan::new().create_nth(2));
//! let ring = Arc::new(TraceRing::new(100));
//! // What `Registry::add_provider` of dat-core takes.
//! let traced = TracingProvider::new(Arc::new(faulty), ring.clone());
//! assert!(ring.lines().is_empty());
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
mod domain;
pub mod faults;
mod hooks;
mod parameters;
mod queue_pair;
mod shared_receive;
pub mod trace;

pub use call::{Kind, Object};

#[cfg(test)]
mod tests;
