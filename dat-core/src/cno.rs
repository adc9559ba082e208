//! Consumer notification objects: one place to wait for many event dispatchers.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

#[cfg(not(all(test, loom)))]
use crate::blocking::SleepOn;
use crate::blocking::{WaitOutcome, WaitStep, time_left};
use crate::deferred_upcalls;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{EvdInner, EventDispatcher};
use crate::ia::{InterfaceAdapter, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::sync::{Mutex, WakeWord};
use crate::timeout::Timeout;
use crate::wakeup::Wakeup;

const WAIT: &str = "dat_cno_wait";

/// A consumer notification object (dat_cno_create(3DAT)): the event dispatchers attached to it
/// trigger it when events arrive that no waiter of their own takes.
#[derive(Clone)]
pub struct Cno {
    inner: Arc<CnoInner>,
}

/// Called at each trigger, in the thread that brought the event (`DAT_OS_WAIT_PROXY_AGENT`), at the
/// end of the control call that did, if there was one. It gets the dispatcher that triggered, or
/// none when the notification object ends or the last of its dispatchers was freed. It must not
/// block: other events may wait for its return.
pub type ProxyAgent = Arc<dyn Fn(Option<EventDispatcher>) + Send + Sync>;

pub(crate) struct CnoInner {
    pub(crate) base: Base,
    state: Mutex<State>,
    /// What waiters sleep on.
    wake: WakeWord,
    /// For the descriptor alone: rung while a trigger waits to be taken.
    wakeup: Wakeup,
}

#[derive(Default)]
struct State {
    /// The dispatcher that triggered last and was not reported yet.
    hint: Option<Weak<EvdInner>>,
    triggered: bool,
    waiters: u32,
    /// How many times the last of its dispatchers was freed: each ends the waits before it.
    deserted: u64,
    dead: bool,
    agent: Option<ProxyAgent>,
}

object_handle!(Cno, CnoInner);

impl InterfaceAdapter {
    /// Makes a notification object (dat_cno_create(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when the adapter was closed.
    pub fn cno_create(&self, agent: Option<ProxyAgent>) -> Result<Cno> {
        const CREATE: &str = "dat_cno_create";
        let base = self.inner().new_object(ObjectKind::Cno, CREATE)?;
        let state = Mutex::new(State { agent, ..State::default() });
        let wake = WakeWord::default();
        let inner = Arc::new(CnoInner { base, state, wake, wakeup: Wakeup::default() });
        self.inner().insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Cno { inner })
    }
}

impl InterfaceAdapter {
    /// Makes a notification object whose descriptor exists from the start
    /// (dat_cno_fd_create of DAT 2.0): see [`Cno::fd`].
    ///
    /// # Errors
    /// As [`cno_create`](Self::cno_create); `DAT_INSUFFICIENT_RESOURCES` when the process has no
    /// descriptor left.
    pub fn cno_fd_create(&self) -> Result<Cno> {
        const CREATE: &str = "dat_cno_fd_create";
        let cno = self.cno_create(None).map_err(|error| error.during(CREATE))?;
        cno.fd().map_err(|error| error.during(CREATE))?;
        Ok(cno)
    }
}

impl Cno {
    pub(crate) fn inner(&self) -> &Arc<CnoInner> {
        &self.inner
    }

    pub(crate) fn from_inner(inner: &Arc<CnoInner>) -> Self {
        Self { inner: Arc::clone(inner) }
    }

    /// Waits for a trigger (dat_cno_wait(3DAT)). Returns the dispatcher that triggered, as a
    /// hint: every dispatcher attached is to be looked at. `None` when the adapter was closed,
    /// the dispatcher was freed, or all that were attached were.
    ///
    /// # Errors
    /// `DAT_QUEUE_EMPTY` when the time-out passed without a trigger; `DAT_INVALID_HANDLE` when
    /// the object was freed.
    pub fn wait(&self, timeout: Timeout) -> Result<Option<EventDispatcher>> {
        let mut step = self.start_wait(timeout)?;
        loop {
            match step {
                WaitStep::Done(hint) => return Ok(hint),
                WaitStep::Blocked(blocked) => {
                    let outcome = blocked.sleep();
                    step = blocked.resume(outcome)?;
                }
            }
        }
    }

