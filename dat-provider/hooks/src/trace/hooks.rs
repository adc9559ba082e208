//! The hooks that turn calls into records.

use std::sync::Arc;

use super::{Record, TraceSink};
use crate::call::Call;
use crate::hooks::{Hooks, Queues};
use crate::object::Object;
use dat_provider::CompletionPoller;
use dat_provider::error::Error;

pub(super) struct TraceHooks {
    adapter: Box<str>,
    sink: Arc<dyn TraceSink>,
}

impl TraceHooks {
    pub(super) fn new(adapter: &str, sink: Arc<dyn TraceSink>) -> Self {
        Self { adapter: adapter.into(), sink }
    }
}

impl Hooks for TraceHooks {
    type Queue = ();
    type Pair = ();
    type End = ();

    #[inline]
    fn done(&self, object: Object, call: &Call<'_>, error: Option<&Error>) {
        if matches!(call, Call::Poll { found: [] }) || !self.sink.is_on() {
            return;
        }
        self.sink.record(&Record { adapter: &self.adapter, object, error, call });
    }

    fn queue(
        &self,
        poller: Box<dyn CompletionPoller>,
        _depth: usize,
    ) -> ((), Box<dyn CompletionPoller>) {
        ((), poller)
    }

    fn pair(&self, _tag: u64, _queues: Queues<()>) {}

    fn end(&self, _pair: &()) {}
}
