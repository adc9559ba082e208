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
//! # A decorator of your own
//! It implements [`Hooks`], and a [`Provider`](crate::Provider) whose `open` calls [`open`]. This one counts
//! the calls that fail:
//!
//! ```
//! use dat_provider::decorate::{Call, Hooks, Object, Queues};
//! use dat_provider::error::Error;
//! use dat_provider::CompletionPoller;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! struct Failures(Arc<AtomicU64>);
//!
//! impl Hooks for Failures {
//!     type Queue = ();
//!     type Pair = ();
//!     type End = ();
//!
//!     fn done(&self, _: Object, _: &Call<'_>, error: Option<&Error>) {
//!         self.0.fetch_add(u64::from(error.is_some()), Ordering::Relaxed);
//!     }
//!
//!     fn queue(&self, poller: Box<dyn CompletionPoller>, _: usize) -> ((), Box<dyn CompletionPoller>) {
//!         ((), poller)
//!     }
//!
//!     fn pair(&self, _: u64, _: Queues<()>) {}
//!
//!     fn end(&self, _: &()) {}
//! }
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
mod call_text;
mod completion;
mod connection;
mod domain;
pub mod faults;
mod hooks;
mod object;
mod parameters;
mod queue_pair;
mod shared_receive;
pub mod trace;

pub use adapter::open;
pub use call::Call;
pub use hooks::{Hooks, Queues};
pub use object::{Kind, Object};

#[cfg(test)]
mod tests;
