//! Rounds of measurements, and their samples.

use std::time::{Duration, Instant};

use dat_cli::error::CliError;

/// Rounds per row. The rounds of a row alternate with those of its floor.
pub(crate) const ROUNDS: usize = 31;

/// The settings that all rows are measured with.
pub(crate) struct Bench<'a> {
    pub(crate) name: &'a str,
    pub(crate) timeout: Duration,
    /// Time for one round of a row or of its floor.
    pub(crate) round: Duration,
}

/// The results of one measurement, one per round.
pub(crate) struct Samples(pub(crate) Vec<f64>);

impl Samples {
    /// The median.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

impl Bench<'_> {
    /// Runs `work` repeatedly for one round. Returns nanoseconds per piece of work.
    ///
    /// `work` is given the number of pieces to do before the clock is read again.
    pub(crate) fn time(
        &self,
        mut work: impl FnMut(u32) -> Result<(), CliError>,
    ) -> Result<f64, CliError> {
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

    /// Rounds of two measurements, alternating.
    pub(crate) fn both(
        &self,
        mut one: impl FnMut() -> Result<f64, CliError>,
        mut other: impl FnMut() -> Result<f64, CliError>,
    ) -> Result<(Samples, Samples), CliError> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            first.push(one()?);
            second.push(other()?);
        }
        Ok((Samples(first), Samples(second)))
    }
}
