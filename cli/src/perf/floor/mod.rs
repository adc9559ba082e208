//! `dat perf --floor`: what the layer costs, each figure beside what the machine itself needs.

mod alone;
mod bulk;
mod connect;
mod crossing;
mod report;
mod scale;
mod skeleton;
mod threads;

use std::time::{Duration, Instant};

use super::rig::Rig;
use crate::fault::Fault;
use crate::output::Progress;

use report::Unit;
pub(super) use report::{Report, Row};

/// Rounds of every row; those of a row and of its floor take turns.
const ROUNDS: usize = 31;

/// What rows are measured with.
struct Bench<'a> {
    name: &'a str,
    patience: Duration,
    /// For one round of a row or of its floor.
    round: Duration,
}

/// Rows that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Group {
    /// Memory of endpoints that do nothing; first, while no memory was freed to be used again
    Idle,
    /// One thread that posts and polls
    Alone,
    /// Two threads that poll for each other's messages
    Polling,
    /// Two threads that sleep until the other's message
    Blocking,
    /// Messages from one thread to another
    OneWay,
    /// Two threads on endpoints of their own
    Apart,
    /// Transfers of 4 KiB to 1 MiB
    Bulk,
    /// Many endpoints, many regions
    Scale,
    /// Connections that come and go
    Connect,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Idle => "idle endpoints",
            Self::Alone => "one thread",
            Self::Polling => "two threads that poll",
            Self::Blocking => "two threads that sleep",
            Self::OneWay => "one way",
            Self::Apart => "two threads apart",
            Self::Bulk => "large transfers",
            Self::Scale => "many objects",
            Self::Connect => "connections",
        }
    }

    /// Parts of the time that its rounds take.
    fn shares(self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Alone => 10,
            Self::Polling => 3,
            Self::OneWay => 4,
            Self::Blocking => 6,
            Self::Apart => 2,
            Self::Bulk => 14,
            Self::Scale => 13,
            Self::Connect => 1,
        }
    }

    fn measure(self, bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), Fault> {
        match self {
            Self::Idle => scale::idle(bench, rows),
            Self::Alone => alone::rows(bench, rows),
            Self::Polling => threads::polling(bench, rows),
            Self::Blocking => threads::blocking(bench, rows),
            Self::OneWay => threads::one_way(bench, rows),
            Self::Apart => threads::apart(bench, rows),
            Self::Bulk => bulk::rows(bench, rows),
            Self::Scale => scale::rows(bench, rows),
            Self::Connect => connect::rows(bench, rows),
        }
    }
}

/// Values of the rounds of one measurement.
struct Samples(Vec<f64>);

impl Samples {
    /// Half of the rounds were better.
    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

/// Measures every row that the adapter has.
pub(super) fn measure(
    name: &str,
    groups: &[Group],
    seconds: Duration,
    patience: Duration,
    progress: &mut Progress,
) -> Result<Report, Fault> {
    let shares: u32 = groups.iter().map(|group| group.shares()).sum();
    let round = seconds / (shares.max(1) * ROUNDS as u32);
    let bench = Bench { name, patience, round };
    let mut rows = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        progress.show(&format!("{}/{}  {}", index + 1, groups.len(), group.title()));
        group.measure(&bench, &mut rows)?;
    }
    let rig = Rig::new(name, patience)?;
    let report = Report::new(name, &rig, rows);
    rig.end()?;
    Ok(report)
}

impl Bench<'_> {
    /// Times a piece of work again and again for a round: nanoseconds of one.
    ///
    /// `work` does so many pieces at once; the clock is read between.
    fn time(&self, mut work: impl FnMut(u32) -> Result<(), Fault>) -> Result<f64, Fault> {
        let mut count = 16;
        let start = Instant::now();
        let mut done = 0_u64;
        loop {
            work(count)?;
            done += u64::from(count);
            let spent = start.elapsed();
            if spent >= self.round {
                return Ok(spent.as_secs_f64() * 1e9 / done as f64);
            }
            count = (count * 2).min(4096);
        }
    }

    /// Rounds of two measurements, in turn.
    fn both(
        &self,
        mut one: impl FnMut() -> Result<f64, Fault>,
        mut other: impl FnMut() -> Result<f64, Fault>,
    ) -> Result<(Samples, Samples), Fault> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            first.push(one()?);
            second.push(other()?);
        }
        Ok((Samples(first), Samples(second)))
    }
}
