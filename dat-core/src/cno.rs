//! Consumer notification objects: one object on which to wait for many event dispatchers.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

#[cfg(not(all(test, loom)))]
use crate::blocking::SleepOn;
use crate::blocking::{SleepResult, WaitStep, time_left};
use crate::claim::{self, Claim};
use crate::deferred_upcalls;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{Evd, EvdInner};
use crate::ia::{Ia, Object};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::sync::{Mutex, WakeWord};
use crate::timeout::Timeout;
use crate::wakeup::Wakeup;

const WAIT: &str = "dat_cno_wait";

/// A consumer notification object (dat_cno_create(3DAT)): the event dispatchers attached to it
/// trigger it when an event arrives and no thread waits on the dispatcher.
///
/// ```
/// # use dat_core::registry::Registry;
/// use dat_core::{EvdFlags, EvdOptions, Event};
/// use std::time::Duration;
/// # let registry = Registry::new();
/// # registry.add_provider(std::sync::Arc::new(dat_core::provider::stub::StubProvider))?;
/// # let ia = registry.open("stub")?;
/// // One thread waits for two dispatchers.
/// let cno = ia.cno_create(None)?;
/// let options = EvdOptions::new(16, EvdFlags::SOFTWARE).with_cno(&cno);
/// let (first, second) = (ia.evd_create(&options)?, ia.evd_create(&options)?);
/// second.post_software_event(7)?;
/// let woken = cno.wait(Duration::from_secs(1).into())?.expect("a dispatcher with an event");
/// assert_eq!(woken.id(), second.id());
/// assert!(woken.queued_events().eq([Ok(Event::Software(7))]));
/// # drop(first);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Cno {
    inner: Arc<CnoInner>,
}

/// Called at each trigger, in the thread that delivered the event (`DAT_OS_WAIT_PROXY_AGENT`); if
/// that thread is in a control call, at the end of that call. The argument is the dispatcher that
/// triggered, or `None` when the notification object ends or the last of its dispatchers was freed.
/// The agent must not block, because other events may wait for its return.
///
/// ```
/// use dat_core::{EvdFlags, EvdOptions, Evd, ProxyAgent};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
///
/// let triggers = Arc::new(AtomicU32::new(0));
/// let counted = Arc::clone(&triggers);
/// let agent: ProxyAgent = Arc::new(move |evd: Option<Evd>| {
///     counted.fetch_add(u32::from(evd.is_some()), Ordering::Relaxed);
/// });
/// let cno = ia.cno_create(Some(agent))?;
/// let evd = ia.evd_create(&EvdOptions::new(4, EvdFlags::SOFTWARE).with_cno(&cno))?;
/// evd.post_software_event(1)?;
/// assert_eq!(triggers.load(Ordering::Relaxed), 1);
/// # Ok::<(), dat_core::Error>(())
/// ```
pub type ProxyAgent = Arc<dyn Fn(Option<Evd>) + Send + Sync>;

pub(crate) struct CnoInner {
    pub(crate) base: Base,
    state: Mutex<State>,
    /// The wake-up object on which waiters sleep.
    wake: WakeWord,
    /// Used only for the descriptor: signalled while a trigger waits to be taken.
    wakeup: Wakeup,
}

#[derive(Default)]
struct State {
    /// The dispatcher that triggered last and has not been reported.
    hint: Option<Weak<EvdInner>>,
    triggered: bool,
    waiters: u32,
    /// True if one of the waiters makes the progress of the adapter. It is woken first.
    is_claimed: bool,
    /// How many times the last attached dispatcher was freed. Each time ends the waits begun
    /// before.
    deserted: u64,
    dead: bool,
    agent: Option<ProxyAgent>,
}

object_handle!(Cno, shared CnoInner);

/// An agent is called by the thread that brings an event, which must not be a waiter.
fn note_agent(base: &Base, agent: Option<&ProxyAgent>) {
    if let (Some(_), Some(progress)) = (agent, &base.ia.progress) {
        progress.note_agent();
    }
}

