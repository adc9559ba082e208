//! Waiting on an event dispatcher, and arming its descriptor.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::blocked::BlockedEvdWait;
use super::queue::Queue;
use super::streams::Mode;
use super::{Evd, EvdInner};
use crate::blocking::{WaitDeadline, WaitStep};
use crate::claim::{Claim, ClaimableProgress};
use crate::counters::EvdCounter;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::flags::EvdFlags;
use crate::link_sleep::LinkSleep;
use crate::provider::plain_success::PlainSuccess;
use crate::timeout::Timeout;

/// How a wait ended.
///
/// ```
/// use dat_core::{EvdFlags, EvdOptions, Event, Timeout, WaitResult};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
/// let mut event = Event::default();
/// evd.post_software_event(1)?;
/// assert_eq!(evd.wait(Timeout::ZERO, 2, &mut event)?, WaitResult::TimedOut { queued: 1 });
/// evd.post_software_event(2)?;
/// assert_eq!(evd.wait(Timeout::ZERO, 2, &mut event)?, WaitResult::Event { more: 1 });
/// assert_eq!(event, Event::Software(1));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitResult {
    /// An event was delivered.
    Event {
        /// Number of events left on the queue.
        more: u32,
    },
    /// The time-out expired first (`DAT_TIMEOUT_EXPIRED`).
    TimedOut {
        /// Number of events on the queue, fewer than the threshold.
        queued: u32,
    },
}

impl WaitResult {
    /// Returns true if an event was delivered.
    #[must_use]
    pub const fn is_event(self) -> bool {
        matches!(self, Self::Event { .. })
    }
}

const WAIT: &str = "dat_evd_wait";

impl Evd {
    /// Waits until at least `threshold` events are queued and takes the first (dat_evd_wait(3DAT)).
    /// During the wait the thread owns the dispatcher.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a threshold of 0 or above the queue's capacity;
    /// `DAT_INVALID_STATE` if another thread waits, if the dispatcher is unwaitable or becomes so,
    /// or for a threshold above 1 if posters or senders decide about notification; `DAT_ABORT` if
    /// the adapter is closed during the wait; `DAT_INVALID_HANDLE` when the dispatcher was freed.
    pub fn wait(&self, timeout: Timeout, threshold: u32, event: &mut Event) -> Result<WaitResult> {
        let deadline = WaitDeadline::new(timeout);
        let mut success = PlainSuccess::default();
        if let Some(more) = self.spin_wait(&deadline, threshold, &mut success) {
            event.complete_dto(success.into());
            return Ok(WaitResult::Event { more });
        }
        let mut step = self.start_wait(&deadline, threshold, event)?;
        loop {
            match step {
                WaitStep::Done(waited) => return Ok(waited),
                WaitStep::Blocked(mut blocked) => {
                    let outcome = blocked.sleep();
                    step = blocked.resume(outcome, event)?;
                }
            }
        }
    }

    /// The spin phase of a [`wait`](Self::wait), before other threads see the waiter: takes the
    /// first event into `into` if it arrives soon and is a plain success; returns the number of
    /// events left. After `None` the wait continues with [`start_wait`](Self::start_wait).
    #[doc(hidden)]
    #[inline(always)]
    pub fn spin_wait(
        &self,
        deadline: &WaitDeadline,
        threshold: u32,
        into: &mut PlainSuccess,
    ) -> Option<u32> {
        let more = self.inner.spin_wait(deadline, threshold, into)?;
        if more == 0 {
            self.inner.notifier.drained();
        }
        Some(count(more))
    }

    /// Takes ownership of the dispatcher, unless the wait ends at once. The caller sleeps by
    /// itself: see [`blocking`](crate::blocking).
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[inline(never)]
    pub fn start_wait(
        &self,
        deadline: &WaitDeadline,
        threshold: u32,
        event: &mut Event,
    ) -> Result<WaitStep<WaitResult, BlockedEvdWait>> {
        let inner = &*self.inner;
        inner.base.check_process(WAIT)?;
        let mode = inner.streams.lock().mode();
        inner.counter_set().count(EvdCounter::Wait);
        let mut queue = loop {
            let mut queue = inner.queue.lock();
            if queue.is_taken() {
                return Err(inner.taken(&queue, WAIT));
            }
            if queue.is_unwaitable() {
                return Err(inner.unwaitable());
            }
            inner.check_threshold(threshold, queue.capacity(), mode)?;
            let queued = queue.collect();
            if let Some(report) = queue.next_report() {
                drop(queue);
                report();
                continue;
            }
            if queued >= threshold as usize || deadline.timeout().is_zero() {
                return inner
                    .end_wait(&mut queue, threshold, queued, false, event)
                    .map(WaitStep::Done);
            }
            break queue;
        };
        queue.set_waiter(true);
        inner.notifier.begin_wait();
        let beside_device = inner.arrivals(mode).is_some();
        // In the other modes not every completion that the progress brings ends the wait.
        let may_claim = mode == Mode::Threshold && !beside_device;
        let progress = inner.base.ia.progress.as_ref().filter(|_| may_claim);
        let link = progress.and_then(|progress| inner.sleep_on_link(progress, &mut queue));
        drop(queue);
        let claim = Claim::new(progress.filter(|_| link.is_none()));
        if let Some(claim) = claim.as_ref().filter(|_| inner.may_spin_with_progress()) {
            inner.spin_with_progress(claim, deadline.timeout(), threshold as usize);
        }
        let blocked = BlockedEvdWait {
            evd: self.clone(),
            mode,
            threshold,
            deadline: deadline.instant(),
            beside_device,
            claim,
            link,
            asleep: None,
            is_announced: true,
        };
        blocked.check(None, event)
    }