    /// As [`wait`](Self::wait), but hands back the sleep, for a caller that sleeps by itself.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn start_wait(
        &self,
        timeout: Timeout,
    ) -> Result<WaitStep<Option<EventDispatcher>, BlockedCnoWait>> {
        let inner = &self.inner;
        let mut state = inner.state.lock();
        if state.dead {
            return Err(inner.base.freed(WAIT));
        }
        if let Some(hint) = inner.take_trigger(&mut state) {
            return Ok(WaitStep::Done(hint));
        }
        if timeout.is_zero() {
            return Err(no_trigger());
        }
        state.waiters += 1;
        Ok(WaitStep::Blocked(BlockedCnoWait {
            cno: self.clone(),
            deserted: state.deserted,
            seen: inner.wake.count(),
            deadline: timeout.deadline(),
        }))
    }

    /// Takes a trigger that came, without waiting: which dispatcher it was, as
    /// [`wait`](Self::wait) (dat_cno_trigger of DAT 2.0). The descriptor is then readable no
    /// more until the next one.
    ///
    /// # Errors
    /// `DAT_QUEUE_EMPTY` when none came; `DAT_INVALID_HANDLE` when the object was freed.
    pub fn trigger(&self) -> Result<Option<EventDispatcher>> {
        self.wait(Timeout::ZERO).map_err(|error| error.during("dat_cno_trigger"))
    }

    /// Gives the object another proxy agent, or none (dat_cno_modify_agent(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn modify_agent(&self, agent: Option<ProxyAgent>) -> Result<()> {
        self.inner.base.check_live("dat_cno_modify_agent")?;
        self.inner.state.lock().agent = agent;
        Ok(())
    }

    /// The descriptor that is readable while a trigger waits to be taken by
    /// [`Cno::wait`] (compare dat_cno_fd_create of DAT 2.0).
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` when the process has no descriptor left.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.inner.wakeup.fd().map_err(|error| {
            let failure = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because("cannot create an event descriptor")
                .advise("raise the limit on open files (`ulimit -n`)")
                .errno(error.raw_os_error().unwrap_or(0));
            self.inner.base.describe(failure, "Cno::fd")
        })
    }

    /// Frees the object (dat_cno_free(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a dispatcher refers to it or a thread waits on it;
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        const FREE: &str = "dat_cno_free";
        let mut state = self.inner.state.lock();
        if state.waiters > 0 {
            let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateCnoInUse)
                .because("a thread is waiting on it")
                .advise(
                    "wake it first, for example with a software event on an attached \
                     dispatcher",
                );
            return Err(self.inner.base.describe(error, FREE));
        }
        self.inner.base.retire(FREE, Subtype::InvalidStateCnoInUse)?;
        state.dead = true;
        state.agent = None;
        // An event loop that sleeps on the descriptor has to hear of it.
        self.inner.wakeup.signal();
        drop(state);
        self.inner.base.leave();
        Ok(())
    }
}

impl CnoInner {
    /// Takes the trigger that came, if one did: the dispatcher, unless it was freed since.
    fn take_trigger(&self, state: &mut State) -> Option<Option<EventDispatcher>> {
        if !std::mem::take(&mut state.triggered) {
            return None;
        }
        if !state.dead {
            self.wakeup.clear();
        }
        let hint = state.hint.take().and_then(|evd| evd.upgrade());
        let hint = hint.filter(|evd| evd.base.lifecycle.is_live());
        Some(hint.map(|evd| EventDispatcher::from_inner(&evd)))
    }

    /// An event arrived at a dispatcher that nobody waits on.
    pub(crate) fn trigger(&self, evd: &Weak<EvdInner>) {
        let agent = {
            let mut state = self.state.lock();
            state.triggered = true;
            state.hint = Some(evd.clone());
            self.wakeup.signal();
            let agent = state.agent.clone();
            let has_waiters = state.waiters > 0;
            drop(state);
            if has_waiters {
                self.wake.wake_one();
            }
            agent
        };
        if let Some(agent) = agent {
            let evd = evd.clone();
            deferred_upcalls::run_or_defer(move || {
                agent(evd.upgrade().map(|evd| EventDispatcher::from_inner(&evd)));
            });
        }
    }

    /// A dispatcher that referred to it was freed. With the last one all waits end, and the
    /// proxy agent is told (dat_cno_wait(3DAT)).
    pub(crate) fn dispatcher_freed(&self) {
        if self.base.lifecycle.uses() > 0 || !self.base.lifecycle.is_live() {
            return;
        }
        let agent = {
            let mut state = self.state.lock();
            state.deserted += 1;
            self.wake.wake_all();
            state.agent.clone()
        };
        if let Some(agent) = agent {
            deferred_upcalls::run_or_defer(move || agent(None));
        }
    }
}

impl Object for CnoInner {
    const KIND: ObjectKind = ObjectKind::Cno;

    fn abandon(&self) {
        self.base.lifecycle.force();
        let agent = {
            let mut state = self.state.lock();
            state.dead = true;
            self.wakeup.signal();
            self.wake.wake_all();
            state.agent.take()
        };
        if let Some(agent) = agent {
            deferred_upcalls::run_or_defer(move || agent(None));
        }
        self.base.leave();
    }
}

/// A wait whose thread has to sleep; see [`blocking`](crate::blocking). Dropped, it gives the wait
/// up, and no trigger is lost.
#[derive(Debug)]
pub struct BlockedCnoWait {
    cno: Cno,
    /// What was counted when the wait began.
    deserted: u64,
    /// The count of the word to sleep on, when there was nothing to take.
    seen: u32,
    deadline: Option<Instant>,
}

impl BlockedCnoWait {
    /// How long to sleep at the most; without end if there is none.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        time_left(self.deadline)
    }

    /// What to sleep on.
    #[cfg(not(all(test, loom)))]
    #[must_use]
    pub fn sleep_on(&self) -> SleepOn<'_> {
        SleepOn::Word { word: self.cno.inner.wake.word(), seen: self.seen }
    }

    fn sleep(&self) -> WaitOutcome {
        let in_time = self.cno.inner.wake.sleep(self.seen, self.deadline);
        if in_time { WaitOutcome::Woken } else { WaitOutcome::TimedOut }
    }

    /// Goes on after a sleep: takes the trigger, or says how the wait ended, or has to sleep
    /// again.
    ///
    /// # Errors
    /// As [`Cno::wait`].
    pub fn resume(
        mut self,
        outcome: WaitOutcome,
    ) -> Result<WaitStep<Option<EventDispatcher>, Self>> {
        let inner = &self.cno.inner;
        let mut state = inner.state.lock();
        if let Some(hint) = inner.take_trigger(&mut state) {
            return Ok(WaitStep::Done(hint));
        }
        if state.dead || state.deserted != self.deserted {
            return Ok(WaitStep::Done(None));
        }
        if outcome == WaitOutcome::TimedOut {
            return Err(no_trigger());
        }
        let seen = inner.wake.count();
        drop(state);
        self.seen = seen;
        Ok(WaitStep::Blocked(self))
    }
}

impl Drop for BlockedCnoWait {
    fn drop(&mut self) {
        let inner = &self.cno.inner;
        let mut state = inner.state.lock();
        state.waiters -= 1;
        // A wake-up is for one waiter: another one takes the trigger that this one leaves.
        let pass_on = state.triggered && state.waiters > 0;
        drop(state);
        if pass_on {
            inner.wake.wake_one();
        }
    }
}

fn no_trigger() -> Error {
    Error::new(ReturnType::QueueEmpty, Subtype::NoSubtype).during(WAIT)
}

impl AsFd for Cno {
    /// As [`Cno::fd`]; when the process has no descriptor left, one that is always readable:
    /// its user polls and loses nothing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.wakeup.fd_or_always_ready()
    }
}
