//! Injected faults, as a consumer of the DAT API sees them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bounded;
use crate::dat::{End, LONG, Site, poll};
use dat_core::DtoStatus::*;
use dat_core::Operation::*;
use dat_core::{
    Close, CompletionFlags, ConnectionEventKind as Kind, EpSpec, EpState, EvdFlags, ReturnType,
};
use dat_provider_hooks::faults::{FaultPlan, Faults, FaultyProvider};

mod async_errors;
mod breaks;
mod connect;
mod delay;
mod failing_calls;
mod parameters;
mod reorder;

/// Loopback with a fault plan.
fn faulty(plan: FaultPlan) -> FaultyProvider {
    FaultyProvider::new(dat_provider_loopback::provider(), plan)
}

/// A site with a fault plan, and the handle that changes the plan.
fn planned(plan: FaultPlan) -> (Site, Arc<Faults>) {
    let provider = faulty(FaultPlan::new());
    let faults = provider.faults();
    let site = Site::over(Arc::new(provider));
    faults.set(plan);
    (site, faults)
}
