//! Proxy agents, which are functions of C that a cancellation must not unwind.

use crate::abi::{DAT_HANDLE, DAT_PVOID};

unsafe extern "C-unwind" {
    fn dats_run_agent(
        agent: unsafe extern "C-unwind" fn(DAT_PVOID, DAT_HANDLE),
        data: DAT_PVOID,
        evd: DAT_HANDLE,
    );
}

/// Runs a proxy agent with cancellation disabled. If it does not return, the process ends.
pub(crate) unsafe fn run_agent(
    agent: unsafe extern "C-unwind" fn(DAT_PVOID, DAT_HANDLE),
    data: DAT_PVOID,
    evd: DAT_HANDLE,
) {
    // SAFETY: the caller guarantees that the agent may be called with this data.
    unsafe { dats_run_agent(agent, data, evd) };
}
