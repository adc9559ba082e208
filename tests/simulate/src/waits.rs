//! Waits that last. A waiter checks its dispatcher, falls asleep at a later step, and goes on some time after what it
//! sleeps on has changed.
#![allow(unsafe_code, reason = "descriptors are borrowed by number")]

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use dat_core::blocking::{BlockedEvdWait, SleepOn, SleepResult, WaitDeadline, WaitStep};
use dat_core::{Evd, Event, WaitResult};
use dat_sync::clock;
use dat_sync::epoll::simulated;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::process::{Blocked, State, Wait};
use crate::world::{Outcome, WAKE_UP, World};

/// A waiter that has slept for this time has nothing to wake up for.
const REST: Duration = Duration::from_micros(200);

/// Returns true if a descriptor of the system is readable.
fn is_readable(descriptor: RawFd) -> bool {
    // SAFETY: the waiter owns it as long as it sleeps.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&now)) == Ok(1)
}

impl World {
    /// A process begins to wait on one of its dispatchers.
    pub(crate) fn begin_wait(&mut self, process: usize) -> Outcome {
        if self.processes[process].cno.is_some() {
            return self.begin_notification_wait(process);
        }
        let node = &self.processes[process].node;
        let all = [&node.request, &node.recv, &node.recv, &node.connect, &node.requests];
        let queue = all[self.random.usize(0..all.len())].clone();
        self.trace.line(|| format!("process {process} waits on {:?}", queue.id()));
        let mut event = Event::default();
        let (timeout, deadline) = self.time_out(Duration::from_micros(500));
        let step = queue.start_wait(&WaitDeadline::new(timeout), 1, &mut event);
        self.go_on(process, (queue, deadline), step, event)
    }

    fn go_on(
        &mut self,
        process: usize,
        (queue, deadline): (Evd, Option<Instant>),
        step: dat_core::Result<WaitStep<WaitResult, BlockedEvdWait>>,
        event: Event,
    ) -> Outcome {
        match step.map_err(|error| format!("a wait is refused: {error}"))? {
            WaitStep::Done(WaitResult::TimedOut { queued }) => {
                self.trace.line(|| format!("the wait of process {process} times out"));
                let is_early = deadline.is_none_or(|deadline| clock::now() < deadline);
                match is_early || queued > 0 {
                    true => Err(format!("a wait times out early, or with {queued} events")),
                    false => Ok(()),
                }
            }
            WaitStep::Done(_) if matches!(event, Event::None) => {
                Err("a wait ends without an event".to_owned())
            }
            WaitStep::Done(_) => self.handle(process, event),
            WaitStep::Blocked(blocked) => {
                let (state, is_blind) = (State::Awake, false);
                let blocked = Blocked::Dispatcher(queue, blocked);
                let wait = Wait { blocked, state, deadline, is_blind };
                self.processes[process].wait = Some(wait);
                Ok(())
            }
        }
    }

    /// The waiters fall asleep, wake up and go on.
    pub(crate) fn run_waiters(&mut self) -> Outcome {
        let now = clock::now();
        for process in 0..self.processes.len() {
            let state = &mut self.processes[process];
            if state.is_killed || state.stopped_until > now {
                continue;
            }
            let Some(mut wait) = state.wait.take() else { continue };
            let mut wake_up = || now + Duration::from_nanos(self.random.u64(0..WAKE_UP));
            match wait.state {
                State::Awake => {
                    self.trace.line(|| format!("process {process} falls asleep"));
                    let asleep_since = clock::now_without_pauses();
                    wait.state = match wait.blocked.begin_sleep() {
                        Some(SleepOn::Descriptors(both)) => {
                            wait.is_blind = false;
                            State::Asleep(Some(both.map(|one| one.as_raw_fd())), asleep_since)
                        }
                        Some(SleepOn::Word { .. } | SleepOn::Words(_)) => {
                            wait.is_blind = true;
                            State::Asleep(None, asleep_since)
                        }
                        None => State::Woken(now, SleepResult::Woken),
                    };
                }
                State::Asleep(both, _) => {
                    let is_real = self.plan.workload.adapter().is_some();
                    let is_lost =
                        |both: [RawFd; 2]| !is_real && !both.into_iter().all(simulated::is_open);
                    if both.is_some_and(is_lost) {
                        self.resume(process, wait, SleepResult::Unavailable)?;
                        self.note_descriptors(process);
                        continue;
                    }
                    let is_readable = if is_real { is_readable } else { simulated::is_readable };
                    if both.is_none_or(|both| both.into_iter().any(is_readable)) {
                        wait.state = State::Woken(wake_up(), SleepResult::Woken);
                    } else if wait.deadline.is_some_and(|deadline| deadline <= now) {
                        wait.state = State::Woken(wake_up(), SleepResult::TimedOut);
                    }
                }
                State::Woken(at, outcome) if at <= now => {
                    self.resume(process, wait, outcome)?;
                    self.note_descriptors(process);
                    continue;
                }
                State::Woken(..) => {}
            }
            self.processes[process].wait = Some(wait);
        }
        Ok(())
    }

    /// A waiter goes on after a sleep.
    fn resume(&mut self, process: usize, wait: Wait, outcome: SleepResult) -> Outcome {
        match wait.blocked {
            Blocked::Dispatcher(queue, blocked) => {
                let mut event = Event::default();
                let step = blocked.resume(outcome, &mut event);
                self.trace.line(|| format!("process {process} wakes up: {event:?}"));
                self.go_on(process, (queue, wait.deadline), step, event)?;
            }
            Blocked::Notification(blocked) => {
                let step = blocked.resume(outcome);
                self.go_on_notified(process, wait.deadline, step)?;
            }
        }
        // A waiter whose connection is not its only one any more sleeps on a word from then on.
        if let Some(again) = &mut self.processes[process].wait {
            again.is_blind = wait.is_blind;
        }
        Ok(())
    }

    /// Ends a wait of a consumer that gives up.
    pub(crate) fn end_wait(&mut self, process: usize) {
        self.processes[process].wait = None;
    }

    /// Ends a wait that nothing has ended although everything has come to rest. Nothing may be there that should have
    /// woken the waiter, which `must_sleep` by now.
    pub(crate) fn give_up_wait(&mut self, process: usize, must_sleep: bool) -> Outcome {
        let wait = self.processes[process].wait.take();
        let Some(Wait { blocked, state, deadline, is_blind }) = wait else { return Ok(()) };
        let is_asleep = match state {
            State::Asleep(Some(_), since) => {
                clock::now_without_pauses().duration_since(since) > REST
            }
            _ => false,
        };
        if !is_asleep && !must_sleep {
            let wait = Wait { blocked, state, deadline, is_blind };
            self.processes[process].wait = Some(wait);
            return Ok(());
        }
        let found = match blocked {
            Blocked::Dispatcher(queue, blocked) => {
                drop(blocked);
                let mut event = Event::default();
                let found = queue.dequeue(&mut event).map_err(|error| error.to_string())?;
                found.then_some(event)
            }
            Blocked::Notification(blocked) => {
                drop(blocked);
                self.find_notified(process)?
            }
        };
        if let Some(event) = found.as_ref().filter(|_| is_asleep) {
            return Err(format!("process {process} sleeps although there is {event:?}"));
        }
        let is_broken = self.processes[process].is_broken;
        if !is_asleep && !is_blind && !is_broken && self.is_network_idle() {
            self.describe_links();
            return Err(format!("process {process} wakes up again and again for nothing"));
        }
        found.map_or(Ok(()), |event| self.handle(process, event))
    }
}
