//! Rows of one thread that posts and polls.

use std::hint::black_box;

use dat_core::{CompletionFlags, Event, EventDispatcher};

use super::bench::Bench;
use super::report::{Row, Unit};
use super::skeleton::{MESSAGE, Skeleton};
use dat_cli::error::CliError;
use dat_cli::perf::Op;
use dat_cli::perf::buffers::Buffers;
use dat_cli::perf::fixture::Fixture;

const SKELETON: &str = "rings, keys and the copy alone, unlocked";

pub(super) fn rows(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let mut event = Event::default();
    let size = MESSAGE as u64;
    let send = Buffers::there(&fixture, Op::Send, size)?;
    let mut skeleton = Skeleton::new();
    let (cycle, floor) = bench.both(
        || bench.time(|count| (0..count).try_for_each(|_| cycle(&send, &mut event))),
        || bench.time(|count| Skeleton::repeat(count, |n| skeleton.cycle(n))),
    )?;
    let what = "send cycle: post receive and send, take both completions";
    rows.push(Row::new("cycle", what, Unit::Nanos, &cycle, (SKELETON, &floor), Some(60.0 / 16.0)));
    let alone = Alone { send: &send, depth: fixture.pair.depth };
    let mut spent = Vec::new();
    for _ in 0..super::bench::ROUNDS {
        spent.push(alone.round(bench, &mut Event::default())?);
    }
    let what = "send and its completion, receives apart";
    let spent = super::bench::Samples(spent);
    rows.push(Row::new("send", what, Unit::Nanos, &spent, (SKELETON, &floor), Some(35.0 / 16.0)));
    let mut event = Event::default();
    for (key, op) in [("write", Op::Write), ("read", Op::Read)] {
        let buffers = Buffers::there(&fixture, op, size)?;
        let (time, floor) = bench.both(
            || bench.time(|count| (0..count).try_for_each(|_| request(&buffers, &mut event))),
            || bench.time(|count| Skeleton::repeat(count, |n| skeleton.write(n))),
        )?;
        let what = format!("RDMA {key} and its completion");
        let target = Some(28.0 / 11.0);
        rows.push(Row::new(key, what, Unit::Nanos, &time, (SKELETON, &floor), target));
    }
    let evd = &fixture.pair.active.recv;
    let (time, floor) = bench.both(
        || bench.time(|count| (0..count).try_for_each(|_| nothing(evd, &mut event))),
        || bench.time(|count| Skeleton::repeat(count, |n| black_box(n) == n)),
    )?;
    let loop_ = ("a turn of the loop", &floor);
    rows.push(Row::new("empty", "dequeue of nothing", Unit::Nanos, &time, loop_, None));
    fixture.end()
}

/// A receive, a send, and both completions.
#[inline]
fn cycle(buffers: &Buffers<'_>, event: &mut Event) -> Result<(), CliError> {
    buffers.post_receive(0)?;
    buffers.post(0, CompletionFlags::empty())?;
    buffers.finish(event)?;
    buffers.receive(event)
}

#[inline]
fn request(buffers: &Buffers<'_>, event: &mut Event) -> Result<(), CliError> {
    buffers.post(0, CompletionFlags::empty())?;
    buffers.finish(event)
}

#[inline]
fn nothing(evd: &EventDispatcher, event: &mut Event) -> Result<(), CliError> {
    if evd.dequeue(event)? {
        Err(CliError::unexpected("an event came from nowhere".into()))
    } else {
        Ok(())
    }
}

/// Sends; posting and reaping the receives is not timed.
struct Alone<'a> {
    send: &'a Buffers<'a>,
    depth: u32,
}

impl Alone<'_> {
    fn round(&self, bench: &Bench<'_>, event: &mut Event) -> Result<f64, CliError> {
        let (mut spent, mut done) = (std::time::Duration::ZERO, 0_u32);
        while spent < bench.round / 2 {
            for _ in 0..self.depth {
                self.send.post_receive(0)?;
            }
            let start = std::time::Instant::now();
            for _ in 0..self.depth {
                request(self.send, event)?;
            }
            spent += start.elapsed();
            done += self.depth;
            for _ in 0..self.depth {
                self.send.receive(event)?;
            }
        }
        Ok(spent.as_secs_f64() * 1e9 / f64::from(done))
    }
}

impl Skeleton {
    /// Repeats `work`.
    fn repeat(count: u32, mut work: impl FnMut(u64) -> bool) -> Result<(), CliError> {
        for number in 0..count {
            if !work(number.into()) {
                return Err(CliError::unexpected("the skeleton stumbled".into()));
            }
        }
        Ok(())
    }
}
