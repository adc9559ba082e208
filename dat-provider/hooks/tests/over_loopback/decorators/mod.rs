//! Decorators: tracing, and decorators around decorators.

use std::sync::Arc;

use crate::bounded;
use crate::dat::Site;
use dat_core::provider::Provider;
use dat_core::{Close, CompletionFlags};
use dat_provider_hooks::faults::{FaultPlan, FaultyProvider};
use dat_provider_hooks::trace::{TraceRing, TraceSink, TracingProvider};

mod stacks;
mod trace;

const NONE: CompletionFlags = CompletionFlags::empty();

/// Number of lines that contain a text.
fn seen(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}
