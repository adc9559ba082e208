//! Waiting on an event dispatcher, and arming its descriptor.

use std::cell::LazyCell;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::streams::Mode;
use super::{EvdInner, EventDispatcher};
use crate::counters::EvdCounter;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::event::Event;
use crate::signal::Slept;
use crate::timeout::Timeout;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// An event was delivered.
    Event {
        /// How many more are on the queue.
        more: u32,
    },
    /// The time-out passed first (`DAT_TIMEOUT_EXPIRED`).
    TimedOut {
        /// How many events are on the queue, fewer than the threshold.
        queued: u32,
    },
}

impl Waited {
    /// Whether an event was delivered.
    #[must_use]
    pub const fn is_event(self) -> bool {
        matches!(self, Self::Event { .. })
    }
}

const WAIT: &str = "dat_evd_wait";

impl EventDispatcher {
    /// Waits until at least `threshold` events are queued and takes the first
    /// (dat_evd_wait(3DAT)). The waiting thread owns the dispatcher meanwhile.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a threshold of 0 or above the queue's length;
    /// `DAT_INVALID_STATE` when another thread waits, when the dispatcher is unwaitable or
    /// becomes so, or for a threshold above 1 when its streams decide over notification;
    /// `DAT_ABORT` when the adapter was closed meanwhile; `DAT_INVALID_HANDLE` when it was
    /// freed.
    pub fn wait(&self, timeout: Timeout, threshold: u32, event: &mut Event) -> Result<Waited> {
        let inner = &*self.inner;
        // Who is answered soon needs no clock.
        let deadline = LazyCell::new(|| timeout.deadline());
        let begin_to_count = || _ = LazyCell::force(&deadline);
        if let Some(more) = inner.wait_awake(timeout, threshold, event, begin_to_count) {
            if more == 0 {
                inner.alarm.drained();
            }
            return Ok(Waited::Event { more: count(more) });
        }
        let mode = inner.streams.lock().mode();
        inner.tally().count(EvdCounter::Wait);
        let mut queue = inner.queue.lock();
        if queue.is_taken() {
            return Err(inner.taken(&queue, WAIT));
        }
        if queue.is_unwaitable() {
            return Err(inner.unwaitable());
        }
        inner.check_threshold(threshold, queue.capacity(), mode)?;
        let threshold = threshold as usize;
        let mut queued = queue.collect();
        let mut evicted = false;
        if queued < threshold && !timeout.is_zero() {
            queue.set_waiter(true);
            inner.alarm.begin_wait();
            let mut arrivals = inner.arrivals(mode);
            // The lock was held since the last look, so nobody has rung since.
            while queued < threshold && !queue.has_to_go() {
                inner.alarm.bell.silence();
                if arrivals.is_some() {
                    queue.watch();
                } else {
                    queue.notify(inner.alarm.wanted(mode));
                }
                queued = queue.collect();
                if queued >= threshold {
                    break;
                }
                drop(queue);
                inner.tally().count(EvdCounter::WaitBlocked);
                let asleep = Instant::now();
                let slept = match arrivals {
                    Some(arrivals) => inner.alarm.bell.sleep_beside(arrivals, *deadline),
                    None => inner.alarm.bell.sleep(*deadline),
                };
                inner.tally().count(EvdCounter::WaitNotify);
                queue = inner.queue.lock();
                queued = queue.collect();
                match slept {
                    Slept::Woken if queued >= threshold => {
                        queue.patience.learn_of_sleep(asleep.elapsed());
                    }
                    Slept::Woken => {}
                    Slept::Late => break,
                    // Its device is gone, most likely; what is still told is told by upcalls.
                    Slept::Useless => arrivals = None,
                }
            }
            evicted = queue.is_evicted();
            queue.set_waiter(false);
            let _ = queue.notify(inner.alarm.end_wait(mode));
        }
        if queue.is_dead() {
            let error = Error::new(ReturnType::Abort, Subtype::NoSubtype);
            return Err(inner.base.describe(error, WAIT));
        }
        if evicted {
            return Err(inner.unwaitable());
        }
        if queued >= threshold && queue.take_first(event) {
            inner.count_receive(event);
            if queued == 1 {
                inner.alarm.drained();
            }
            return Ok(Waited::Event { more: count(queued - 1) });
        }
        Ok(Waited::TimedOut { queued: count(queued) })
    }

    /// Arms the descriptor for an event loop and looks once more: `true` when events are
    /// queued already, so do not sleep. After `false` the descriptor becomes readable with
    /// the next event; no event can slip in between.
    ///
    /// ```no_run
    /// # fn readable(_: std::os::fd::BorrowedFd<'_>) {}
    /// # fn example(evd: &dat_core::EventDispatcher) -> dat_core::Result<()> {
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
        const ARM: &str = "EventDispatcher::arm";
        let inner = &*self.inner;
        let mode = inner.streams.lock().mode();
        let mut queue = inner.queue.lock();
        if queue.is_taken() {
            return Err(inner.taken(&queue, ARM));
        }
        inner.alarm.set_armed(true);
        inner.alarm.bell.silence();
        let ready = queue.notify(inner.alarm.wanted(mode));
        Ok(queue.collect() > 0 || ready)
    }

    /// Stops what [`EventDispatcher::arm`] began, so that arrivals cost nothing again.
    pub fn disarm(&self) {
        self.inner.alarm.set_armed(false);
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
        self.inner.alarm.bell.ring();
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
    /// Where completions show, when a waiter can sleep on that and on the bell at once.
    fn arrivals(&self, mode: Mode) -> Option<BorrowedFd<'_>> {
        if mode != Mode::Threshold {
            // Not every completion ends the wait there, but any can show.
            return None;
        }
        let descriptor = self.descriptor.as_deref()?.as_fd();
        self.alarm.bell.fd().is_ok().then_some(descriptor)
    }

    fn check_threshold(&self, threshold: u32, capacity: usize, mode: Mode) -> Result<()> {
        let error = if threshold == 0 || threshold as usize > capacity {
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
                .because(format!(
                    "threshold {threshold} is not within 1 and the queue's {capacity}"
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
