//! The thread that writes the page: samples, and what follows from several of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_sync::SlabWeak;

use super::layout::{AdapterRecord, ConnectionRecord, Record, Totals};
use super::session::{self, Session};
use crate::ep::{EpInner, EpState};
use crate::ia::IaInner;
use crate::kind::ObjectKind;
use crate::provider::{Activity, Traffic};

/// The time between two samples while connections are active, and while none is.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(8);
/// A sample takes at most this part of the time, unless a reader requests more.
const SHARE: u32 = 1000;
/// The time between two samples, even if readers request more.
const PAUSE: Duration = Duration::from_millis(10);
/// An operation without progress for this long says what it waits for.
const STALL: Duration = Duration::from_secs(1);

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
        let begin = Instant::now();
        let is_active = sampler.sample(begin);
        session.page.write(&sampler.records);
        session.page.answer(answered);
        period = if is_active { SHORTEST } else { (period * 2).min(LONGEST) };
        period = period.max(begin.elapsed() * SHARE);
        std::thread::sleep(PAUSE);
    }
}

/// What the last samples have found.
#[derive(Default)]
struct Sampler {
    records: Vec<Record>,
    connections: HashMap<(u64, u64), Course>,
    round: u64,
}

/// The course of one connection.
struct Course {
    /// The round in which it was found last.
    round: u64,
    state: EpState,
    progress: u32,
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
        let requests = now.requests.wrapping_sub(self.last.requests);
        self.total.requests += u64::from(requests);
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
    /// Looks at all connections. Returns true if any was active since the last call.
    fn sample(&mut self, now: Instant) -> bool {
        self.records.clear();
        self.round += 1;
        let mut is_active = false;
        session::for_each_adapter(|ia| {
            self.records.push(Record::Adapter(AdapterRecord {
                ia: ia.id,
                name: ia.name.clone(),
                endpoints: ia.count_of(ObjectKind::Ep).into(),
            }));
            for endpoint in ia.select(|weak: &SlabWeak<EpInner>| weak.upgrade()) {
                is_active |= self.look_at(ia, &endpoint, now);
            }
        });
        let round = self.round;
        self.connections.retain(|_, course| course.round == round);
        is_active
    }

    fn look_at(&mut self, ia: &Arc<IaInner>, endpoint: &EpInner, now: Instant) -> bool {
        let Some((state, peer, activity)) = endpoint.observe() else { return false };
        let Activity { transport, reader, requests, receives, credits, completions, .. } = activity;
        let key = (ia.id, endpoint.base.id);
        let course = self.connections.entry(key).or_insert_with(|| Course {
            round: 0,
            state,
            progress: activity.progress,
            since: now,
            sent: Sum::default(),
            received: Sum::default(),
        });
        course.round = self.round;
        let is_active = course.sent.add(activity.sent) | course.received.add(activity.received);
        let is_waiting = activity.waits_for.is_some();
        if !is_waiting || course.state != state || course.progress != activity.progress {
            (course.state, course.progress, course.since) = (state, activity.progress, now);
        }
        let age = now.saturating_duration_since(course.since);
        self.records.push(Record::Connection(ConnectionRecord {
            ia: ia.id,
            ep: endpoint.base.id,
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
            waits_for: activity.waits_for.filter(|_| age >= STALL),
        }));
        is_active
    }
}
