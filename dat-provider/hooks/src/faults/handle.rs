//! The live handle: the plan in force, and the current counts.

use std::fmt;
use std::sync::{Arc, Weak};

use dat_sync::Mutex;

use super::plan::{AsyncFault, AttemptSide, ConnectFault, FaultPlan};
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{AdapterSink, AsyncUpcall};

/// The faults of the adapters that share this handle; the plan can change while they are open.
#[derive(Default)]
pub struct Faults {
    state: Mutex<State>,
    /// The sinks of the open adapters.
    sinks: Mutex<Vec<Weak<dyn AdapterSink>>>,
}

#[derive(Default)]
struct State {
    plan: FaultPlan,
    connects: u64,
    registrations: u64,
    posts: u64,
    creations: u64,
    /// Number of posts that a queue pair accepted.
    accepted: u64,
}

impl Faults {
    pub(super) fn new(plan: FaultPlan) -> Arc<Self> {
        let state = Mutex::new(State { plan, ..State::default() });
        Arc::new(Self { state, sinks: Mutex::default() })
    }

    /// The plan in force.
    #[must_use]
    pub fn plan(&self) -> FaultPlan {
        self.state.lock().plan.clone()
    }

    /// Replaces the plan; all counts start again.
    pub fn set(&self, plan: FaultPlan) {
        *self.state.lock() = State { plan, ..State::default() };
    }

    /// Raises an asynchronous error on every open adapter of the handle; returns their number.
    pub fn raise(&self, event: AsyncUpcall) -> usize {
        let sinks: Vec<_> = self.sinks.lock().iter().filter_map(Weak::upgrade).collect();
        for sink in &sinks {
            sink.async_event(event);
        }
        sinks.len()
    }

    pub(super) fn join(&self, sink: &Weak<dyn AdapterSink>) {
        let mut sinks = self.sinks.lock();
        sinks.retain(|sink| sink.strong_count() > 0);
        sinks.push(Weak::clone(sink));
    }

    /// The fault of an attempt that begins, if it is to fail.
    pub(super) fn connecting(&self) -> Option<ConnectFault> {
        let mut state = self.state.lock();
        state.connects += 1;
        let nth = state.plan.connect_nth;
        state.plan.connect.filter(|_| nth == 0 || nth == state.connects)
    }

    pub(super) fn registering(&self) -> Result<()> {
        let mut state = self.state.lock();
        state.registrations += 1;
        let nth = state.plan.register_nth;
        planned(state.registrations, nth, "register_nth", Subtype::ResourceMemoryRegion)
    }

    pub(super) fn posting(&self, resource: Subtype) -> Result<()> {
        let mut state = self.state.lock();
        state.posts += 1;
        planned(state.posts, state.plan.post_nth, "post_nth", resource)
    }

    pub(super) fn creating(&self, resource: Subtype) -> Result<()> {
        let mut state = self.state.lock();
        state.creations += 1;
        planned(state.creations, state.plan.create_nth, "create_nth", resource)
    }

    /// Counts a post that a queue pair accepted; returns the asynchronous error that it triggers.
    pub(super) fn accepted(&self) -> Option<AsyncFault> {
        let mut state = self.state.lock();
        state.accepted += 1;
        state.plan.async_fault.filter(|_| state.accepted == state.plan.async_after)
    }

    pub(super) fn break_after(&self) -> u64 {
        self.state.lock().plan.break_after
    }

    /// The side on which connections are reported late.
    pub(super) fn late_established(&self) -> Option<AttemptSide> {
        self.state.lock().plan.late_established
    }

    /// The number of polls for which completions are held back, and the seed of their reordering.
    pub(super) fn holding(&self) -> (u64, Option<u64>) {
        let state = self.state.lock();
        (state.plan.delay, state.plan.reorder)
    }
}

fn planned(count: u64, nth: u64, key: &str, resource: Subtype) -> Result<()> {
    if count != nth {
        return Ok(());
    }
    Err(Error::new(ReturnType::InsufficientResources, resource)
        .because(format!("a fault was planned: fault.{key}={nth}"))
        .advise("try again: it fails only once"))
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&self.plan()).finish()
    }
}
