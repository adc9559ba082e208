//! A decorator that injects faults as planned.
//!
//! [`FaultyProvider`] wraps a provider, and the IA parameters `fault.KEY=VALUE` wrap one adapter. A
//! [`FaultPlan`] says what goes wrong; it comes from the test, from the parameters, or through the live
//! handle [`Faults`] while an adapter is open. The contract of providers holds with any plan: every accepted post completes
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

use super::{Hooks, open_with};
use dat_provider::error::Result;
use dat_provider::{Adapter, OpenRequest, Provider};
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

    /// The live handle of all its adapters. Parameters of a name do not change this plan: they add a
    /// plan of their own.
    #[must_use]
    pub fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.faults)
    }
}

/// The hooks that `fault.KEY=VALUE` requests, and the other parameters.
///
/// # Errors
/// As [`FaultPlan::with_parameters`].
pub(crate) fn requested(request: &OpenRequest<'_>) -> Result<Option<(impl Hooks, String)>> {
    let (plan, rest) = FaultPlan::new().with_parameters(request.parameters)?;
    let is_requested = rest.len() < request.parameters.len();
    Ok(is_requested.then(|| (FaultHooks::new(Faults::new(plan), &request.sink), rest)))
}

impl Provider for FaultyProvider {
    forward_to_inner!();

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let hooks = FaultHooks::new(Arc::clone(&self.faults), &request.sink);
        open_with(request, hooks, |request| self.inner.open(request))
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