impl Ia {
    /// Creates a notification object (dat_cno_create(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when the adapter was closed.
    pub fn cno_create(&self, agent: Option<ProxyAgent>) -> Result<Cno> {
        const CREATE: &str = "dat_cno_create";
        let base = self.inner().new_object(ObjectKind::Cno, CREATE)?;
        note_agent(&base, agent.as_ref());
        let state = Mutex::new(State { agent, ..State::default() });
        let wake = WakeWord::default();
        let inner = Arc::new(CnoInner { base, state, wake, wakeup: Wakeup::default() });
        self.inner().insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        Ok(Cno { inner })
    }
}

impl Ia {
    /// Creates a notification object with its descriptor (dat_cno_fd_create of DAT 2.0): see
    /// [`Cno::fd`].
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
    /// Waits for a trigger (dat_cno_wait(3DAT)). Returns the dispatcher that triggered as a hint:
    /// the caller should check every attached dispatcher. `None` if the adapter was closed, the
    /// dispatcher was freed, or all attached dispatchers were.
    ///
    /// # Errors
    /// `DAT_QUEUE_EMPTY` when the time-out passed without a trigger; `DAT_INVALID_HANDLE` when
    /// the object was freed.
    pub fn wait(&self, timeout: Timeout) -> Result<Option<Evd>> {
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

    /// As [`wait`](Self::wait), but returns the blocked wait to a caller that sleeps by itself.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn start_wait(&self, timeout: Timeout) -> Result<WaitStep<Option<Evd>, BlockedCnoWait>> {
        let inner = &self.inner;
        inner.base.check_process(WAIT)?;
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
        let mut blocked = BlockedCnoWait {
            cno: self.clone(),
            deserted: state.deserted,
            seen: inner.wake.count(),
            deadline: timeout.deadline(),
            claim: None,
        };
        drop(state);
        blocked.claim = Claim::new(inner.base.ia.progress.as_ref());
        if blocked.claim.is_some() {
            inner.state.lock().is_claimed = true;
        }
        Ok(WaitStep::Blocked(blocked))
    }

    /// Takes a pending trigger without waiting, and returns its dispatcher as [`wait`](Self::wait)
    /// does (dat_cno_trigger of DAT 2.0). The descriptor is then not readable until the next
    /// trigger.
    ///
    /// # Errors
    /// `DAT_QUEUE_EMPTY` if there is none; `DAT_INVALID_HANDLE` when the object was freed.
    pub fn trigger(&self) -> Result<Option<Evd>> {
        self.wait(Timeout::ZERO).map_err(|error| error.during("dat_cno_trigger"))
    }

    /// Replaces the proxy agent, or removes it (dat_cno_modify_agent(3DAT)).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn modify_agent(&self, agent: Option<ProxyAgent>) -> Result<()> {
        self.inner.base.check_live("dat_cno_modify_agent")?;
        note_agent(&self.inner.base, agent.as_ref());
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
        self.inner.base.check_process(FREE)?;
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
        // Wake an event loop that sleeps on the descriptor.
        self.inner.wakeup.signal();
        drop(state);
        self.inner.base.leave();
        Ok(())
    }
}

impl CnoInner {
    /// Takes the pending trigger, if any: its dispatcher, or `None` inside if that was freed since.
    fn take_trigger(&self, state: &mut State) -> Option<Option<Evd>> {
        if !std::mem::take(&mut state.triggered) {
            return None;
        }
        if !state.dead {
            self.wakeup.clear();
        }
        let hint = state.hint.take().and_then(|evd| evd.upgrade());
        let hint = hint.filter(|evd| evd.base.lifecycle.is_live());
        Some(hint.map(|evd| Evd::from_inner(&evd)))
    }

    /// An event arrived at a dispatcher without a waiter.
    pub(crate) fn trigger(&self, evd: &Weak<EvdInner>) {
        let agent = {
            let mut state = self.state.lock();
            state.triggered = true;
            state.hint = Some(evd.clone());
            self.wakeup.signal();
            let agent = state.agent.clone();
            // The wakeup wakes the waiter that has the claim.
            let wakes_one = state.waiters > 0 && !state.is_claimed;
            drop(state);
            if wakes_one {
                self.wake.wake_one();
            }
            agent
        };
        if let Some(agent) = agent {
            let evd = evd.clone();
            deferred_upcalls::run_or_defer(move || {
                agent(evd.upgrade().map(|evd| Evd::from_inner(&evd)));
            });
        }
    }

