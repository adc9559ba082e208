//! Decorators: providers that wrap another provider and change or record its calls.
//!
//! - [`faults`] makes calls fail, breaks connections and delays completions;
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
//! # Structure
//! One layer of objects, generic over its `Hooks`, forwards every call and upcall; a decorator
//! consists only of its hooks. An object of the layer owns the object of the provider below, and
//! passes *that* on wherever a call names an object: in specifications, binds and accepts. So each
//! provider finds its own types behind a trait object, and two layers of the same kind do not interfere
//! with each other.

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
