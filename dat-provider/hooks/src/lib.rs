//! Decorators: layers over the adapters of any provider that change or record its calls.
//!
//! - [`faults`] makes calls fail, breaks connections and delays completions;
//! - [`trace`] records each call and each upcall.
//!
//! A consumer requests them by the parameters of the name that it opens ([`open`]), which dat-core handles
//! for all providers. A program that adds providers can also wrap them, in any order:
//!
//! ```
//! use dat_provider::stub::StubProvider;
//! use dat_provider_hooks::faults::{FaultPlan, FaultyProvider};
//! use dat_provider_hooks::trace::{TraceRing, TracingProvider};
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
//! It implements [`Hooks`], and a [`Provider`] whose `open` calls [`open_with`]. This one counts
//! the calls that fail:
//!
//! ```
//! use dat_provider::CompletionPoller;
//! use dat_provider::error::Error;
//! use dat_provider_hooks::{Call, Hooks, Object, Queues};
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

#![deny(unsafe_code)]

/// The methods of a [`Provider`] that the one below answers.
macro_rules! forward_to_inner {
    () => {
        dat_provider::forward! { self => self.inner;
            fn describe() -> dat_provider::Description;
            fn discover() -> Vec<dat_provider::DiscoveredAdapter>;
            fn claims_name(name: &str) -> bool;
            fn related(one: &str, other: &str) -> dat_provider::Relationship;
        }
    };
}

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

pub use adapter::open_with;
pub use call::Call;
pub use hooks::{Hooks, Queues};
pub use object::{Kind, Object};

use std::sync::Arc;

use dat_provider::error::Result;
use dat_provider::{Adapter, OpenRequest, Provider};

/// Opens an adapter of a provider with the decorators that its parameters request: `trace=FILE` adds a
/// [`trace`], and `fault.KEY=VALUE` adds [`faults`] below it. The provider sees the other parameters.
///
/// # Errors
/// What the provider's `open` returns; `DAT_INVALID_PARAMETER` if the trace file cannot be opened, or for
/// an invalid fault.
pub fn open(provider: &dyn Provider, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
    match open_decorated(provider, &request)? {
        Some(adapter) => Ok(adapter),
        None => provider.open(request),
    }
}

/// Opens the adapter if its parameters request a decorator. Not part of the frame of [`open`], which is on the stack
/// while the provider opens the adapter.
#[inline(never)]
fn open_decorated(
    provider: &dyn Provider,
    request: &OpenRequest<'_>,
) -> Result<Option<Arc<dyn Adapter>>> {
    if let Some((hooks, rest)) = trace::requested(request)? {
        let request = OpenRequest { parameters: &rest, ..request.clone() };
        return open_with(request, hooks, |request| open(provider, request)).map(Some);
    }
    if let Some((hooks, rest)) = faults::requested(request)? {
        let request = OpenRequest { parameters: &rest, ..request.clone() };
        return open_with(request, hooks, |request| provider.open(request)).map(Some);
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