    /// A dispatcher that referred to it was freed. If it was the last one, all waits end and the
    /// proxy agent is called (dat_cno_wait(3DAT)).
    pub(crate) fn dispatcher_freed(&self) {
        if self.base.lifecycle.uses() > 0 || !self.base.lifecycle.is_live() {
            return;
        }
        let agent = {
            let mut state = self.state.lock();
            state.deserted += 1;
            self.wakeup.wake_sleep_on();
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

/// A wait whose thread has to sleep; see [`blocking`](crate::blocking). Dropping it abandons the wait
/// without losing a trigger.
pub struct BlockedCnoWait {
    cno: Cno,
    /// The value of `deserted` when the wait began.
    deserted: u64,
    /// The value of the wake word when there was nothing to take.
    seen: u32,
    deadline: Option<Instant>,
    /// The progress of the adapter, if the thread makes it itself.
    claim: Option<Claim>,
}

impl std::fmt::Debug for BlockedCnoWait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BlockedCnoWait").field("cno", &self.cno).finish_non_exhaustive()
    }
}

impl BlockedCnoWait {
    /// Maximum time to sleep; `None` means without limit.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        claim::limit(self.claim.is_some(), time_left(self.deadline))
    }

    /// Begins the sleep: returns what to sleep on, or `None` if the thread must not sleep.
    #[cfg(not(all(test, loom)))]
    pub fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        match &self.claim {
            Some(claim) => {
                let may_sleep = self.begin_claimed_sleep(claim);
                may_sleep.then(|| SleepOn::Descriptors(claim.descriptors()))
            }
            None => Some(SleepOn::Word { word: self.cno.inner.wake.word(), seen: self.seen }),
        }
    }

    /// Announces a sleep with the claim, unless the thread must not sleep. The wakeup is signalled while
    /// there is a trigger, and after the end of the object.
    fn begin_claimed_sleep(&self, claim: &Claim) -> bool {
        let inner = &self.cno.inner;
        let state = inner.state.lock();
        state.deserted == self.deserted && inner.wakeup.begin_sleep_on(claim.wake())
    }

    fn sleep(&self) -> SleepResult {
        if let Some(claim) = &self.claim {
            let slept = self.begin_claimed_sleep(claim).then(|| claim.sleep(self.deadline));
            return slept.unwrap_or(SleepResult::Woken);
        }
        let in_time = self.cno.inner.wake.sleep(self.seen, self.deadline);
        if in_time { SleepResult::Woken } else { SleepResult::TimedOut }
    }

    /// Ends a sleep with the claim, if there was one.
    fn wake_up(&self) {
        if self.claim.is_some() {
            self.cno.inner.wakeup.end_sleep_on();
        }
    }

    /// Makes the progress that the thread has claimed; see [`Claim::advance_after`].
    fn advance(&mut self, outcome: SleepResult) -> SleepResult {
        let (had_claim, time_left) = (self.claim.is_some(), self.time_left());
        let outcome = Claim::advance_after(&mut self.claim, outcome, time_left);
        if had_claim && self.claim.is_none() {
            self.cno.inner.state.lock().is_claimed = false;
        }
        outcome
    }

    /// Continues after a sleep: takes the trigger, reports how the wait ended, or blocks again.
    ///
    /// # Errors
    /// As [`Cno::wait`].
    pub fn resume(mut self, outcome: SleepResult) -> Result<WaitStep<Option<Evd>, Self>> {
        self.wake_up();
        let outcome = self.advance(outcome);
        let inner = &self.cno.inner;
        let mut state = inner.state.lock();
        if let Some(hint) = inner.take_trigger(&mut state) {
            return Ok(WaitStep::Done(hint));
        }
        if state.dead || state.deserted != self.deserted {
            return Ok(WaitStep::Done(None));
        }
        if outcome == SleepResult::TimedOut {
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
        self.wake_up();
        let inner = &self.cno.inner;
        let mut state = inner.state.lock();
        state.waiters -= 1;
        if self.claim.is_some() {
            state.is_claimed = false;
        }
        // A wake-up wakes one waiter. If this one leaves the trigger, another one must take it.
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
    /// As [`Cno::fd`]; if the process has no descriptor left, one that is always readable: its user
    /// then polls and loses nothing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.wakeup.fd_or_always_ready()
    }
}
