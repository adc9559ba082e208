//! Consumer notification objects.

use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Arc, Weak};

use real::Timeout;
use real::error::Result;

use super::adapter::Adapter;
use super::convert::micros;
use super::handle_type::{Handle as _, handle};
use super::result::call;
use super::{Evd, Ia};
use crate::abi::*;
use crate::version;

handle! {
    /// A consumer notification object (dat_cno_create(3DAT)).
    Cno = Cno
}

/// Called at each trigger (`DAT_OS_WAIT_PROXY_AGENT`).
pub type ProxyAgent = Arc<dyn Fn(Option<Evd>) + Send + Sync>;

/// The `instance_data` of an agent.
struct Instance {
    agent: ProxyAgent,
    ia: Weak<Adapter>,
}

/// The function that the library calls.
unsafe extern "C-unwind" fn run(instance_data: DAT_PVOID, evd: DAT_EVD_HANDLE) {
    // SAFETY: the pointer is the leaked `Instance` of `to_c`, which is never freed.
    let instance = unsafe { &*instance_data.cast::<Instance>() };
    let evd = instance.ia.upgrade().and_then(|ia| Evd::named(evd, &ia));
    // A panic must not unwind into the library; the case notices what the agent did not do.
    let _ = catch_unwind(AssertUnwindSafe(|| (instance.agent)(evd)));
}

/// Converts an agent for a call. The library has no way to say when it has called an agent for the
/// last time, so agents are leaked. Cases create few.
fn to_c(agent: Option<ProxyAgent>, ia: &Arc<Adapter>) -> DAT_OS_WAIT_PROXY_AGENT {
    let none = DAT_OS_WAIT_PROXY_AGENT { instance_data: null_mut(), proxy_agent_func: None };
    agent.map_or(none, |agent| {
        let instance = Box::leak(Box::new(Instance { agent, ia: Arc::downgrade(ia) }));
        let instance_data = (&raw mut *instance).cast();
        DAT_OS_WAIT_PROXY_AGENT { instance_data, proxy_agent_func: Some(run) }
    })
}

impl Ia {
    /// dat_cno_create(3DAT).
    pub fn cno_create(&self, agent: Option<ProxyAgent>) -> Result<Cno> {
        let mut cno = null_mut();
        let agent = to_c(agent, self.adapter());
        call!(table.cno_create_func(self.handle(), agent, &raw mut cno))?;
        Ok(Cno::made_of(cno, self.adapter()))
    }

    /// dat_cno_fd_create of DAT 2.0.
    pub fn cno_fd_create(&self) -> Result<Cno> {
        let (cno, fd) = version::cno_fd_create(self.handle())?;
        let cno = Cno::made_of(cno, self.adapter());
        assert_eq!(version::cno_fd(cno.handle()), Ok(fd), "the query returns the same descriptor");
        Ok(cno)
    }
}

impl Cno {
    /// dat_cno_wait(3DAT).
    pub fn wait(&self, timeout: Timeout) -> Result<Option<Evd>> {
        let mut evd = null_mut();
        call!(table.cno_wait_func(self.handle(), micros(timeout), &raw mut evd))?;
        Ok(Evd::named(evd, self.object.ia()))
    }

    /// dat_cno_trigger of DAT 2.0.
    pub fn trigger(&self) -> Result<Option<Evd>> {
        let evd = version::cno_trigger(self.handle())?;
        Ok(Evd::named(evd, self.object.ia()))
    }

    /// dat_cno_modify_agent(3DAT).
    pub fn modify_agent(&self, agent: Option<ProxyAgent>) -> Result<()> {
        let agent = to_c(agent, self.object.ia());
        call!(table.cno_modify_agent_func(self.handle(), agent))
    }

    /// The descriptor of an object that was created with one.
    ///
    /// # Errors
    /// The errors of dat_cno_query, and an error for an object without a descriptor.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        let fd = version::cno_fd(self.handle())?;
        // SAFETY: the library keeps the descriptor open as long as the object lives.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// dat_cno_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}

impl AsFd for Cno {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd().expect("a descriptor")
    }
}
