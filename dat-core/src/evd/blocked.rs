//! A wait on an event dispatcher that has to sleep.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::Evd;
use super::queue::Queue;
use super::streams::Mode;
use super::wait::WaitResult;
#[cfg(not(all(test, loom)))]
use crate::blocking::SleepOn;
use crate::blocking::{SleepResult, WaitStep, time_left};
use crate::claim::Claim;
use crate::counters::EvdCounter;
use crate::error::Result;
use crate::event::Event;

/// A wait whose thread owns the dispatcher and has to sleep; see [`blocking`](crate::blocking).
/// Dropping it abandons the wait: another thread may then wait, and no event is lost.
pub struct BlockedEvdWait {
    pub(super) evd: Evd,
    pub(super) mode: Mode,
    pub(super) threshold: u32,
    pub(super) deadline: Option<Instant>,
    /// True if the thread also sleeps on the descriptor of a device.
    pub(super) beside_device: bool,
    /// The progress of the adapter, if the thread makes it itself.
    pub(super) claim: Option<Claim>,
    /// The sleep in progress.
    pub(super) asleep: Option<Asleep>,
    /// True if the dispatcher still has this waiter recorded.
    pub(super) is_announced: bool,
}

/// A sleep in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asleep {
    since: Instant,
    announced: Announced,
}

/// How a sleep was announced to the wakeup.
#[derive(Clone, Copy, Debug)]
enum Announced {
    /// It was not: the thread polls the descriptor of the wakeup, or the wakeup sleeps by itself.
    No,
    /// As one on the wake word.
    Word,
    /// As one on the descriptor of the claim.
    Claim,
}

impl std::fmt::Debug for BlockedEvdWait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("BlockedEvdWait");
        debug.field("evd", &self.evd).field("threshold", &self.threshold).finish_non_exhaustive()
    }
}

impl BlockedEvdWait {
    /// Maximum time to sleep; `None` means without limit.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        Claim::limit(self.claim.as_ref(), time_left(self.deadline))
    }

    /// Begins the sleep: returns what to sleep on, or `None` if the thread must not sleep.
    #[cfg(not(all(test, loom)))]
    pub fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        if let Some(claim) = &self.claim {
            self.asleep = Some(self.begin_claimed_sleep(claim)?);
            return self.claim.as_ref().map(|claim| SleepOn::Descriptors(claim.descriptors()));
        }
        let (announced, seen) = match self.descriptors() {
            Some(_) => (Announced::No, None),
            None => (Announced::Word, Some(self.evd.inner().notifier.wakeup.begin_sleep()?)),
        };
        self.asleep = Some(self.fall_asleep(announced));
        let wakeup = &self.evd.inner().notifier.wakeup;
        match seen {
            Some(seen) => Some(SleepOn::Word { word: wakeup.word(), seen }),
            None => self.descriptors().map(SleepOn::Descriptors),
        }
    }

    /// Announces a sleep on the connections of the adapter too, unless the thread must not sleep.
    fn begin_claimed_sleep(&self, claim: &Claim) -> Option<Asleep> {
        let may_sleep = self.evd.inner().notifier.wakeup.begin_sleep_on(claim.wake());
        may_sleep.then(|| self.fall_asleep(Announced::Claim))
    }

    /// The descriptors of the wakeup and of the device, if they are to be polled.
    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        if !self.beside_device {
            return None;
        }
        let inner = self.evd.inner();
        Some([inner.notifier.wakeup.own_fd()?, inner.arrivals(self.mode)?])
    }

    fn fall_asleep(&self, announced: Announced) -> Asleep {
        self.evd.inner().counter_set().count(EvdCounter::WaitBlocked);
        Asleep { since: Instant::now(), announced }
    }

    /// Sleeps until a wake-up or the deadline.
    pub(super) fn sleep(&mut self) -> SleepResult {
        if let Some(claim) = &self.claim {
            self.asleep = self.begin_claimed_sleep(claim);
            let slept = self.asleep.map(|_| claim.sleep(self.deadline));
            return slept.unwrap_or(SleepResult::Woken);
        }
        self.asleep = Some(self.fall_asleep(Announced::No));
        let wakeup = &self.evd.inner().notifier.wakeup;
        match self.descriptors() {
            Some([_, device]) => wakeup.sleep_beside(device, self.deadline),
            None => wakeup.sleep(self.deadline),
        }
    }

    /// Continues after a sleep: takes the event, reports how the wait ended, or blocks again.
    ///
    /// # Errors
    /// As [`Evd::wait`].
    pub fn resume(
        mut self,
        outcome: SleepResult,
        event: &mut Event,
    ) -> Result<WaitStep<WaitResult, Self>> {
        let asleep = self.wake_up();
        self.evd.inner().counter_set().count(EvdCounter::WaitNotify);
        let time_left = self.time_left();
        let outcome = Claim::advance_after(&mut self.claim, outcome, time_left);
        self.check(Some((outcome, asleep)), event)
    }

    /// Ends the sleep; returns its duration.
    fn wake_up(&mut self) -> Duration {
        let Some(asleep) = self.asleep.take() else { return Duration::ZERO };
        let wakeup = &self.evd.inner().notifier.wakeup;
        match asleep.announced {
            Announced::No => {}
            Announced::Word => _ = wakeup.end_sleep(),
            Announced::Claim => wakeup.end_sleep_on(),
        }
        asleep.since.elapsed()
    }

    /// Checks the queue, and either ends the wait or prepares for a sleep. No arrival can be
    /// missed: the wakeup is cleared before the last check.
    pub(super) fn check(
        mut self,
        woken: Option<(SleepResult, Duration)>,
        event: &mut Event,
    ) -> Result<WaitStep<WaitResult, Self>> {
        let inner = &**self.evd.inner();
        let threshold = self.threshold as usize;
        let mut queue = inner.queue.lock();
        let mut queued = queue.collect();
        let mut is_late = false;
        match woken {
            Some((SleepResult::Woken, asleep)) if queued >= threshold => {
                queue.spin_policy.learn_of_sleep(asleep);
            }
            Some((SleepResult::TimedOut, _)) => is_late = true,
            // Most likely the device is gone; upcalls still report whatever arrives.
            Some((SleepResult::Unavailable, _)) => self.beside_device = false,
            Some((SleepResult::Woken, _)) | None => {}
        }
        while queued < threshold && !queue.has_to_go() && !is_late {
            inner.notifier.wakeup.clear();
            if self.beside_device {
                queue.arm_descriptor();
            } else {
                queue.notify(inner.notifier.wanted(self.mode));
            }
            queued = queue.collect();
            if queued < threshold {
                let report = queue.next_report();
                drop(queue);
                let Some(report) = report else { return Ok(WaitStep::Blocked(self)) };
                report();
                queue = inner.queue.lock();
                queued = queue.collect();
            }
        }
        let is_evicted = queue.is_evicted();
        self.is_announced = false;
        withdraw(&self.evd, self.mode, &mut queue);
        let waited = inner.end_wait(&mut queue, self.threshold, queued, is_evicted, event);
        drop(queue);
        waited.map(WaitStep::Done)
    }
}

/// Records that the dispatcher has no waiter.
fn withdraw(evd: &Evd, mode: Mode, queue: &mut Queue) {
    queue.set_waiter(false);
    let _ = queue.notify(evd.inner().notifier.end_wait(mode));
}

impl Drop for BlockedEvdWait {
    fn drop(&mut self) {
        self.wake_up();
        if self.is_announced {
            withdraw(&self.evd, self.mode, &mut self.evd.inner().queue.lock());
        }
    }
}
