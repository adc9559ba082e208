//! How much is moved with many transfers under way.

use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use dat_core::{CompletionFlags, Event};
use serde::Serialize;

use super::Op;
use super::lane::Lane;
use super::memcpy::Copier;
use crate::fault::Fault;

/// The bandwidth of an operation and size, in 10^9 bytes a second.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Bandwidth {
    pub(super) op: Op,
    pub(super) size: u64,
    /// How many transfers were under way.
    pub(super) window: u64,
    pub(super) gb_per_s: f64,
    /// What the processor copies in blocks of that size.
    pub(super) memcpy_gb_per_s: f64,
    /// Bandwidth over copying.
    pub(super) ratio: f64,
}

const ROUNDS: u32 = 5;

/// Measures for about as long as the budget says.
pub(super) fn measure(lane: &Lane<'_>, budget: Duration) -> Result<Bandwidth, Fault> {
    let mut copier = Copier::new(lane.size, lane.stride, lane.places);
    let (mut moved, mut copied) = (Vec::new(), Vec::new());
    // Two thirds for the transfers, one for the copies between them.
    for _ in 0..ROUNDS {
        moved.push(round(lane, budget * 2 / 3 / ROUNDS)?);
        copied.push(copier.round(budget / 3 / ROUNDS));
    }
    let (moved, copied) = (median(moved), median(copied));
    Ok(Bandwidth {
        op: lane.op,
        size: lane.size,
        window: lane.window(),
        gb_per_s: moved / 1e9,
        memcpy_gb_per_s: copied / 1e9,
        ratio: moved / copied,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Keeps the window full until the budget is used up, then lets it run empty: bytes in a
/// second. A send is posted only for a receive that waits.
pub(super) fn round(lane: &Lane<'_>, budget: Duration) -> Result<f64, Fault> {
    let window = lane.window();
    let sends = lane.op == Op::Send;
    let flags = CompletionFlags::empty();
    let mut event = Event::default();
    let (mut receives, mut posted, mut completed, mut received) = (0, 0, 0, 0);
    if sends {
        while receives < window {
            lane.post_receive(receives % lane.places)?;
            receives += 1;
        }
    }
    let mut patience = Patience::new(lane.rig.pair.patience);
    let mut next_look = window;
    let mut over = false;
    let start = Instant::now();
    loop {
        let wanted = if sends { posted < receives } else { !over };
        if wanted && posted - completed < window {
            lane.post(posted % lane.places, flags)?;
            posted += 1;
            continue;
        }
        let before = completed + received;
        while lane.take(&lane.requester.request, &mut event)? {
            completed += 1;
        }
        while sends && lane.take(&lane.receiver.recv, &mut event)? {
            lane.whole(&event)?;
            received += 1;
            if !over {
                lane.post_receive(receives % lane.places)?;
                receives += 1;
            }
        }
        if completed >= next_look {
            next_look = completed + window;
            // Every place is used at least once.
            over |= completed >= lane.places && start.elapsed() >= budget;
        }
        if over && completed == posted && received == receives {
            return Ok((posted * lane.size) as f64 / start.elapsed().as_secs_f64());
        }
        patience.spend(completed + received == before)?;
    }
}

/// Ends a wait for completions that don't come.
struct Patience {
    most: Duration,
    idle: u32,
    since: Option<Instant>,
}

impl Patience {
    fn new(most: Duration) -> Self {
        Self { most, idle: 0, since: None }
    }

    /// To be called after each look, with whether nothing was there.
    #[inline]
    fn spend(&mut self, idle: bool) -> Result<(), Fault> {
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
                return Err(Fault::timed_out("completion", self.most));
            }
        }
        Ok(())
    }
}
