//! A wait on an event dispatcher that has to sleep.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_sync::descriptors::Beacon;
use dat_sync::futex::Expected;
#[cfg(not(all(test, loom)))]
use dat_sync::futex::WordPair;

use super::Evd;
use super::queue::Queue;
use super::streams::Mode;
use super::wait::WaitResult;
#[cfg(not(all(test, loom)))]
use crate::blocking::SleepOn;
use crate::blocking::{SleepResult, WaitStep, time_left};
use crate::claim::{self, Claim, bounded};
use crate::counters::EvdCounter;
use crate::error::Result;
use crate::event::Event;
use crate::link_sleep::LinkSleep;
use crate::sync::await_readable;

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
    /// The connection that the thread sleeps on and then reads. Only without a claim.
    pub(super) link: Option<LinkSleep>,
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
    /// As one on the wake word, which has this value.
    Word(u32),
    /// As one on a descriptor of the claim or of the sleep on a connection.
    Descriptor,
}

/// The objects that a thread sleeps on.
pub(crate) enum Objects<'a> {
    /// Descriptors of connections. Another thread wakes the sleeper by the first one.
    Connections(&'a Arc<Beacon>, [BorrowedFd<'a>; 2]),
    /// A word of a connection, and the wake word.
    ConnectionWord(Expected<'a>),
    /// The descriptors of the wakeup and of a device.
    Device([BorrowedFd<'a>; 2]),
    /// The wake word.
    WakeWord,
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
        let is_on_connections = self.claim.is_some() || self.link.is_some();
        claim::limit(is_on_connections, time_left(self.deadline))
    }

    /// Begins the sleep: returns what to sleep on, or `None` if the thread must not sleep.
    #[cfg(not(all(test, loom)))]
    pub fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        let announced = self.announce()?;
        self.asleep = Some(self.fall_asleep(announced));
        let word = self.evd.inner().notifier.wakeup.word();
        Some(match (self.objects(), announced) {
            (Objects::Connections(_, both) | Objects::Device(both), _) => {
                SleepOn::Descriptors(both)
            }
            (Objects::ConnectionWord(shared), Announced::Word(seen)) => {
                SleepOn::Words(WordPair { own: Expected { word, seen }, shared })
            }
            (_, Announced::Word(seen)) => SleepOn::Word { word, seen },
            _ => return None,
        })
    }

    /// Announces the sleep to the wakeup, unless the thread must not sleep.
    fn announce(&self) -> Option<Announced> {
        let wakeup = &self.evd.inner().notifier.wakeup;
        match self.objects() {
            Objects::Connections(wake, _) => {
                wakeup.begin_sleep_on(wake).then_some(Announced::Descriptor)
            }
            Objects::Device(_) => Some(Announced::No),
            Objects::ConnectionWord(_) | Objects::WakeWord => {
                wakeup.begin_sleep().map(Announced::Word)
            }
        }
    }

    fn objects(&self) -> Objects<'_> {
        match (&self.claim, self.link.as_ref().map(LinkSleep::objects)) {
            (Some(claim), _) => Objects::Connections(claim.wake(), claim.descriptors()),
            (None, Some(objects)) => objects,
            (None, None) => self.descriptors().map_or(Objects::WakeWord, Objects::Device),
        }
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
        let wakeup = &self.evd.inner().notifier.wakeup;
        if matches!(self.objects(), Objects::WakeWord) {
            self.asleep = Some(self.fall_asleep(Announced::No));
            return wakeup.sleep(self.deadline);
        }
        let Some(announced) = self.announce() else { return SleepResult::Woken };
        self.asleep = Some(self.fall_asleep(announced));
        match (self.objects(), announced) {
            (Objects::Connections(_, [own, links]), _) => {
                await_readable(own, links, bounded(self.deadline))
            }
            (Objects::ConnectionWord(shared), Announced::Word(seen)) => {
                wakeup.sleep_on_words(seen, shared, bounded(self.deadline))
            }
            (Objects::Device([_, device]), _) => wakeup.sleep_beside(device, self.deadline),
            _ => SleepResult::Woken,
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
        let outcome = match &self.link {
            Some(_) => claim::outcome_after(outcome, time_left),
            None => Claim::advance_after(&mut self.claim, outcome, time_left),
        };
        self.check(Some((outcome, asleep)), event)
    }

    /// Ends the sleep; returns its duration.
    fn wake_up(&mut self) -> Duration {
        let Some(asleep) = self.asleep.take() else { return Duration::ZERO };
        let wakeup = &self.evd.inner().notifier.wakeup;
        match asleep.announced {
            Announced::No => {}
            Announced::Word(_) => _ = wakeup.end_sleep(),
            Announced::Descriptor => wakeup.end_sleep_on(),
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
        if woken.is_some() && self.link.is_some() {
            // This thread reads the connection, and needs no upcall until it sleeps again.
            queue.notify(inner.notifier.wanted_besides_waiter(self.mode));
        }
        let mut queued = queue.collect();
        let mut is_late = false;
        match woken {
            Some((SleepResult::Woken, asleep)) if queued >= threshold => {
                queue.spin_policy.record_sleep(asleep);
            }
            Some((SleepResult::TimedOut, _)) => is_late = true,
            // Most likely the device or the connection is gone; upcalls still report whatever arrives.
            Some((SleepResult::Unavailable, _)) => {
                self.beside_device = false;
                end_link_sleep(&mut self.link, &mut queue);
            }
            Some((SleepResult::Woken, _)) | None => {}
        }
        while queued < threshold && !queue.has_to_go() && !is_late {
            inner.notifier.wakeup.clear();
            if self.beside_device {
                queue.arm_descriptor();
            } else {
                sleep_on_link_again(&mut self.link, &mut queue);
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
        end_link_sleep(&mut self.link, &mut queue);
        withdraw(&self.evd, self.mode, &mut queue);
        let waited = inner.end_wait(&mut queue, self.threshold, queued, is_evicted, event);
        drop(queue);
        waited.map(WaitStep::Done)
    }
}

/// Prepares the next sleep on the connection, if the thread may still sleep on one. It keeps the wake-up object.
fn sleep_on_link_again(link: &mut Option<LinkSleep>, queue: &mut Queue) {
    let Some(sleep) = link else { return };
    match queue.begin_sleep().map(|target| sleep.set_target(target)) {
        Some(true) => {}
        Some(false) => end_link_sleep(link, queue),
        None => *link = None,
    }
}

/// The thread sleeps no more on the connection.
fn end_link_sleep(link: &mut Option<LinkSleep>, queue: &mut Queue) {
    if link.take().is_some() {
        queue.end_sleep();
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
            let mut queue = self.evd.inner().queue.lock();
            end_link_sleep(&mut self.link, &mut queue);
            withdraw(&self.evd, self.mode, &mut queue);
        }
    }
}
