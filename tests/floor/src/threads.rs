//! Rows of two threads: polling, sleeping, in one direction, and independent of each other.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dat_core::{CompletionFlags, Event, Timeout};

use super::bench::{Bench, Samples};
use super::crossing::{AHEAD, Receives, Ring, Way};
use super::report::{Row, Unit};
use super::skeleton::MESSAGE;
use dat_cli::error::CliError;
use dat_cli::perf::Op;
use dat_cli::perf::buffers::Buffers;
use dat_cli::perf::fixture::Fixture;

/// Messages between two readings of the clock.
const BATCH: u64 = 256;

/// The floor of most rows here.
const SHAPE: &str = "receives, message and completions alone, unlocked";

/// How the threads wait for each other's messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Awake,
    Asleep,
}

pub(super) fn polling(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let (time, floor) = bench.both(
        || ping_pong(&fixture, bench.round, Wait::Awake),
        || Ok(back_and_forth::<Receives>(bench.round)),
    )?;
    let floors = (SHAPE, &floor);
    let what = "half a round trip, both poll";
    rows.push(Row::new("polling", what, Unit::Nanos, &time, floors, Some(1.3)));
    let rings = || back_and_forth::<Ring>(bench.round / 2);
    let ring = Samples((0..super::bench::ROUNDS).map(|_| rings()).collect());
    let what = "the floor above relative to the message alone";
    rows.push(Row::new("ring", what, Unit::Nanos, &floor, ("rings with the message", &ring), None));
    let line = Samples((0..super::bench::ROUNDS).map(|_| cache_line(bench.round / 2)).collect());
    let what = "those rings relative to a cache line alone";
    rows.push(Row::new("line", what, Unit::Nanos, &ring, ("a cache line across", &line), None));
    fixture.end()
}

pub(super) fn blocking(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    let (time, floor) = bench.both(
        || ping_pong(&fixture, bench.round * 2, Wait::Asleep),
        || Ok(parking(bench.round * 2)),
    )?;
    let floors = ("a futex to sleep and to wake", &floor);
    let what = "half a round trip, both in dat_evd_wait";
    rows.push(Row::new("blocking", what, Unit::Nanos, &time, floors, Some(1.05)));
    // A waiter that gets its answer soon does not sleep, so polling is the floor.
    let (time, floor) = bench.both(
        || ping_pong(&fixture, bench.round, Wait::Asleep),
        || Ok(back_and_forth::<Receives>(bench.round)),
    )?;
    let what = "the same, relative to polling threads";
    // The target is 120 ns on a machine where 1.3 floors are 80 ns.
    let target = 120.0 / (80.0 / 1.3);
    rows.push(Row::new("awake", what, Unit::Nanos, &time, (SHAPE, &floor), Some(target)));
    fixture.end()
}

pub(super) fn one_way(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let fixture = Fixture::new(bench.name, bench.timeout)?;
    for (key, what, every, target) in [
        ("one_way", "one way, every send completes", 1, 25.0 / 85.0),
        ("one_way_suppressed", "one way, sends suppressed", fixture.signal_every, 35.0 / 85.0),
    ] {
        let (rate, floor) = bench
            .both(|| stream(&fixture, bench.round, every), || Ok(there::<Receives>(bench.round)))?;
        let floors = (SHAPE, &floor);
        rows.push(Row::new(key, what, Unit::Millions, &rate, floors, Some(target)));
    }
    fixture.end()
}

pub(super) fn apart(bench: &Bench<'_>, rows: &mut Vec<Row>) -> Result<(), CliError> {
    let rigs = [Fixture::new(bench.name, bench.timeout)?, Fixture::new(bench.name, bench.timeout)?];
    let (two, one) =
        bench.both(|| cycles(&rigs, bench.round), || cycles(&rigs[..1], bench.round))?;
    let what = "send cycles of two threads on endpoints of their own";
    rows.push(Row::new("apart", what, Unit::Millions, &two, ("one thread's", &one), Some(1.9)));
    rigs.iter().try_for_each(Fixture::end)
}

