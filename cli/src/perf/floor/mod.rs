//! `dat perf --floor`: what the layer costs, each figure beside what the machine itself needs.

mod alone;
mod bulk;
mod connect;
mod report;
mod scale;
mod skeleton;
mod threads;

use std::time::{Duration, Instant};

use super::rig::Rig;
use crate::fault::Fault;
use crate::output::Progress;

pub(super) use report::Report;
use report::{Row, Unit};

/// Rounds of every row; those of a row and of its floor take turns.
const ROUNDS: usize = 31;

/// What rows are measured with.
struct Bench<'a> {
    name: &'a str,
    patience: Duration,
    /// For one round of a row or of its floor.
    round: Duration,
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
    seconds: Duration,
    patience: Duration,
    progress: &mut Progress,
) -> Result<Report, Fault> {
    type Group = fn(&Bench<'_>, &mut Vec<Row>) -> Result<(), Fault>;
    const GROUPS: [(&str, Group); 8] = [
        ("one thread", alone::rows),
        ("two threads that poll", threads::polling),
        ("two threads that sleep", threads::blocking),
        ("one way", threads::one_way),
        ("two threads apart", threads::apart),
        ("large transfers", bulk::rows),
        ("many objects", scale::rows),
        ("connections", connect::rows),
    ];
    /// Measurements that share the time: rows and floors.
    const SHARES: u32 = 44;
    let round = seconds / (SHARES * ROUNDS as u32);
    let bench = Bench { name, patience, round };
    let mut rows = Vec::new();
    for (index, (title, group)) in GROUPS.into_iter().enumerate() {
        progress.show(&format!("{}/{}  {title}", index + 1, GROUPS.len()));
        group(&bench, &mut rows)?;
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
