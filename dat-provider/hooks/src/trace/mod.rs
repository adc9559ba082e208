//! A decorator that records each call and each upcall.
//!
//! Every adapter can be traced without a change to the program: the IA parameter `trace=FILE`, in the name (`loopback?trace=/tmp/calls`) or in the line of dat.conf,
//! appends the records to that file, and `dat ping IA --trace` prints them.
//!
//! A call is recorded when it returns, so the upcalls made inside it are recorded first; an upcall
//! is recorded before it is forwarded. Polls that find nothing are not recorded, because a spinning
//! consumer would flood the trace. Queries (`attributes`, keys, counts) are not recorded either.

mod hooks;
mod parameter;
mod sinks;

pub(crate) use parameter::requested;
pub use sinks::{TraceRing, TraceWriter};

use std::fmt;
use std::sync::Arc;

use super::call::Call;
use super::object::Object;
use super::open_with;
use dat_provider::error::{Error, Result};
use dat_provider::{Adapter, OpenRequest, Provider};
use hooks::TraceHooks;

/// Receives the records. It is called inside the calls and upcalls, from any thread, possibly while
/// the consumer's side holds locks: it must be quick and must not call DAT.
pub trait TraceSink: Send + Sync {
    /// Returns true if the sink takes records now; called before each one is made.
    fn is_on(&self) -> bool {
        true
    }

    /// Takes a record; its [`Display`](fmt::Display) is one line.
    fn record(&self, record: &Record<'_>);
}

/// A call or an upcall.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The name that the adapter was opened by.
    pub adapter: &'a str,
    /// The object that was called, created, or that reports.
    pub object: Object,
    /// The error of a call that failed.
    pub error: Option<&'a Error>,
    call: &'a Call<'a>,
}

impl Record<'_> {
    /// The operation: the name of the method of the contract; for a post, the kind of operation.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.call.name()
    }

    /// Returns true if it is an upcall.
    #[must_use]
    pub fn is_upcall(&self) -> bool {
        self.call.is_upcall()
    }

    /// The key figures: `key=value` pairs separated by blanks.
    #[must_use]
    pub fn fields(&self) -> String {
        self.call.to_string().trim_start().to_owned()
    }
}

impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = if self.is_upcall() { "<-" } else { "->" };
        write!(f, "{} {arrow} {} {}{}", self.adapter, self.object, self.operation(), self.call)?;
        match self.error {
            Some(error) => write!(f, ": {error}"),
            None if self.is_upcall() => Ok(()),
            None => f.write_str(": ok"),
        }
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({self})")
    }
}

/// A provider whose adapters are recorded.
pub struct TracingProvider {
    inner: Arc<dyn Provider>,
    sink: Arc<dyn TraceSink>,
}

impl TracingProvider {
    /// Wraps a provider.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, sink: Arc<dyn TraceSink>) -> Self {
        Self { inner, sink }
    }
}

impl Provider for TracingProvider {
    forward_to_inner!();

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let hooks = TraceHooks::new(request.name, Arc::clone(&self.sink));
        open_with(request, hooks, |request| self.inner.open(request))
    }
}

impl fmt::Debug for TracingProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingProvider")
            .field("provider", &self.inner.describe().name)
            .finish_non_exhaustive()
    }
}