/// Half a round trip between two threads.
fn ping_pong(fixture: &Fixture, budget: Duration, wait: Wait) -> Result<f64, CliError> {
    let there = Buffers::there(fixture, Op::Send, MESSAGE as u64)?;
    let back = Buffers::back(fixture, MESSAGE as u64)?;
    let over = AtomicBool::new(false);
    for buffers in [&there, &back] {
        (0..AHEAD).try_for_each(|_| buffers.post_receive(0))?;
    }
    let answer = || -> Result<(), CliError> {
        let (mut event, mut turn) = (Event::default(), 0);
        loop {
            hear(&there, &mut event, wait)?;
            let last = over.load(Ordering::Acquire);
            say(&back, &mut turn, &mut event)?;
            there.post_receive(0)?;
            if last {
                return Ok(());
            }
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(answer);
        let (mut event, mut turn) = (Event::default(), 0);
        let batch = if wait == Wait::Awake { BATCH } else { 8 };
        let mut done = 0;
        let start = Instant::now();
        let mut time = Duration::ZERO;
        while time < budget {
            for _ in 0..batch {
                say(&there, &mut turn, &mut event)?;
                hear(&back, &mut event, wait)?;
                back.post_receive(0)?;
            }
            done += batch;
            time = start.elapsed();
        }
        over.store(true, Ordering::Release);
        say(&there, &mut turn, &mut event)?;
        hear(&back, &mut event, wait)?;
        back.post_receive(0)?;
        other.join().unwrap_or_else(|_| Err(CliError::unexpected("a thread panicked".into())))?;
        use_up(&there, AHEAD)?;
        use_up(&back, AHEAD)?;
        Ok(time.as_secs_f64() * 1e9 / (2 * done) as f64)
    })
}

/// Consumes the remaining receives, which would take the messages of the next round.
fn use_up(buffers: &Buffers<'_>, receives: u64) -> Result<(), CliError> {
    let mut event = Event::default();
    for _ in 0..receives {
        buffers.post(0, CompletionFlags::empty())?;
        buffers.finish(&mut event)?;
        buffers.receive(&mut event)?;
    }
    Ok(())
}

/// Sends; some of the sends are signalled, and their completions are taken at once.
#[inline]
fn say(buffers: &Buffers<'_>, turn: &mut u32, event: &mut Event) -> Result<(), CliError> {
    *turn = (*turn + 1) % buffers.fixture.signal_every;
    if *turn != 0 {
        return buffers.post(0, CompletionFlags::SUPPRESS);
    }
    buffers.post(0, CompletionFlags::empty())?;
    buffers.finish(event)
}

#[inline]
fn hear(buffers: &Buffers<'_>, event: &mut Event, wait: Wait) -> Result<(), CliError> {
    if wait == Wait::Awake {
        return buffers.receive(event);
    }
    let timeout = buffers.fixture.pair.timeout;
    if !buffers.receiver.recv.wait(Timeout::After(timeout), 1, event)?.is_event() {
        return Err(CliError::timed_out("message", timeout));
    }
    buffers.whole(event)
}

/// Like [`ping_pong`], over two channels.
fn back_and_forth<W: Way>(budget: Duration) -> f64 {
    let (there, back) = (W::default(), W::default());
    let last = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut number, mut room) = (0, 0);
            while number != last.load(Ordering::Relaxed) {
                number += 1;
                there.receive(number);
                back.send(number, &mut room);
            }
        });
        let (mut number, mut room) = (0, 0);
        let mut turn = || {
            number += 1;
            there.send(number, &mut room);
            back.receive(number);
            number
        };
        let start = Instant::now();
        loop {
            let mut done = 0;
            for _ in 0..BATCH {
                done = turn();
            }
            let time = start.elapsed();
            if time >= budget {
                last.store(done + 1, Ordering::Relaxed);
                turn();
                return time.as_secs_f64() * 1e9 / (2 * done) as f64;
            }
        }
    })
}

/// Half the round trip of a cache line, in nanoseconds.
fn cache_line(budget: Duration) -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    let lines = [Line(AtomicU64::new(0)), Line(AtomicU64::new(0))];
    let wait = |line: &Line, number| {
        while line.0.load(Ordering::Acquire) < number {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 1;
            loop {
                wait(&lines[0], number);
                let seen = lines[0].0.load(Ordering::Acquire);
                lines[1].0.store(seen, Ordering::Release);
                if seen == u64::MAX {
                    return;
                }
                number = seen + 1;
            }
        });
        let start = Instant::now();
        let mut number = 0;
        loop {
            for _ in 0..BATCH {
                number += 1;
                lines[0].0.store(number, Ordering::Release);
                wait(&lines[1], number);
            }
            let time = start.elapsed();
            if time >= budget {
                lines[0].0.store(u64::MAX, Ordering::Release);
                return time.as_secs_f64() * 1e9 / (2 * number) as f64;
            }
        }
    })
}

/// Half the round trip of two threads that park and unpark each other, in nanoseconds.
fn parking(budget: Duration) -> f64 {
    const OVER: u32 = u32::MAX;
    let turn = AtomicU32::new(0);
    let main = thread::current();
    let sleep_until = |wanted: &dyn Fn(u32) -> bool| {
        loop {
            let now = turn.load(Ordering::Acquire);
            if wanted(now) || now == OVER {
                return now;
            }
            thread::park();
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            loop {
                let now = sleep_until(&|now| now % 2 == 1);
                if now == OVER {
                    return;
                }
                turn.store(now + 1, Ordering::Release);
                main.unpark();
            }
        });
        let (mut number, mut time) = (0, Duration::ZERO);
        let start = Instant::now();
        while time < budget {
            for _ in 0..8 {
                turn.store(number + 1, Ordering::Release);
                other.thread().unpark();
                number = sleep_until(&|now| now == number + 2);
            }
            time = start.elapsed();
        }
        turn.store(OVER, Ordering::Release);
        other.thread().unpark();
        time.as_secs_f64() * 1e9 / f64::from(number)
    })
}

