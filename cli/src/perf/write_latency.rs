//! The latency of an RDMA write that the target finds in memory: half a round trip of two threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dat_core::{CompletionFlags, Event};

use super::arrival::{mark, time_limit};
use super::buffers::Buffers;
use super::latency::{Latency, sample};
use crate::error::CliError;

/// Measures for about the time of the budget.
pub(super) fn measure(there: &Buffers<'_>, budget: Duration) -> Result<Latency, CliError> {
    let back = Buffers::back(there.fixture, there.op, there.size)?;
    back.verify()?;
    there.expect_writes()?;
    back.expect_writes()?;
    let is_over = AtomicBool::new(false);
    let latency = std::thread::scope(|threads| {
        let mirror = threads.spawn(|| {
            let mirrored = mirror(there, &back, &is_over);
            is_over.store(true, Ordering::Relaxed);
            mirrored
        });
        let mut turn = 0;
        let latency = sample((there.op, there.size), 0.5, budget, |count| {
            for _ in 0..count {
                turn += 1;
                write(there, turn)?;
                await_answer(&back, turn, &is_over)?;
            }
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        let mirrored = mirror.join().unwrap_or_else(|panic| resume_unwind(panic));
        // The error of the thread is the cause of the other one.
        mirrored.and(latency)
    })?;
    back.sample()?;
    Ok(latency)
}

/// Writes the message of a turn, and spins until the write is complete.
fn write(buffers: &Buffers<'_>, turn: u64) -> Result<(), CliError> {
    buffers.mark(mark(turn))?;
    buffers.post(0, CompletionFlags::empty())?;
    buffers.finish(&mut Event::default())
}

/// Writes each message back, until the measurement is over.
fn mirror(there: &Buffers<'_>, back: &Buffers<'_>, is_over: &AtomicBool) -> Result<(), CliError> {
    for turn in 1.. {
        if !there.await_mark(mark(turn), || Ok(is_over.load(Ordering::Relaxed)))? {
            break;
        }
        write(back, turn)?;
    }
    Ok(())
}

fn await_answer(back: &Buffers<'_>, turn: u64, is_over: &AtomicBool) -> Result<(), CliError> {
    let in_time = time_limit(back.fixture.pair.timeout);
    let has_arrived = back.await_mark(mark(turn), || {
        in_time()?;
        Ok(is_over.load(Ordering::Relaxed))
    })?;
    if has_arrived {
        Ok(())
    } else {
        Err(CliError::unexpected("the other thread has ended".to_owned()))
    }
}
