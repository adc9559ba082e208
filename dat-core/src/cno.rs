//! Consumer notification objects: one place to wait for many event dispatchers.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};

use crate::calm;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{EvdInner, EventDispatcher};
use crate::ia::{Child, InterfaceAdapter};
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::signal::Bell;
use crate::sync::{Condvar, Mutex};
use crate::timeout::Timeout;

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
    /// What waiters sleep on, with the lock of the state.
    wake: Condvar,
    /// For the descriptor alone: rung while a trigger waits to be taken.
    bell: Bell,
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
        let base = self.inner().enroll(ObjectKind::Cno, CREATE)?;
        let state = Mutex::new(State { agent, ..State::default() });
        let wake = Condvar::new();
        let inner = Arc::new(CnoInner { base, state, wake, bell: Bell::default() });
        self.inner().adopt(&inner.base, Child::Cno(Arc::downgrade(&inner)), CREATE)?;
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
        const WAIT: &str = "dat_cno_wait";
        let inner = &self.inner;
        let deadline = timeout.deadline();
        let mut state = inner.state.lock();
        if state.dead {
            return Err(inner.base.freed(WAIT));
        }
        let deserted = state.deserted;
        state.waiters += 1;
        let mut late = false;
        while !(state.triggered || state.dead || state.deserted != deserted || late) {
            match deadline {
                None => inner.wake.wait(&mut state),
                Some(at) => late = inner.wake.wait_until(&mut state, at).timed_out(),
            }
        }
        state.waiters -= 1;
        if state.triggered {
            state.triggered = false;
            if !state.dead {
                inner.bell.silence();
            }
            let hint = state.hint.take().and_then(|evd| evd.upgrade());
            let hint = hint.filter(|evd| evd.base.lifecycle.is_live());
            return Ok(hint.map(|evd| EventDispatcher::from_inner(&evd)));
        }
        if state.dead || state.deserted != deserted {
            return Ok(None);
        }
        Err(Error::new(ReturnType::QueueEmpty, Subtype::NoSubtype).during(WAIT))
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
        self.inner.bell.fd().map_err(|error| {
            let failure = Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because("no event descriptor could be made")
                .advise("raise the limit of open files (`ulimit -n`)")
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
                .because("a thread waits on it")
                .advise("wake it first, for example by a software event of an attached dispatcher");
            return Err(self.inner.base.describe(error, FREE));
        }
        self.inner.base.retire(FREE, Subtype::InvalidStateCnoInUse)?;
        state.dead = true;
        state.agent = None;
        // An event loop that sleeps on the descriptor has to hear of it.
        self.inner.bell.ring();
        drop(state);
        self.inner.base.leave();
        Ok(())
    }
}

impl CnoInner {
    /// An event arrived at a dispatcher that nobody waits on.
    pub(crate) fn trigger(&self, evd: &Weak<EvdInner>) {
        let agent = {
            let mut state = self.state.lock();
            state.triggered = true;
            state.hint = Some(evd.clone());
            self.bell.ring();
            self.wake.notify_one();
            state.agent.clone()
        };
        if let Some(agent) = agent {
            calm::call(agent, Some(evd));
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
            self.wake.notify_all();
            state.agent.clone()
        };
        if let Some(agent) = agent {
            calm::call(agent, None);
        }
    }

    pub(crate) fn abandon(&self) {
        self.base.lifecycle.force();
        let agent = {
            let mut state = self.state.lock();
            state.dead = true;
            self.bell.ring();
            self.wake.notify_all();
            state.agent.take()
        };
        if let Some(agent) = agent {
            calm::call(agent, None);
        }
        self.base.leave();
    }
}

impl AsFd for Cno {
    /// As [`Cno::fd`]; when the process has no descriptor left, one that is always readable:
    /// its user polls and loses nothing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.bell.fd_or_always_ready()
    }
}