/// Millions of messages per second from one thread to another. The receiver announces from time to
/// time how many messages it has received.
fn stream(fixture: &Fixture, budget: Duration, every: u32) -> Result<f64, CliError> {
    let buffers = Buffers::there(fixture, Op::Send, MESSAGE as u64)?;
    let (depth, step) = (u64::from(fixture.pair.depth), u64::from(fixture.pair.depth / 4).max(1));
    let (posted, sent) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    for _ in 0..depth {
        buffers.post_receive(0)?;
    }
    posted.store(depth, Ordering::Release);
    let take = || -> Result<(), CliError> {
        let (mut event, mut taken, mut receives) = (Event::default(), 0, depth);
        loop {
            if buffers.take(&buffers.receiver.recv, &mut event)? {
                taken += 1;
                buffers.post_receive(0)?;
                receives += 1;
                if receives % step == 0 {
                    posted.store(receives, Ordering::Release);
                }
            } else if taken == sent.load(Ordering::Acquire) {
                return Ok(());
            } else {
                std::hint::spin_loop();
            }
        }
    };
    let rate = thread::scope(|scope| {
        let taker = scope.spawn(take);
        let (mut event, mut turn) = (Event::default(), 0);
        let (mut count, mut room, mut out) = (0, 0, 0_u32);
        let start = Instant::now();
        let mut time = Duration::ZERO;
        let mut send = || -> Result<(), CliError> {
            while time < budget {
                for _ in 0..BATCH {
                    while count == room && !taker.is_finished() {
                        room = posted.load(Ordering::Acquire);
                        std::hint::spin_loop();
                    }
                    turn = (turn + 1) % every;
                    let flags = if turn == 0 {
                        out += 1;
                        CompletionFlags::empty()
                    } else {
                        CompletionFlags::SUPPRESS
                    };
                    buffers.post(0, flags)?;
                    count += 1;
                    while out > 0 && buffers.take(&buffers.requester.request, &mut event)? {
                        out -= 1;
                    }
                }
                time = start.elapsed();
            }
            Ok(())
        };
        let outcome = send();
        sent.store(count, Ordering::Release);
        taker.join().unwrap_or_else(|_| Err(CliError::unexpected("a thread panicked".into())))?;
        outcome?;
        while out > 0 {
            buffers.finish(&mut event)?;
            out -= 1;
        }
        Ok::<_, CliError>(count as f64 / time.as_secs_f64() / 1e6)
    })?;
    use_up(&buffers, depth)?;
    Ok(rate)
}

/// Like [`stream`], over a channel.
fn there<W: Way>(budget: Duration) -> f64 {
    let way = W::default();
    let last = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while number != last.load(Ordering::Relaxed) {
                number += 1;
                way.receive(number);
            }
        });
        let (mut number, mut room) = (0, 0);
        let start = Instant::now();
        loop {
            for _ in 0..BATCH {
                number += 1;
                way.send(number, &mut room);
            }
            let time = start.elapsed();
            if time >= budget {
                let done = number;
                last.store(done + 1, Ordering::Relaxed);
                way.send(done + 1, &mut room);
                return done as f64 / time.as_secs_f64() / 1e6;
            }
        }
    })
}

/// Millions of send cycles per second, with one thread per rig.
fn cycles(rigs: &[Fixture], budget: Duration) -> Result<f64, CliError> {
    let start = Barrier::new(rigs.len());
    let one = |fixture: &Fixture| -> Result<f64, CliError> {
        let buffers = Buffers::there(fixture, Op::Send, MESSAGE as u64);
        start.wait();
        let (buffers, mut event) = (buffers?, Event::default());
        let begin = Instant::now();
        let (mut done, mut time) = (0, Duration::ZERO);
        while time < budget {
            for _ in 0..BATCH {
                buffers.post_receive(0)?;
                buffers.post(0, CompletionFlags::empty())?;
                buffers.finish(&mut event)?;
                buffers.receive(&mut event)?;
            }
            done += BATCH;
            time = begin.elapsed();
        }
        Ok(done as f64 / time.as_secs_f64() / 1e6)
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            rigs.iter().map(|fixture| scope.spawn(move || one(fixture))).collect();
        let mut total = 0.0;
        for thread in threads {
            total += thread
                .join()
                .unwrap_or_else(|_| Err(CliError::unexpected("a thread panicked".into())))?;
        }
        Ok(total)
    })
}
