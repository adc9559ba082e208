//! The threads of the adapters, which run some time after they are woken.

use std::time::{Duration, Instant};

use dat_provider_kit::engine::SimulatedThread;
use dat_sync::clock;
use dat_sync::epoll::simulated;
use fastrand::Rng;

use crate::network;
use crate::world::{Outcome, WAKE_UP, World};

impl World {
    /// The threads that are woken run, some time later.
    pub(crate) fn run_threads(&mut self) -> Outcome {
        let now = clock::now();
        let is_real = self.plan.workload.adapter().is_some();
        let count = network::with(|network| network.threads.len());
        for index in 0..count {
            // The network is free while a thread runs, which may connect.
            let Some((process, mut thread)) =
                network::with(|network| network.threads.get_mut(index).and_then(Option::take))
            else {
                continue;
            };
            let state = &mut self.processes[process];
            let rests = state.is_killed || state.stopped_until > now;
            if rests {
                network::with(|network| network.threads[index] = Some((process, thread)));
                continue;
            }
            let is_due = thread.wakes_at().is_some_and(|at| at <= now);
            // After a failure of the adapter its thread sleeps on a word, not on descriptors.
            let may_be_called = is_real || state.is_broken || state.seen != simulated::changes();
            let may_wake = state.thread_runs_at.is_none() && (is_due || may_be_called);
            state.seen = simulated::changes();
            if may_wake && thread.is_woken() {
                let delay = Duration::from_nanos(self.random.u64(0..WAKE_UP));
                state.thread_runs_at = Some(now + delay);
            }
            if state.thread_runs_at.is_some_and(|at| at <= now) {
                state.thread_runs_at = None;
                state.is_thread_alive = thread.run();
                self.note_descriptors(process);
            }
            let is_alive = self.processes[process].is_thread_alive;
            network::with(|network| {
                network.threads[index] = is_alive.then_some((process, thread));
            });
        }
        Ok(())
    }
}

/// The threads that are woken run, some time later; `runs_at` is the time of each process.
pub(crate) fn run_woken<M>(
    machines: &mut [M],
    runs_at: impl Fn(&mut M) -> &mut Option<Instant>,
    random: &mut Rng,
) {
    let now = clock::now();
    for index in 0..network::with(|network| network.threads.len()) {
        let Some((process, mut thread)) =
            network::with(|network| network.threads.get_mut(index).and_then(Option::take))
        else {
            continue;
        };
        let runs_at = runs_at(&mut machines[process]);
        let is_due = thread.wakes_at().is_some_and(|at| at <= now);
        if runs_at.is_none() && (is_due || thread.is_woken()) {
            *runs_at = Some(now + Duration::from_nanos(random.u64(0..WAKE_UP)));
        }
        let mut is_alive = true;
        if runs_at.is_some_and(|at| at <= now) {
            *runs_at = None;
            is_alive = thread.run();
        }
        network::with(|network| network.threads[index] = is_alive.then_some((process, thread)));
    }
}

/// Drops the objects of all adapters, and runs the threads of these until they end.
///
/// # Errors
/// One does not end.
pub(crate) fn end_after<T>(objects: T) -> Outcome {
    let threads = network::with(|network| std::mem::take(&mut network.threads));
    drop(objects);
    end_all(threads)
}

/// Runs the threads of adapters that are closed until they end.
///
/// # Errors
/// One does not end.
fn end_all(mut threads: Vec<Option<(usize, SimulatedThread)>>) -> Outcome {
    // A link that its peer does not close lives for longer.
    for _ in 0..400 {
        network::deliver_all();
        clock::advance(Duration::from_millis(2));
        network::map_memory();
        for slot in &mut threads {
            let Some((_, thread)) = slot else { continue };
            if thread.is_woken() && !thread.run() {
                *slot = None;
            }
        }
        if threads.iter().all(Option::is_none) {
            return Ok(());
        }
    }
    Err("the thread of an adapter does not end".to_owned())
}
