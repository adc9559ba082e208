//! Measures bandwidth with many transfers in flight.

use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use dat_core::{CompletionFlags, Event};
use serde::Serialize;

use super::Op;
use super::buffers::Buffers;
use super::memcpy::Copier;
use crate::error::CliError;
use crate::interrupt;

/// The bandwidth of an operation and size, in 10^9 bytes per second.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Bandwidth {
    pub(crate) op: Op,
    pub(crate) size: u64,
    /// The number of transfers in flight.
    pub(crate) window: u64,
    pub(crate) gb_per_s: f64,
    /// The bandwidth of memcpy with blocks of this size.
    pub(crate) memcpy_gb_per_s: f64,
    /// The ratio of the bandwidth to that of memcpy; `None` if the rounds of either scatter too much.
    pub(crate) ratio: Option<f64>,
}

const ROUNDS: u32 = 5;

/// Measures for about the time of the budget.
pub(crate) fn measure(buffers: &Buffers<'_>, budget: Duration) -> Result<Bandwidth, CliError> {
    let (op, size, window) = (buffers.op, buffers.size, buffers.window());
    let row = Bandwidth { op, size, window, ..Bandwidth::default() };
    beside_copies(row, (buffers.stride, buffers.slots), budget, |budget| round(buffers, budget))
}

/// Measures in rounds, with copies between them through as many slots of the same size.
pub(super) fn beside_copies(
    row: Bandwidth,
    (stride, slots): (u64, u64),
    budget: Duration,
    mut round: impl FnMut(Duration) -> Result<f64, CliError>,
) -> Result<Bandwidth, CliError> {
    let mut copier = Copier::new(row.size, stride, slots);
    let (mut moved, mut copied) = (Vec::new(), Vec::new());
    // Two thirds for the transfers, one third for the copies between them.
    for _ in 0..ROUNDS {
        let budget = if interrupt::is_requested() { Duration::ZERO } else { budget };
        moved.push(round(budget * 2 / 3 / ROUNDS)?);
        copied.push(copier.round(budget / 3 / ROUNDS));
    }
    let (moved, copied) = (Rounds::new(moved), Rounds::new(copied));
    Ok(Bandwidth {
        gb_per_s: moved.median / 1e9,
        memcpy_gb_per_s: copied.median / 1e9,
        ratio: (moved.is_steady && copied.is_steady).then(|| moved.median / copied.median),
        ..row
    })
}

/// The result of several rounds.
struct Rounds {
    median: f64,
    /// True if the rounds in the middle agree. They do not if other programs use the processors.
    is_steady: bool,
}

/// The maximum ratio of the second best round to the second worst one.
const STEADY: f64 = 1.5;

impl Rounds {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len() - 1;
        let is_steady = values[last - last.min(1)] <= values[last.min(1)] * STEADY;
        Self { median: values[values.len() / 2], is_steady }
    }
}

/// Keeps the window full until the budget is used up, then drains it. Returns bytes per
/// second. A send is posted only if its receive is already posted.
pub(crate) fn round(buffers: &Buffers<'_>, budget: Duration) -> Result<f64, CliError> {
    let window = buffers.window();
    let sends = buffers.op == Op::Send;
    let flags = CompletionFlags::empty();
    let mut event = Event::default();
    let (mut receives, mut posted, mut completed, mut received) = (0, 0, 0, 0);
    if sends {
        while receives < window {
            buffers.post_receive(receives % buffers.slots)?;
            receives += 1;
        }
    }
    let mut timeout = Patience::new(buffers.fixture.pair.timeout);
    let mut next_look = window;
    let mut over = false;
    let start = Instant::now();
    loop {
        let wanted = if sends { posted < receives } else { !over };
        if wanted && posted - completed < window {
            buffers.post(posted % buffers.slots, flags)?;
            posted += 1;
            continue;
        }
        let before = completed + received;
        while buffers.take(&buffers.requester.request, &mut event)? {
            completed += 1;
        }
        while sends && buffers.take(&buffers.receiver.recv, &mut event)? {
            buffers.whole(&event)?;
            received += 1;
            if !over {
                buffers.post_receive(receives % buffers.slots)?;
                receives += 1;
            }
        }
        if completed >= next_look {
            next_look = completed + window;
            // Every slot is used at least once.
            over |= completed >= buffers.slots && start.elapsed() >= budget;
        }
        if over && completed == posted && received == receives {
            return Ok((posted * buffers.size) as f64 / start.elapsed().as_secs_f64());
        }
        timeout.spend(completed + received == before)?;
    }
}

/// Ends a wait for completions that do not arrive.
pub(super) struct Patience {
    most: Duration,
    idle: u32,
    since: Option<Instant>,
}

impl Patience {
    pub(super) fn new(most: Duration) -> Self {
        Self { most, idle: 0, since: None }
    }

    /// Called after each poll, with whether it found nothing.
    #[inline]
    pub(super) fn spend(&mut self, idle: bool) -> Result<(), CliError> {
        if !idle {
            self.idle = 0;
            self.since = None;
            return Ok(());
        }
        self.idle += 1;
        spin_loop();
        if self.idle % 256 == 0 {
            yield_now();
            let since = *self.since.get_or_insert_with(Instant::now);
            if since.elapsed() > self.most {
                return Err(CliError::timed_out("completion", self.most));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_steady_if_those_in_the_middle_agree() {
        let steady = Rounds::new(vec![9.0, 1.0, 10.0, 11.0, 40.0]);
        assert!(steady.is_steady && steady.median == 10.0, "one outlier on each side");
        assert!(!Rounds::new(vec![1.0, 2.0, 10.0, 11.0, 10.0]).is_steady);
        assert!(Rounds::new(vec![5.0]).is_steady);
    }
}
