//! The content of a page, which is not trusted.

use std::collections::HashMap;
use std::time::Duration;

use super::layout::{
    AdapterRecord, ConnectionRecord, Counted, CountersRecord, Record, SLOT, Totals,
};
use crate::counters::{CounterId, EpCounter, EvdCounter, IaCounter, SizedOperation, Sizes};
use crate::ep::EpState;
use crate::provider::WaitCause;

/// A process with open adapters, as its last sample shows it.
#[derive(Clone, Debug)]
pub struct ProcessView {
    /// Its process id.
    pub process: u32,
    /// The name of its program.
    pub command: String,
    /// True if a signal or a debugger has stopped it.
    pub is_stopped: bool,
    /// The time since the sample. It is more than a second if the process is stopped, or gets no processor time.
    pub sample_age: Duration,
    /// Its adapters.
    pub adapters: Vec<AdapterView>,
    /// Its endpoints that are connected or connecting.
    pub connections: Vec<ConnectionView>,
    /// The dispatchers whose counters are started and are not all 0.
    pub dispatchers: Vec<DispatcherView>,
    /// Number of rows (adapters, connections and parts of counters) that do not fit into the page.
    pub omitted: u64,
}

/// The counters of an event dispatcher.
#[derive(Clone, Debug)]
pub struct DispatcherView {
    /// The number of its adapter in the process.
    pub ia: u64,
    /// Its number in the process.
    pub evd: u64,
    /// Its counters that are not 0.
    pub counters: Vec<(EvdCounter, u64)>,
}

/// The operations of an endpoint by their sizes.
#[derive(Clone, Debug)]
pub struct SizesView {
    /// The kind of the operations.
    pub operation: SizedOperation,
    /// The number of operations in each bucket of [`Sizes`] that is not empty, by the number of the bucket.
    pub counts: Vec<(usize, u64)>,
}

/// An open adapter.
#[derive(Clone, Debug)]
pub struct AdapterView {
    /// Its number in the process.
    pub ia: u64,
    /// The name by which it was opened.
    pub name: String,
    /// Number of its endpoints.
    pub endpoints: u64,
    /// A fault, as a clause: its metrics file cannot be written. Usually empty.
    pub trouble: String,
    /// Its counters that are not 0, if they are started (dat_ib_start_counter, or the parameter `counters=yes`).
    pub counters: Vec<(IaCounter, u64)>,
}

/// An endpoint that is connected or connecting.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// The number of its adapter in the process.
    pub ia: u64,
    /// Its number in the process.
    pub ep: u64,
    /// Its state; `None` if it is not known.
    pub state: Option<EpState>,
    /// The kind of its link: `shm`, `tcp`, `loopback`. Empty if it has none.
    pub transport: String,
    /// The reader of the link, by its name in docs/attention.md. Empty if the provider has no such choice.
    pub reader: String,
    /// The address and the port of the peer.
    pub peer: String,
    /// Number of requests that were posted and are not complete.
    pub requests: u32,
    /// Number of receives that no message has consumed.
    pub receives: u32,
    /// Number of messages for which the peer has receives; `None` if that is unknown.
    pub credits: Option<u32>,
    /// Number of completions that the consumer has not taken.
    pub completions: u32,
    /// Requests that were posted.
    pub sent: TrafficView,
    /// Requests of the peer that were executed.
    pub received: TrafficView,
    /// The time for which the oldest request or completion has made no progress, at the time of the sample. It may be up
    /// to 8 s longer if no reader has requested samples before.
    pub age: Duration,
    /// The cause of its wait, if that lasts more than a second.
    pub waits_for: Option<WaitCause>,
    /// The counters of the endpoint that are not 0, if they are started (dat_ib_start_counter, or the parameter
    /// `counters=yes`).
    pub counters: Vec<(EpCounter, u64)>,
    /// The sizes of its operations, which are counted together with the counters.
    pub sizes: Vec<SizesView>,
}

/// The traffic of a connection in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficView {
    /// Number of requests.
    pub requests: u64,
    /// Number of bytes, with what the link adds; `None` if they are not counted.
    pub bytes: Option<u64>,
    /// Requests per second since the previous view; `None` in the first one.
    pub requests_per_second: Option<f64>,
    /// Bytes per second since the previous view; `None` in the first one, or if they are not counted.
    pub bytes_per_second: Option<f64>,
}

impl TrafficView {
    pub(super) fn totals(&self) -> Totals {
        Totals { requests: self.requests, bytes: self.bytes }
    }

    pub(super) fn compare(&mut self, before: &Totals, seconds: f64) {
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.requests_per_second = Some(rate(self.requests, before.requests));
        let bytes = self.bytes.zip(before.bytes);
        self.bytes_per_second = bytes.map(|(now, before)| rate(now, before));
    }
}

