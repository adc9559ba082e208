//! The view as JSON.

use std::collections::BTreeMap;

use dat_core::counters::{CounterId, Sizes};
use dat_core::monitor::{
    AdapterView, ConnectionView, DispatcherView, PageError, ProcessView, TrafficView,
};
use serde::Serialize;

/// All processes.
#[derive(Serialize)]
pub(super) struct Report {
    processes: Vec<Process>,
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Process {
    process: u32,
    program: String,
    stopped: bool,
    sample_age_seconds: f64,
    omitted: u64,
    adapters: Vec<Adapter>,
}

#[derive(Serialize)]
struct Adapter {
    name: String,
    endpoints: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    trouble: String,
    connections: Vec<Connection>,
    /// By name; empty unless they are started.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<&'static str, u64>,
    /// The dispatchers whose counters are started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dispatchers: Vec<Dispatcher>,
}

#[derive(Serialize)]
struct Dispatcher {
    dispatcher: u64,
    counters: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Connection {
    endpoint: u64,
    state: Option<&'static str>,
    peer: String,
    link: String,
    reader: String,
    requests: u32,
    receives: u32,
    credits: Option<u32>,
    completions: u32,
    sent: Traffic,
    received: Traffic,
    age_seconds: f64,
    waits_for: Option<&'static str>,
    advice: Option<&'static str>,
    /// By name; empty unless they are started.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    counters: BTreeMap<&'static str, u64>,
    /// The sizes of operations, by kind; empty unless counters are started.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sizes: BTreeMap<&'static str, Vec<Bucket>>,
}

/// Number of operations of up to that many bytes, and of more than the bucket before.
#[derive(Serialize)]
struct Bucket {
    /// Nothing for the last bucket, which has no limit.
    up_to: Option<u64>,
    operations: u64,
}

#[derive(Serialize)]
struct Traffic {
    requests: u64,
    bytes: Option<u64>,
    requests_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
}

impl Report {
    pub(super) fn new(processes: &[ProcessView], errors: &[PageError]) -> Self {
        Self {
            processes: processes.iter().map(Process::new).collect(),
            errors: errors.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Process {
    fn new(view: &ProcessView) -> Self {
        let adapter = |adapter: &AdapterView| Adapter {
            name: adapter.name.clone(),
            endpoints: adapter.endpoints,
            trouble: adapter.trouble.clone(),
            connections: view
                .connections
                .iter()
                .filter(|connection| connection.ia == adapter.ia)
                .map(Connection::new)
                .collect(),
            counters: by_name(&adapter.counters),
            dispatchers: view
                .dispatchers
                .iter()
                .filter(|dispatcher| dispatcher.ia == adapter.ia)
                .map(Dispatcher::new)
                .collect(),
        };
        Self {
            process: view.process,
            program: view.command.clone(),
            stopped: view.is_stopped,
            sample_age_seconds: view.sample_age.as_secs_f64(),
            omitted: view.omitted,
            adapters: view.adapters.iter().map(adapter).collect(),
        }
    }
}

impl Connection {
    fn new(view: &ConnectionView) -> Self {
        Self {
            endpoint: view.ep,
            state: view.state.map(|state| state.name()),
            peer: view.peer.clone(),
            link: view.transport.clone(),
            reader: view.reader.clone(),
            requests: view.requests,
            receives: view.receives,
            credits: view.credits,
            completions: view.completions,
            sent: Traffic::new(&view.sent),
            received: Traffic::new(&view.received),
            age_seconds: view.age.as_secs_f64(),
            waits_for: view.waits_for.map(|cause| cause.clause()),
            advice: view.waits_for.map(|cause| cause.advice()),
            counters: by_name(&view.counters),
            sizes: view
                .sizes
                .iter()
                .map(|sizes| {
                    let bucket = |(bucket, operations): &(usize, u64)| Bucket {
                        up_to: Sizes::limit(*bucket),
                        operations: *operations,
                    };
                    (sizes.operation.name(), sizes.counts.iter().map(bucket).collect())
                })
                .collect(),
        }
    }
}

impl Dispatcher {
    fn new(view: &DispatcherView) -> Self {
        Self { dispatcher: view.evd, counters: by_name(&view.counters) }
    }
}

fn by_name<C: CounterId>(counters: &[(C, u64)]) -> BTreeMap<&'static str, u64> {
    counters.iter().map(|(id, value)| (id.name(), *value)).collect()
}

impl Traffic {
    fn new(view: &TrafficView) -> Self {
        Self {
            requests: view.requests,
            bytes: view.bytes,
            requests_per_second: view.requests_per_second,
            bytes_per_second: view.bytes_per_second,
        }
    }
}
