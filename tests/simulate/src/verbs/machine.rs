//! A machine: its adapter, with what arrives there.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use dat_core::provider::{
    Adapter, AdapterSink, Completion, CompletionPoller, CompletionQueue, CompletionSink,
    ConnectionSink, ConnectionUpcall, IncomingRequest, ListenSink, Listener, OpenRequest,
    ProtectionDomain, Provider,
};
use dat_provider_kit::engine;

use crate::network::{self, Simulated};
use crate::reports::Reports;
use crate::world::Outcome;

/// The requests of peers that were not answered.
#[derive(Default)]
pub(super) struct Requests(Mutex<Vec<IncomingRequest>>);

impl ListenSink for Requests {
    fn connection_request(&self, incoming: IncomingRequest) -> Result<(), IncomingRequest> {
        self.0.lock().expect("one thread").push(incoming);
        Ok(())
    }
}

impl Requests {
    pub(super) fn take(&self) -> Option<IncomingRequest> {
        let mut all = self.0.lock().expect("one thread");
        (!all.is_empty()).then(|| all.remove(0))
    }
}

/// A change of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Established,
    Ended,
    /// The attempt has failed.
    Refused,
}

/// The changes of the connection of a queue pair, with the numbers of their attempts.
#[derive(Default)]
pub(super) struct Changes(Mutex<Vec<(u64, Change)>>);

impl ConnectionSink for Changes {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        let change = match event {
            ConnectionUpcall::Established { .. } => Change::Established,
            ConnectionUpcall::Disconnected | ConnectionUpcall::Broken => Change::Ended,
            _ => Change::Refused,
        };
        self.0.lock().expect("one thread").push((attempt, change));
    }
}

impl Changes {
    pub(super) fn take(&self) -> Vec<(u64, Change)> {
        std::mem::take(&mut *self.0.lock().expect("one thread"))
    }
}

/// A machine with its adapter.
pub(super) struct Machine {
    pub(super) adapter: Arc<dyn Adapter>,
    pub(super) domain: Arc<dyn ProtectionDomain>,
    pub(super) queue: Arc<dyn CompletionQueue>,
    poller: Box<dyn CompletionPoller>,
    pub(super) requests: Arc<Requests>,
    pub(super) qualifier: u64,
    _listener: Box<dyn Listener>,
    reports: Arc<Reports>,
    /// Its thread was woken, and runs at this time.
    pub(super) runs_at: Option<Instant>,
}

impl Machine {
    pub(super) fn new(process: usize) -> Self {
        let reports = Arc::new(Reports::default());
        let parameters = process.to_string();
        let request = OpenRequest {
            name: "simulated",
            parameters: &parameters,
            sink: Arc::clone(&reports) as Arc<dyn AdapterSink>,
        };
        let adapter = Simulated.open(request).expect("an adapter");
        network::with(|network| {
            let started = engine::take_simulated_threads().into_iter();
            network.threads.extend(started.map(|thread| Some((process, thread))));
        });
        let sink = Arc::clone(&reports) as Arc<dyn CompletionSink>;
        let parts = adapter.create_completion_queue(4096, sink).expect("a completion queue");
        let requests = Arc::new(Requests::default());
        let sink = Arc::clone(&requests) as Arc<dyn ListenSink>;
        let listener = adapter.listen(None, sink).expect("a listener");
        Self {
            domain: adapter.create_domain().expect("a domain"),
            adapter,
            queue: parts.queue,
            poller: parts.poller,
            requests,
            qualifier: listener.qualifier,
            _listener: listener.listener,
            reports,
            runs_at: None,
        }
    }

    /// Takes completions.
    pub(super) fn poll(&mut self) -> Vec<Completion> {
        let mut done = [Completion::default(); 8];
        let count = self.poller.poll(&mut done);
        done[..count].to_vec()
    }

    /// # Errors
    /// The adapter has reported something.
    pub(super) fn check(&self) -> Outcome {
        self.reports.check()
    }
}
