//! What an adapter reports by itself.

use std::sync::Mutex;

use dat_core::provider::{AdapterSink, AsyncUpcall, CompletionSink};

use crate::world::Outcome;

/// What the adapter reports. Nothing of it is expected.
#[derive(Default)]
pub(crate) struct Reports(Mutex<Option<&'static str>>);

impl Reports {
    /// # Errors
    /// The adapter has reported something.
    pub(crate) fn check(&self) -> Outcome {
        self.0.lock().expect("one thread").map_or(Ok(()), |what| Err(what.to_owned()))
    }

    fn note(&self, what: &'static str) {
        *self.0.lock().expect("one thread") = Some(what);
    }
}

impl AdapterSink for Reports {
    fn async_event(&self, _event: AsyncUpcall) {
        self.note("an asynchronous event");
    }
}

impl CompletionSink for Reports {
    fn completion_ready(&self) {}

    fn completion_overflow(&self) {
        self.note("a completion queue overflows");
    }
}
