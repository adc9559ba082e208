//! The scheduler: a seed decides which process, thread, waiter or link moves next.

use std::time::Duration;

use dat_sync::clock;

use crate::network;
use crate::plan::{Habit, Workload};
use crate::world::{IDLE, Outcome, WAKE_UP, World};

/// Rounds of a lull, in which links become idle and stay so for some time.
const LULL: u64 = 3 * IDLE.as_nanos() as u64 / 2 / (2 * WAKE_UP);

impl World {
    /// Runs the world for a number of steps, lets it come to rest, and ends it.
    pub(crate) fn run(mut self, steps: usize) -> Outcome {
        self.connect()?;
        for _ in 0..steps * self.plan.steps {
            self.step()?;
        }
        self.settle()?;
        self.finish()
    }

    /// Moves one thing.
    pub(crate) fn step(&mut self) -> Outcome {
        match self.random.u8(0..20) {
            0 => self.connect()?,
            1 if self.plan.has_faults => match self.random.u8(0..60) {
                0 => self.kill(),
                1 | 2 => self.stop(),
                3..=5 => self.break_link(),
                _ => {}
            },
            2..=8 => self.act()?,
            9..=14 => network::deliver(&mut self.random),
            15 | 16 => self.advance()?,
            _ if self.random.u8(0..60) == 0 => self.lull()?,
            _ => self.disturb()?,
        }
        self.run_threads()?;
        self.run_timer()?;
        self.run_waiters()?;
        self.observe()
    }

    /// What only some workloads have.
    fn disturb(&mut self) -> Outcome {
        match (self.plan.workload, self.random.u16(0..400)) {
            (Workload::Refusals, 0..=39) => self.refuse(),
            (Workload::Refusals, 40) => self.close_descriptor(),
            (Workload::Forks, 0..=1) => return self.fork(),
            (Workload::Direct, 0..=19) => self.deregister(),
            (Workload::Notifications, 0..=79) => return self.switch_notification(),
            (Workload::TimeOuts, 0..=39) => return self.answer_late().map(drop),
            _ => {}
        }
        Ok(())
    }

    /// A consumer does something.
    fn act(&mut self) -> Outcome {
        let process = self.random.usize(0..self.processes.len());
        let now = clock::now();
        let state = &self.processes[process];
        if state.away_until > now || state.stopped_until > now || state.is_killed {
            return Ok(());
        }
        if state.wait.is_some() {
            // Now and then a consumer gives up.
            let is_over = self.random.u8(0..60) == 0;
            if is_over {
                self.end_wait(process);
            }
            return Ok(());
        }
        if self.random.u8(0..12) == 0 {
            let habit = Habit::any(&mut self.random, self.plan.workload);
            self.trace.line(|| format!("process {process} now {habit:?}"));
            self.processes[process].habit = habit;
        }
        match self.processes[process].habit {
            Habit::Polls => {
                self.post_any(process)?;
                self.poll(process)
            }
            Habit::PollsOnly => self.poll_only(process),
            Habit::PostsOnly => self.post_any(process),
            Habit::Waits => {
                self.post_any(process)?;
                self.wait(process)?;
                self.note_descriptors(process);
                Ok(())
            }
            Habit::Sleeps => {
                self.post_any(process)?;
                self.begin_wait(process)?;
                self.note_descriptors(process);
                Ok(())
            }
            Habit::Away => {
                let time = Duration::from_micros(self.random.u64(1..3_000));
                self.processes[process].away_until = now + time;
                Ok(())
            }
        }
    }

    /// For some time nothing new begins, and one consumer polls at most: what the others owe it must come without a
    /// call of theirs.
    fn lull(&mut self) -> Outcome {
        let process = self.random.usize(0..self.processes.len());
        self.trace.line(|| format!("only process {process} may poll"));
        self.is_settling = true;
        for _ in 0..LULL {
            network::deliver_all();
            clock::advance(Duration::from_nanos(2 * WAKE_UP));
            network::map_memory();
            self.run_threads()?;
            self.run_timer()?;
            self.run_waiters()?;
            self.observe()?;
            let state = &self.processes[process];
            let rests = state.is_killed || state.stopped_until > clock::now();
            if !rests && state.wait.is_none() {
                self.poll(process)?;
            }
        }
        self.is_settling = false;
        Ok(())
    }

    /// Time passes: until the next thing that is due, or a short time.
    fn advance(&mut self) -> Outcome {
        let short = Duration::from_nanos(self.random.u64(100..30_000));
        clock::advance(short);
        network::map_memory();
        self.observe()
    }
}
