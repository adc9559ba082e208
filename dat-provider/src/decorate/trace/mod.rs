//! A decorator that records each call and each upcall.
//!
//! Every adapter that a built-in provider opens can be traced, without a change of the program: the
//! IA parameter `trace=FILE`, in the name (`loopback?trace=/tmp/calls`) or in the line of dat.conf,
//! appends the records to that file, and `dat ping IA --trace` prints them.
//!
//! A record of a call is made when it returns, so the upcalls made inside it come first; that
//! of an upcall before it is passed on. Polls that find nothing are not recorded: a consumer
//! that spins would drown the rest. Nor are questions (`attributes`, keys, counts).

mod hooks;
mod parameter;
mod sinks;

pub use parameter::open;
pub use sinks::{TraceRing, TraceWriter};

use std::fmt;
use std::sync::Arc;

use super::adapter;
use super::call::{Call, Object};
use crate::error::{Error, Result};
use crate::{Adapter, Description, Discovered, OpenRequest, Provider, Relationship};
use hooks::TraceHooks;

/// Where records go. It is called inside the calls and upcalls themselves, from any thread,
/// possibly with locks of the consumer's side held: it must be quick and call nothing of DAT.
pub trait TraceSink: Send + Sync {
    /// Whether records are wanted now; asked before each is made.
    fn is_on(&self) -> bool {
        true
    }

    /// Takes a record; its [`Display`](fmt::Display) is one line.
    fn record(&self, record: &Record<'_>);
}

/// What happened.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The name that the adapter was opened by.
    pub adapter: &'a str,
    /// The object that was called, or made, or that reports.
    pub object: Object,
    /// The error of a call that failed.
    pub error: Option<&'a Error>,
    call: &'a Call<'a>,
}

impl Record<'_> {
    /// The operation, as the method of the contract is called; posts by what they do.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.call.name()
    }

    /// Whether it is an upcall.
    #[must_use]
    pub fn is_upcall(&self) -> bool {
        self.call.is_upcall()
    }

    /// The key figures: `key=value` pairs separated by blanks.
    #[must_use]
    pub fn figures(&self) -> String {
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
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn discover(&self) -> Vec<Discovered> {
        self.inner.discover()
    }

    fn may_have(&self, name: &str) -> bool {
        self.inner.may_have(name)
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        let hooks = TraceHooks::new(request.name, Arc::clone(&self.sink));
        adapter::open(&*self.inner, request, hooks)
    }

    fn related(&self, one: &str, other: &str) -> Relationship {
        self.inner.related(one, other)
    }
}

impl fmt::Debug for TracingProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingProvider")
            .field("provider", &self.inner.describe().name)
            .finish_non_exhaustive()
    }
}
