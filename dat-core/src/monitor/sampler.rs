//! The thread that writes the page: samples, and what follows from several of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_sync::thread::processor_time;

use super::layout::{ConnectionRecord, CountersRecord, Record, Totals};
use super::metrics::MetricsFile;
use super::observed::Observation;
use super::session::{self, Opened, Session, Stall};
use crate::ep::EpState;
use crate::provider::{Activity, Traffic};

/// The time between two samples while connections are active, and while none is.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(8);
/// A sample takes at most this part of the time of a processor, unless a reader requests more.
const SHARE: u32 = 1000;
/// The time between two samples, even if readers request more.
const PAUSE: Duration = Duration::from_millis(10);
/// The time without progress after which the cause is reported.
const STALL: Duration = Duration::from_secs(1);
/// Above this number of stalls, the stalls of endpoints without a connection are dropped.
const MAX_STALLS: usize = 1000;

/// Samples until the last adapter is closed.
pub(super) fn run(session: &Session) {
    let mut sampler = Sampler::default();
    let mut period = SHORTEST;
    // A reader may have made the first request, or the last adapter been closed, before this thread runs.
    let mut answered = 0;
    loop {
        session.page.sleep(answered, period);
        if session.is_over() {
            return;
        }
        answered = session.page.request();
        let begin = processor_time();
        let is_active = sampler.sample(Instant::now());
        session.page.write(&sampler.records);
        session.page.answer(answered);
        period = if is_active { SHORTEST } else { (period * 2).min(LONGEST) };
        period = period.max(processor_time().saturating_sub(begin) * SHARE);
        std::thread::sleep(PAUSE);
    }
}

/// The results of the last samples.
#[derive(Default)]
struct Sampler {
    records: Vec<Record>,
    connections: HashMap<(u64, u64), Course>,
    round: u64,
    /// Endpoints and what they wait for, in this round.
    stalled: Vec<((u64, u64), Option<Stall>)>,
}

/// The course of one connection.
struct Course {
    /// The round in which it was found last.
    round: u64,
    /// The values that change with each progress: the state, whether there are requests, and their progress.
    progress: (EpState, bool, u32),
    /// When `progress` was seen first.
    since: Instant,
    sent: Sum,
    received: Sum,
}

/// A sum without the limits of its parts.
#[derive(Clone, Copy, Default)]
struct Sum {
    last: Traffic,
    total: Totals,
}

impl Sum {
    /// Adds what was counted since the last call. Returns true if there was anything.
    fn add(&mut self, now: Traffic) -> bool {
        // The count goes back by an operation whose credit is returned.
        let requests = now.requests.wrapping_sub(self.last.requests) as i32;
        self.total.requests = self.total.requests.saturating_add_signed(i64::from(requests));
        self.total.bytes = now.bytes.map(|bytes| {
            let newly = bytes.wrapping_sub(self.last.bytes.unwrap_or(0));
            self.total.bytes.unwrap_or(0).wrapping_add(newly)
        });
        let is_changed = self.last != now;
        self.last = now;
        is_changed
    }
}

impl Sampler {
    /// Samples all connections. Returns true if any was active since the last call.
    fn sample(&mut self, now: Instant) -> bool {
        self.records.clear();
        self.stalled.clear();
        self.round += 1;
        let mut is_active = false;
        session::with_adapters(|adapters| {
            for (observed, file) in adapters {
                let trouble = file.as_ref().map_or_else(String::new, |file| file.trouble());
                self.records.push(Record::Adapter(observed.row(trouble)));
                observed.each_connection(|seen| {
                    is_active |= self.look_at(observed.id(), seen, now);
                });
            }
            // After all connections, if there is not enough space for everything.
            for (observed, _) in adapters {
                observed.each_counter(|counted, values| {
                    let rows = CountersRecord::rows(observed.id(), counted, values);
                    self.records.extend(rows.map(Record::Counters));
                });
            }
            is_active |= self.write_files(adapters);
        });
        let round = self.round;
        self.connections.retain(|_, course| course.round == round);
        // An endpoint that is not connected any more keeps its stall, for the description of the end.
        session::update_stalls(|stalls| {
            for (key, stall) in &self.stalled {
                match stall {
                    Some(stall) => drop(stalls.insert(*key, *stall)),
                    None => drop(stalls.remove(key)),
                }
            }
            if stalls.len() > MAX_STALLS {
                let connections = &self.connections;
                stalls.retain(|key, _| connections.contains_key(key));
            }
        });
        is_active
    }

    /// Writes the files of metrics. Returns true if there are any.
    fn write_files(&self, adapters: &[Opened]) -> bool {
        let mut files = HashMap::<*const MetricsFile, (&MetricsFile, HashSet<u64>)>::new();
        for (observed, file) in adapters {
            let Some(file) = file else { continue };
            let (_, shown) = files.entry(Arc::as_ptr(file)).or_insert((file, HashSet::new()));
            shown.insert(observed.id());
        }
        for (file, shown) in files.values() {
            let records = self.records.iter().filter(|record| shown.contains(&record.ia()));
            file.write(&records.collect::<Vec<_>>());
        }
        !files.is_empty()
    }

    fn look_at(&mut self, ia: u64, seen: Observation, now: Instant) -> bool {
        let Observation { ep, state, peer, activity } = seen;
        let Activity { transport, reader, requests, receives, credits, completions, .. } = activity;
        let key = (ia, ep);
        let progress = (state, requests > 0, activity.progress);
        let course = self.connections.entry(key).or_insert_with(|| Course {
            round: 0,
            progress,
            since: now,
            sent: Sum::default(),
            received: Sum::default(),
        });
        course.round = self.round;
        let is_active = course.sent.add(activity.sent) | course.received.add(activity.received);
        let is_waiting = activity.waits_for.is_some();
        if !is_waiting || course.progress != progress {
            (course.progress, course.since) = (progress, now);
        }
        let age = now.saturating_duration_since(course.since);
        let waits_for = activity.waits_for.filter(|_| age >= STALL);
        self.stalled.push((key, waits_for.map(|cause| Stall { age, cause })));
        self.records.push(Record::Connection(ConnectionRecord {
            ia,
            ep,
            state: Some(state),
            transport: transport.to_owned(),
            reader: reader.to_owned(),
            peer,
            requests,
            receives,
            credits,
            completions,
            sent: course.sent.total,
            received: course.received.total,
            age: u64::try_from(age.as_nanos()).unwrap_or(u64::MAX),
            waits_for,
        }));
        is_active
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_returned_credit_lowers_the_sum() {
        let count = |requests| Traffic { requests, bytes: None };
        let mut sum = Sum::default();
        for (requests, total) in [(5, 5), (4, 4), (u32::MAX, 0), (3, 4)] {
            sum.add(count(requests));
            assert_eq!(sum.total.requests, total, "after {requests}");
        }
    }
}