    /// Arms the descriptor for an event loop and checks the queue: `true` if events are queued
    /// already, in which case the caller must not sleep. After `false` the next event makes the
    /// descriptor readable; no event can be missed in between.
    ///
    /// ```no_run
    /// # fn readable(_: std::os::fd::BorrowedFd<'_>) {}
    /// # fn example(evd: &dat_core::Evd) -> dat_core::Result<()> {
    /// use std::os::fd::AsFd;
    /// let mut event = dat_core::Event::default();
    /// loop {
    ///     while evd.dequeue(&mut event)? {
    ///         // use the event
    ///     }
    ///     if !evd.arm()? {
    ///         readable(evd.as_fd()); // poll(2), epoll(7) or an event loop
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a thread waits on the dispatcher; `DAT_INVALID_HANDLE` when
    /// it was freed.
    pub fn arm(&self) -> Result<bool> {
        const ARM: &str = "Evd::arm";
        let inner = &*self.inner;
        inner.base.check_process(ARM)?;
        let mode = inner.streams.lock().mode();
        let mut queue = inner.queue.lock();
        if queue.is_taken() {
            return Err(inner.taken(&queue, ARM));
        }
        inner.notifier.set_armed(true);
        inner.notifier.wakeup.clear();
        let ready = queue.notify(inner.notifier.wanted(mode));
        Ok(queue.collect() > 0 || queue.has_report() || ready)
    }

    /// Reverts [`Evd::arm`], so that arrivals no longer signal the descriptor.
    pub fn disarm(&self) {
        if !self.inner.base.ia.process.is_current() {
            return;
        }
        self.inner.notifier.set_armed(false);
        self.inner.refresh_notify();
    }

    /// Keeps threads from waiting; a thread that waits now returns with `DAT_INVALID_STATE`
    /// (dat_evd_set_unwaitable(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn set_unwaitable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_set_unwaitable")?;
        self.inner.queue.lock().set_unwaitable(true);
        self.inner.notifier.wakeup.signal();
        Ok(())
    }

    /// Lets threads wait again (dat_evd_clear_unwaitable(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn clear_unwaitable(&self) -> Result<()> {
        self.inner.base.check_live("dat_evd_clear_unwaitable")?;
        self.inner.queue.lock().set_unwaitable(false);
        Ok(())
    }
}

impl EvdInner {
    /// The descriptor of the completion queue, if a waiter can sleep on it and on the wakeup at
    /// once.
    pub(super) fn arrivals(&self, mode: Mode) -> Option<BorrowedFd<'_>> {
        if mode != Mode::Threshold {
            // In this mode not every completion ends the wait, but any may make the descriptor
            // readable.
            return None;
        }
        let descriptor = self.descriptor.as_deref()?.as_fd();
        self.notifier.wakeup.fd().is_ok().then_some(descriptor)
    }

    /// The connection on which a waiter may sleep, if its dispatcher has one only, and completions alone. Events of
    /// connections come from the progress of the adapter.
    fn sleep_on_link(
        &self,
        progress: &Arc<ClaimableProgress>,
        queue: &mut Queue,
    ) -> Option<LinkSleep> {
        let has_connections =
            self.flags.intersects(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST);
        let target = if has_connections { None } else { queue.begin_sleep() }?;
        let sleep = LinkSleep::new(progress, target);
        if sleep.is_none() {
            queue.end_sleep();
        }
        sleep
    }

    /// The result of a wait that ends with `queued` events.
    pub(super) fn end_wait(
        &self,
        queue: &mut Queue,
        threshold: u32,
        queued: usize,
        is_evicted: bool,
        event: &mut Event,
    ) -> Result<WaitResult> {
        if queue.is_dead() {
            let error = Error::new(ReturnType::Abort, Subtype::NoSubtype);
            return Err(self.base.describe(error, WAIT));
        }
        if is_evicted {
            return Err(self.unwaitable());
        }
        if queued >= threshold as usize && queue.take_first(event) {
            self.count_receive(event);
            if queued == 1 {
                self.notifier.drained();
            }
            return Ok(WaitResult::Event { more: count(queued - 1) });
        }
        Ok(WaitResult::TimedOut { queued: count(queued) })
    }

    fn check_threshold(&self, threshold: u32, capacity: usize, mode: Mode) -> Result<()> {
        let error = if threshold == 0 || threshold as usize > capacity {
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
                .because(format!(
                    "threshold {threshold} is not between 1 and the queue length of {capacity}"
                ))
                .advise("wait for fewer events, or resize the queue")
        } else if threshold > 1 && mode != Mode::Threshold {
            let subtype = match mode {
                Mode::Solicited => Subtype::InvalidStateEvdConfigSolicited,
                _ => Subtype::InvalidStateEvdConfigNotify,
            };
            Error::new(ReturnType::InvalidState, subtype)
        } else {
            return Ok(());
        };
        Err(self.base.describe(error, WAIT))
    }

    #[cold]
    fn unwaitable(&self) -> Error {
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEvdUnwaitable);
        self.base.describe(error, WAIT)
    }
}

fn count(events: usize) -> u32 {
    u32::try_from(events).unwrap_or(u32::MAX)
}