impl From<Totals> for TrafficView {
    fn from(Totals { requests, bytes }: Totals) -> Self {
        Self { requests, bytes, ..Self::default() }
    }
}

/// Length of a slot, in bytes; for tests/fuzz-targets.
#[doc(hidden)]
pub const SLOT_LENGTH: usize = SLOT * size_of::<u64>();

/// The content of the slots of a page, whatever bytes are in them; for tests/fuzz-targets.
#[doc(hidden)]
#[must_use]
pub fn view_of(slots: &[u8]) -> ProcessView {
    let mut view = ProcessView {
        process: 0,
        command: String::new(),
        is_stopped: false,
        sample_age: Duration::ZERO,
        adapters: Vec::new(),
        connections: Vec::new(),
        dispatchers: Vec::new(),
        omitted: 0,
    };
    let mut places = Places::default();
    for slot in slots.chunks_exact(SLOT_LENGTH) {
        let words: Vec<u64> = slot.chunks_exact(size_of::<u64>()).map(word_of).collect();
        match Record::decode(&words) {
            Some(Record::Adapter(AdapterRecord { ia, name, endpoints, trouble })) => {
                places.adapters.insert(ia, view.adapters.len());
                let counters = Vec::new();
                view.adapters.push(AdapterView { ia, name, endpoints, trouble, counters });
            }
            Some(Record::Connection(connection)) => {
                places.connections.insert((connection.ia, connection.ep), view.connections.len());
                view.connections.push(connection.into());
            }
            Some(Record::Counters(counters)) => places.add(&mut view, &counters),
            None => {}
        }
    }
    view
}

/// Where the objects of a view are, by their numbers.
#[derive(Default)]
struct Places {
    adapters: HashMap<u64, usize>,
    connections: HashMap<(u64, u64), usize>,
    dispatchers: HashMap<(u64, u64), usize>,
}

impl Places {
    /// Adds counters to the object that has them, if it is in the view.
    fn add(&mut self, view: &mut ProcessView, record: &CountersRecord) {
        let &CountersRecord { ia, counted, .. } = record;
        match counted {
            Counted::Ia => {
                let adapter = self.adapters.get(&ia).and_then(|at| view.adapters.get_mut(*at));
                if let Some(adapter) = adapter {
                    add_named(&mut adapter.counters, record);
                }
            }
            Counted::Evd(evd) => {
                let at = *self.dispatchers.entry((ia, evd)).or_insert_with(|| {
                    view.dispatchers.push(DispatcherView { ia, evd, counters: Vec::new() });
                    view.dispatchers.len() - 1
                });
                add_named(&mut view.dispatchers[at].counters, record);
            }
            Counted::Ep(ep) | Counted::Sizes(ep, _) => {
                let at = self.connections.get(&(ia, ep));
                let Some(connection) = at.and_then(|at| view.connections.get_mut(*at)) else {
                    return;
                };
                match counted {
                    Counted::Sizes(_, operation) => add_sizes(connection, operation, record),
                    _ => add_named(&mut connection.counters, record),
                }
            }
        }
    }
}

/// The values that are not 0, with their numbers.
fn numbered(record: &CountersRecord) -> impl Iterator<Item = (usize, u64)> {
    let values = record.values.iter().copied().enumerate();
    let values = values.filter(|(_, value)| *value != 0);
    values.filter_map(|(at, value)| Some((record.first.checked_add(at)?, value)))
}

fn add_named<C: CounterId>(to: &mut Vec<(C, u64)>, record: &CountersRecord) {
    to.extend(numbered(record).filter_map(|(at, value)| Some((*C::ALL.get(at)?, value))));
}

fn add_sizes(to: &mut ConnectionView, operation: SizedOperation, record: &CountersRecord) {
    let counts = numbered(record).filter(|(bucket, _)| *bucket < Sizes::BUCKETS);
    match to.sizes.iter_mut().find(|sizes| sizes.operation == operation) {
        Some(sizes) => sizes.counts.extend(counts),
        None => to.sizes.push(SizesView { operation, counts: counts.collect() }),
    }
}

fn word_of(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0)))
}

impl From<ConnectionRecord> for ConnectionView {
    fn from(record: ConnectionRecord) -> Self {
        Self {
            ia: record.ia,
            ep: record.ep,
            state: record.state,
            transport: record.transport,
            reader: record.reader,
            peer: record.peer,
            requests: record.requests,
            receives: record.receives,
            credits: record.credits,
            completions: record.completions,
            sent: record.sent.into(),
            received: record.received.into(),
            age: Duration::from_nanos(record.age),
            waits_for: record.waits_for,
            counters: Vec::new(),
            sizes: Vec::new(),
        }
    }
}
