//! A decorator that injects faults as planned.
//!
//! [`FaultyProvider`] wraps a provider. A [`FaultPlan`] says what goes wrong; it comes from the
//! test, from the IA parameters `fault.KEY=VALUE`, or through the live handle [`Faults`] while an
//! adapter is open. The contract of providers holds with any plan: every accepted post completes
//! once, in order, and before the connection event that it must precede.
//!
//! | parameter | what goes wrong |
//! | --- | --- |
//! | `fault.connect=refuse` | each attempt to connect ends with `NonPeerRejected` |
//! | `fault.connect=unreachable` | ... with `Unreachable` |
//! | `fault.connect=silent` | ... without an outcome: the attempt lasts until a time-out or a disconnect |
//! | `fault.connect_nth=N` | only the N-th attempt |
//! | `fault.break_after=N` | each connection breaks after the N-th request that a side posts |
//! | `fault.register_nth=N` | the N-th registration of memory fails |
//! | `fault.post_nth=N` | the N-th post of any kind fails |
//! | `fault.create_nth=N` | the N-th creation of any object except memory regions and windows fails |
//! | `fault.delay=N` | completions are delivered N polls later |
//! | `fault.reorder=SEED` | completions of unrelated streams are reordered |
//! | `fault.async=KIND` | an asynchronous error: `catastrophic`, `internal` or `ep_broken` |
//! | `fault.async_after=N` | it is raised after the N-th post to a queue pair (1 if absent) |
//! | `fault.late_established=SIDE` | on that side (`connect` or `accept`), a connection is reported only when a receive has completed |
//!
//! Counts begin at 1, cover all adapters that share a handle, and start again with [`Faults::set`].
//! An N of 0 means never. A call that is to fail fails once, with `DAT_INSUFFICIENT_RESOURCES` and
//! the subtype of the resource.
//!
//! # Attempts
//! The decorator redirects a failing attempt to a listener of its own, which exists for that
//! attempt and never accepts. So the queue pair below goes through a real failed attempt with all
//! its consequences: receives are flushed, and only a reset makes it usable again. The requested
//! address is ignored. An adapter that cannot connect to itself cannot have this fault.
//!
//! Attempts of a datagram queue pair, which resolve an address, fail in the same way. A silent one
//! occupies a listener until the queue pair is dropped, because no call reports that the consumer
//! gave it up.
//!
//! # Broken connections
//! The decorator disconnects abruptly after the N-th request that the queue pair accepted while
//! connected (sends, RDMA, atomics, binds; not receives), and reports `Broken` instead of
//! `Disconnected` on both sides. The count starts again with each connection and does not depend on
//! the plan; if a plan is set after the N-th request, the next request breaks the connection. A
//! decorator has limits: a request that still waits for a receive of the peer is flushed although
//! it counts; a peer that is not decorated, or lives in another process, receives `Disconnected`;
//! and the two sides find each other by address and port, so if they do not use the same names the
//! peer receives `Disconnected` too.
//!
//! # Late completions
//! A completion is held back until its queue was polled N more times after the decorator found it.
//! Nothing is held back while the queue has to notify a waiter, a descriptor or a notification
//! object, because a sleeping waiter does not poll. A connection event of a queue
//! pair that completes into the queue, and the end of its use, release everything. Reordering picks
//! among the oldest completions of each stream, where the requests of a queue pair are one stream
//! and its receives another. A completion that is held back no longer occupies the work queue
//! below; at most the depth of the queue is held back at a time.

mod completion;
mod connection;
mod handle;
mod hooks;
mod pair;
mod plan;

pub use handle::Faults;
pub use plan::{AsyncFault, AttemptSide, ConnectFault, FaultPlan};

use std::fmt;
use std::sync::Arc;

use super::adapter;
use super::parameters::parts;
use crate::error::Result;
use crate::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Relationship};
use hooks::FaultHooks;

/// A provider whose adapters fail as planned.
pub struct FaultyProvider {
    inner: Arc<dyn Provider>,
    faults: Arc<Faults>,
}

impl FaultyProvider {
    /// Wraps a provider.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, plan: FaultPlan) -> Self {
        Self { inner, faults: Faults::new(plan) }
    }

    /// The live handle of all adapters that are opened without fault parameters. An adapter with
    /// such parameters has its own plan: a copy of this one, made at the open, with the parameters
    /// applied.
    #[must_use]
    pub fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.faults)
    }

    /// Whether IA parameters request faults.
    #[must_use]
    pub fn is_requested_by(parameters: &str) -> bool {
        parts(parameters).any(|(part, _)| part.starts_with(plan::PREFIX))
    }
}

impl Provider for FaultyProvider {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        self.inner.discover()
    }

    fn claims_name(&self, name: &str) -> bool {
        self.inner.claims_name(name)
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let sink = Arc::clone(&request.sink);
        if !Self::is_requested_by(request.parameters) {
            let hooks = FaultHooks::new(Arc::clone(&self.faults), &sink);
            return adapter::open(&*self.inner, request, hooks);
        }
        let (plan, rest) =
            self.faults.plan().with_parameters(request.parameters).map_err(|error| {
                error.during("dat_ia_open").on(format!("IA {:?}", request.name))
            })?;
        let hooks = FaultHooks::new(Faults::new(plan), &sink);
        adapter::open(&*self.inner, OpenRequest { parameters: &rest, ..request }, hooks)
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        self.inner.related(one, other)
    }
}

impl fmt::Debug for FaultyProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyProvider")
            .field("provider", &self.inner.describe().name)
            .field("faults", &self.faults)
            .finish()
    }
}

#[cfg(test)]
mod tests;
