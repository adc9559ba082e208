//! Time-outs of waits and connects, and the timer of connects, which runs some time after a deadline.

use std::time::{Duration, Instant};

use dat_core::{EpState, Timeout, simulated_timer};
use dat_sync::clock;

use crate::plan::Workload;
use crate::world::{Outcome, WAKE_UP, World};

impl World {
    /// A time-out of at most that long in some workloads, and when it expires at the earliest.
    pub(crate) fn time_out(&mut self, most: Duration) -> (Timeout, Option<Instant>) {
        if self.plan.workload != Workload::TimeOuts || self.random.u8(0..3) == 0 {
            return (Timeout::Infinite, None);
        }
        let after = Duration::from_nanos(self.random.u64(1000..most.as_nanos() as u64));
        (Timeout::After(after), Some(clock::now() + after))
    }

    /// A consumer accepts a request that it has taken before. Returns whether there was one.
    pub(crate) fn answer_late(&mut self) -> Outcome<bool> {
        let now = clock::now();
        let processes = &self.processes;
        let acts = |process: usize| {
            !processes[process].is_killed && processes[process].stopped_until <= now
        };
        let mut all = self.unanswered.iter();
        let Some(position) = all.position(|one| acts(one.process)) else { return Ok(false) };
        let request = self.unanswered.remove(position);
        self.trace.line(|| format!("connection {}: the request is accepted late", request.index));
        self.accept(request)?;
        Ok(true)
    }

    /// An attempt has timed out.
    ///
    /// # Errors
    /// Its deadline has not passed.
    pub(crate) fn check_time_out(&self, index: usize) -> Outcome {
        match self.connections[index].deadline {
            Some(deadline) if deadline <= clock::now() => Ok(()),
            _ => Err(format!("connection {index} times out early")),
        }
    }

    /// The timer ends the attempts whose deadline has passed.
    ///
    /// # Errors
    /// It has not ended one.
    pub(crate) fn run_timer(&mut self) -> Outcome {
        let now = clock::now();
        match self.timer_runs_at {
            None if simulated_timer::wakes_at().is_some_and(|deadline| deadline <= now) => {
                let delay = Duration::from_nanos(self.random.u64(0..WAKE_UP));
                self.timer_runs_at = Some(now + delay);
            }
            Some(at) if at <= now => {
                self.timer_runs_at = None;
                simulated_timer::run();
                return self.check_attempts(now);
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes the attempts that have timed out.
    fn check_attempts(&mut self, now: Instant) -> Outcome {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let is_over = connection.deadline.is_some_and(|deadline| deadline <= now);
            let Some(end) = connection.ends[0].as_ref().filter(|_| is_over) else { continue };
            match end.ep.query().map_err(|error| error.to_string())?.state {
                EpState::ActiveConnectionPending => {
                    return Err(format!("connection {index} does not time out"));
                }
                EpState::Connected => {}
                _ => connection.pair.end(),
            }
        }
        Ok(())
    }
}
