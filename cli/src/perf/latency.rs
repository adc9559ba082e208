//! Measures the latency of one transfer.

use std::time::{Duration, Instant};

use dat_core::{CompletionFlags, Event};
use serde::Serialize;

use super::buffers::Buffers;
use super::{Op, write_latency};
use crate::error::CliError;
use crate::interrupt;

/// The latency of an operation and size, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Latency {
    pub(crate) op: Op,
    pub(crate) size: u64,
    pub(crate) min_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// The number of batches that the percentiles are based on.
    pub(crate) samples: usize,
    /// The number of transfers, or round trips, per batch.
    pub(crate) batch: u32,
}

/// The maximum number of batches that are kept.
const MOST_SAMPLES: usize = 100_000;

/// The minimum number of batches, however long they take.
const FEWEST_SAMPLES: usize = 5;

/// The maximum number of transfers per batch.
const MOST_BATCH: u32 = 64;

/// The minimum ratio of a batch's time to the time of reading the clock.
const CLOCKS: u32 = 50;

/// Measures for about the time of the budget.
pub(super) fn measure(buffers: &Buffers<'_>, budget: Duration) -> Result<Latency, CliError> {
    match buffers.op {
        Op::Send => ping_pong(buffers, budget),
        Op::Write | Op::Read => requests(buffers, budget),
        Op::WriteLat => write_latency::measure(buffers, budget),
    }
}

/// From the post of a request to its completion.
fn requests(buffers: &Buffers<'_>, budget: Duration) -> Result<Latency, CliError> {
    let mut event = Event::default();
    let batch = |count| {
        for _ in 0..count {
            buffers.post(0, CompletionFlags::empty())?;
            buffers.finish(&mut event)?;
        }
        Ok(())
    };
    sample((buffers.op, buffers.size), 1.0, budget, batch)
}

/// Half of the round-trip time of a message. Receives are reposted within that time, and only
/// some of the sends are signalled.
fn ping_pong(there: &Buffers<'_>, budget: Duration) -> Result<Latency, CliError> {
    let back = Buffers::back(there.fixture, there.op, there.size)?;
    back.verify()?;
    let mut event = Event::default();
    let every = there.fixture.signal_every;
    let mut turn = 0;
    there.post_receive(0)?;
    back.post_receive(0)?;
    let batch = |count| {
        for _ in 0..count {
            turn = (turn + 1) % every;
            let signalled = turn == 0;
            let flags =
                if signalled { CompletionFlags::empty() } else { CompletionFlags::SUPPRESS };
            there.post(0, flags)?;
            there.receive(&mut event)?;
            there.post_receive(0)?;
            back.post(0, flags)?;
            back.receive(&mut event)?;
            back.post_receive(0)?;
            if signalled {
                there.finish(&mut event)?;
                back.finish(&mut event)?;
            }
        }
        Ok(())
    };
    let latency = sample((there.op, there.size), 0.5, budget, batch)?;
    // A last message in each direction consumes the pending receives.
    for buffers in [there, &back] {
        buffers.post(0, CompletionFlags::empty())?;
        buffers.receive(&mut event)?;
        buffers.finish(&mut event)?;
    }
    back.sample()?;
    Ok(latency)
}

/// Times batches until the budget is used up; each of their transfers counts for `share` of
/// its time.
pub(super) fn sample(
    (op, size): (Op, u64),
    share: f64,
    budget: Duration,
    mut batch: impl FnMut(u32) -> Result<(), CliError>,
) -> Result<Latency, CliError> {
    let start = Instant::now();
    let length = match (op, batch_length(&mut batch)?) {
        // Each round trip by itself, as its percentiles are those of single arrivals.
        (Op::WriteLat, _) => 1,
        (_, length) => length,
    };
    let mut times = Vec::new();
    while times.len() < FEWEST_SAMPLES
        || (times.len() < MOST_SAMPLES && start.elapsed() < budget && !interrupt::is_requested())
    {
        let start = Instant::now();
        batch(length)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(length) * share;
    let percentile = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).clamp(1, times.len());
        micros(times[rank - 1])
    };
    Ok(Latency {
        op,
        size,
        min_us: micros(times[0]),
        p50_us: percentile(50),
        p90_us: percentile(90),
        p99_us: percentile(99),
        max_us: percentile(100),
        samples: times.len(),
        batch: length,
    })
}

/// The number of transfers to time together, so that the clock takes at most 2 % of the time.
fn batch_length(batch: &mut impl FnMut(u32) -> Result<(), CliError>) -> Result<u32, CliError> {
    const TRIES: u32 = 4;
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        batch(TRIES)?;
        quickest = quickest.min(start.elapsed() / TRIES);
    }
    let wanted = clock() * CLOCKS;
    let length = wanted.as_nanos().div_ceil(quickest.as_nanos().max(1));
    Ok(u32::try_from(length).unwrap_or(MOST_BATCH).clamp(1, MOST_BATCH))
}

/// The time to read the clock.
fn clock() -> Duration {
    const TRIES: u32 = 64;
    let start = Instant::now();
    for _ in 0..TRIES {
        std::hint::black_box(Instant::now());
    }
    start.elapsed() / TRIES
}
