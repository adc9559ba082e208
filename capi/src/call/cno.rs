//! Consumer notification objects.

use std::sync::Arc;

use dat_core::{Cno, ProxyAgent};

use super::*;
use crate::argument::check;
use crate::handle::Agent;
use crate::{cancel, structs};

/// The bits of all fields, and `DAT_CNO_FIELD_ALL`, which is a separate bit in DAT 2.0.
const FIELDS: DAT_CNO_PARAM_MASK = 0x3 | DAT_CNO_FIELD_ALL;

/// A core proxy agent that calls that of C; `None` if C gives none.
fn proxy(agent: DAT_OS_WAIT_PROXY_AGENT) -> Option<ProxyAgent> {
    let run = agent.proxy_agent_func?;
    let agent = Agent(agent);
    Some(Arc::new(move |evd: Option<Evd>| {
        // Captures the whole agent, which may move between threads; its data pointer alone may not.
        let Agent(agent) = &agent;
        let evd = evd.map_or(DAT_HANDLE_NULL, |evd| handle::of_number(evd.id()));
        // SAFETY: the consumer gave this function to be called with its data, from any thread.
        unsafe { cancel::run_agent(run, agent.instance_data, evd) };
    }))
}

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    agent: DAT_OS_WAIT_PROXY_AGENT,
    cno_handle: *mut DAT_CNO_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(cno_handle, 3) }?;
    let cno = ia.cno_create(proxy(agent))?;
    let handle = handle::attach(cno, adapters::table(&ia));
    handle::with_storage(handle, |kept| kept.agent = Some(Agent(agent)));
    output.write(handle);
    OK
}

pub(crate) unsafe fn modify_agent(
    cno_handle: DAT_CNO_HANDLE,
    agent: DAT_OS_WAIT_PROXY_AGENT,
) -> CallResult {
    object::<Cno>(cno_handle)?.modify_agent(proxy(agent))?;
    handle::with_storage(cno_handle, |kept| kept.agent = Some(Agent(agent)));
    OK
}

query_call! { Cno as DAT_CNO_PARAM, FIELDS: |cno, cno_handle| {
    let ia_handle = adapters::handle_of(&cno.adapter());
    let param = handle::storage_of::<Cno, _>(cno_handle, |kept| {
        let agent = kept.agent.map(|Agent(agent)| agent);
        structs::cno_param(ia_handle, &cno, agent, &kept.more)
    })?;
    param?
}}

/// The stack frames of a wait have no destructors: see [`cancel`].
pub(crate) unsafe fn wait(
    cno_handle: DAT_CNO_HANDLE,
    timeout: DAT_TIMEOUT,
    evd_handle: *mut DAT_EVD_HANDLE,
) -> DAT_RETURN {
    foreign!(cno_handle, cno_wait_func(cno_handle, timeout, evd_handle));
    let start = || {
        let cno: Cno = object(cno_handle)?;
        check(evd_handle, 3)?;
        cno.start_wait(Timeout::from_micros(timeout))
    };
    let to_result = |waited: Result<Option<Evd>>| {
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let output = unsafe { out(evd_handle, 3) }?;
        match &waited {
            Ok(Some(evd)) => output.write(handle::of_number(evd.id())),
            Ok(None) => output.write(DAT_HANDLE_NULL),
            // An output of a failing call: no dispatcher woke the waiter (dat_cno_wait(3DAT)).
            Err(error) if error.is(ReturnType::QueueEmpty) => output.write(DAT_HANDLE_NULL),
            Err(_) => {}
        }
        waited.and(OK)
    };
    cancel::wait(|| None, |caller| cancel::block(caller, "dat_cno_wait", start, to_result))
}

end_call! { Cno }
