//! How long one transfer takes.

use std::time::{Duration, Instant};

use dat_core::{CompletionFlags, Event};
use serde::Serialize;

use super::Op;
use super::lane::Lane;
use crate::fault::Fault;

/// The latency of an operation and size, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) op: Op,
    pub(super) size: u64,
    pub(super) min_us: f64,
    pub(super) p50_us: f64,
    pub(super) p90_us: f64,
    pub(super) p99_us: f64,
    pub(super) max_us: f64,
    /// How many batches the percentiles are over.
    pub(super) samples: usize,
    /// How many transfers, or round trips, a batch has.
    pub(super) batch: u32,
}

/// The most batches that are kept.
const MOST_SAMPLES: usize = 100_000;

/// The fewest, however long they take.
const FEWEST_SAMPLES: usize = 5;

/// The most transfers of a batch.
const MOST_BATCH: u32 = 64;

/// How many times longer than reading the clock a batch takes, where it may be long enough.
const CLOCKS: u32 = 50;

/// Measures for about as long as the budget says.
pub(super) fn measure(lane: &Lane<'_>, budget: Duration) -> Result<Latency, Fault> {
    match lane.op {
        Op::Send => ping_pong(lane, budget),
        Op::Write | Op::Read => requests(lane, budget),
    }
}

/// From the post of a request to its completion.
fn requests(lane: &Lane<'_>, budget: Duration) -> Result<Latency, Fault> {
    let mut event = Event::default();
    let batch = |count| {
        for _ in 0..count {
            lane.post(0, CompletionFlags::empty())?;
            lane.finish(&mut event)?;
        }
        Ok(())
    };
    sample(lane, 1.0, budget, batch)
}

/// Half of the time of a message and its answer. Receives are posted again within that time;
/// only some of the sends make completions, which are then taken.
fn ping_pong(there: &Lane<'_>, budget: Duration) -> Result<Latency, Fault> {
    let back = Lane::back(there.rig, there.size)?;
    back.verify()?;
    let mut event = Event::default();
    let every = there.rig.signal_every;
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
    let latency = sample(there, 0.5, budget, batch)?;
    // A last message each way takes up the receives that wait.
    for lane in [there, &back] {
        lane.post(0, CompletionFlags::empty())?;
        lane.receive(&mut event)?;
        lane.finish(&mut event)?;
    }
    back.sample()?;
    Ok(latency)
}

/// Times batches until the budget is used up; each of their transfers counts for `share` of
/// its time.
fn sample(
    lane: &Lane<'_>,
    share: f64,
    budget: Duration,
    mut batch: impl FnMut(u32) -> Result<(), Fault>,
) -> Result<Latency, Fault> {
    let start = Instant::now();
    let length = batch_length(&mut batch)?;
    let mut times = Vec::new();
    while times.len() < FEWEST_SAMPLES || (times.len() < MOST_SAMPLES && start.elapsed() < budget) {
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
        op: lane.op,
        size: lane.size,
        min_us: micros(times[0]),
        p50_us: percentile(50),
        p90_us: percentile(90),
        p99_us: percentile(99),
        max_us: percentile(100),
        samples: times.len(),
        batch: length,
    })
}

/// How many transfers to time together, so that the clock takes at most a fiftieth.
fn batch_length(batch: &mut impl FnMut(u32) -> Result<(), Fault>) -> Result<u32, Fault> {
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

/// How long it takes to read the clock.
fn clock() -> Duration {
    const TRIES: u32 = 64;
    let start = Instant::now();
    for _ in 0..TRIES {
        std::hint::black_box(Instant::now());
    }
    start.elapsed() / TRIES
}
