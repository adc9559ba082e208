//! The blocked waits of the core, as the sleep sees them.

use std::time::Duration;

use dat_core::blocking::{BlockedCnoWait, BlockedEvdWait, SleepOn, SleepResult, WaitStep};
use dat_core::error::Result;
use dat_core::{Evd, Event, WaitResult};

/// A blocked wait of the core.
pub(crate) trait Wait: Sized {
    /// The result of the wait.
    type Found;

    fn time_left(&self) -> Option<Duration>;
    fn begin_sleep(&mut self) -> Option<SleepOn<'_>>;
    fn resume(self, outcome: SleepResult) -> Result<WaitStep<Self::Found, Self>>;
}

impl Wait for BlockedEvdWait {
    type Found = (WaitResult, Event);

    fn time_left(&self) -> Option<Duration> {
        self.time_left()
    }

    fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        self.begin_sleep()
    }

    fn resume(self, outcome: SleepResult) -> Result<WaitStep<Self::Found, Self>> {
        with_event(|event| self.resume(outcome, event))
    }
}

/// A step of a wait, with the event that it delivered.
pub(crate) fn with_event(
    step: impl FnOnce(&mut Event) -> Result<WaitStep<WaitResult, BlockedEvdWait>>,
) -> Result<WaitStep<(WaitResult, Event), BlockedEvdWait>> {
    let mut event = Event::None;
    Ok(match step(&mut event)? {
        WaitStep::Done(waited) => WaitStep::Done((waited, event)),
        WaitStep::Blocked(blocked) => WaitStep::Blocked(blocked),
    })
}

impl Wait for BlockedCnoWait {
    type Found = Option<Evd>;

    fn time_left(&self) -> Option<Duration> {
        self.time_left()
    }

    fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        self.begin_sleep()
    }

    fn resume(self, outcome: SleepResult) -> Result<WaitStep<Self::Found, Self>> {
        self.resume(outcome)
    }
}
