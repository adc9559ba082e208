//! Waits on the notification object of all dispatchers of a process.

use std::time::Instant;

use dat_core::blocking::{BlockedCnoWait, WaitStep};
use dat_core::{Evd, Timeout};

use crate::process::{Blocked, State, Wait};
use crate::world::{Outcome, World};

impl World {
    /// A consumer takes all events, and waits for a trigger.
    pub(crate) fn begin_notification_wait(&mut self, process: usize) -> Outcome {
        self.poll(process)?;
        self.trace.line(|| format!("process {process} waits for a notification"));
        let Some(cno) = &self.processes[process].cno else { return Ok(()) };
        let step = cno.start_wait(Timeout::Infinite);
        self.go_on_notified(process, None, step)
    }

    pub(crate) fn go_on_notified(
        &mut self,
        process: usize,
        deadline: Option<Instant>,
        step: dat_core::Result<WaitStep<Option<Evd>, BlockedCnoWait>>,
    ) -> Outcome {
        match step.map_err(|error| format!("a wait is refused: {error}"))? {
            WaitStep::Done(hint) => {
                self.trace.line(|| format!("process {process} is notified of {hint:?}"));
                self.poll(process)
            }
            WaitStep::Blocked(blocked) => {
                let blocked = Blocked::Notification(blocked);
                let wait = Wait { blocked, state: State::Awake, deadline, is_blind: false };
                self.processes[process].wait = Some(wait);
                Ok(())
            }
        }
    }

    /// A consumer disables a dispatcher; or enables it, and takes the events that have come before.
    pub(crate) fn switch_notification(&mut self) -> Outcome {
        let process = self.random.usize(0..self.processes.len());
        let number = self.random.usize(0..4);
        let state = &mut self.processes[process];
        if state.is_killed || state.wait.is_some() {
            return Ok(());
        }
        let is_disabled = !state.disabled[number];
        state.disabled[number] = is_disabled;
        let queue = state.queues()[number];
        let switched = if is_disabled { queue.disable() } else { queue.enable() };
        switched.map_err(|error| format!("a dispatcher cannot be switched: {error}"))?;
        if is_disabled { Ok(()) } else { self.poll(process) }
    }

    /// An event of a dispatcher that must have woken a consumer which waits for a notification.
    pub(crate) fn find_notified(&self, process: usize) -> Outcome<Option<dat_core::Event>> {
        let state = &self.processes[process];
        for (queue, is_disabled) in state.queues().into_iter().zip(state.disabled) {
            let mut event = dat_core::Event::default();
            if !is_disabled && queue.dequeue(&mut event).map_err(|error| error.to_string())? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}
