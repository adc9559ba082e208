//! Event dispatchers.

use std::mem::ManuallyDrop;

use dat_core::blocking::WaitDeadline;
use dat_core::provider::plain_success::TakeResult;
use dat_core::{EvdFlags, EvdOptions, EvdParam, Event, WaitResult};

use super::*;
use crate::argument::{check, is_address, is_aligned_address};
use crate::convert::event;
use crate::handle::Pinned;
use crate::result::{failed, plain};
use crate::{cancel, codes, last_error, structs};

pub(crate) unsafe fn create(
    ia_handle: DAT_IA_HANDLE,
    evd_min_qlen: DAT_COUNT,
    cno_handle: DAT_CNO_HANDLE,
    evd_flags: DAT_EVD_FLAGS,
    evd_handle: *mut DAT_EVD_HANDLE,
) -> CallResult {
    let ia = adapters::own(ia_handle)?;
    let min_qlen = count(evd_min_qlen, 2)?;
    let cno = optional_object(cno_handle, Subtype::InvalidHandleCno)?;
    let flags = EvdFlags::from_bits(evd_flags).ok_or_else(|| {
        invalid(4, format!("evd_flags {evd_flags:#x} has bits that are not event streams"))
    })?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let output = unsafe { out(evd_handle, 5) }?;
    let evd = ia.evd_create(&EvdOptions { min_qlen, flags, cno })?;
    output.write(handle::attach(evd, adapters::table(&ia)));
    OK
}

query_call! { Evd as DAT_EVD_PARAM, DAT_EVD_FIELD_ALL: |evd, evd_handle| {
    let param = evd.query()?;
    DAT_EVD_PARAM {
        ia_handle: adapters::handle_of(&evd.adapter()),
        evd_qlen: convert::count(param.qlen),
        evd_state: state(&param),
        cno_handle: param.cno.map_or(DAT_HANDLE_NULL, |cno| handle::of_number(cno.id())),
        evd_flags: param.flags.bits(),
    }
}}

fn state(param: &EvdParam) -> DAT_EVD_STATE {
    let enabled = if param.enabled { DAT_EVD_STATE_ENABLED } else { DAT_EVD_STATE_DISABLED };
    let waitable = if param.waitable { DAT_EVD_STATE_WAITABLE } else { DAT_EVD_STATE_UNWAITABLE };
    let notify = if param.config_notify { DAT_EVD_STATE_CONFIG_NOTIFY } else { 0 };
    let solicited = if param.config_solicited { DAT_EVD_STATE_CONFIG_SOLICITED } else { 0 };
    enabled | waitable | notify | solicited
}

pub(crate) unsafe fn modify_cno(
    evd_handle: DAT_EVD_HANDLE,
    cno_handle: DAT_CNO_HANDLE,
) -> CallResult {
    let evd: Evd = object(evd_handle)?;
    let cno = optional_object(cno_handle, Subtype::InvalidHandleCno)?;
    evd.modify_cno(cno.as_ref())?;
    OK
}

pub(crate) unsafe fn resize(evd_handle: DAT_EVD_HANDLE, evd_min_qlen: DAT_COUNT) -> CallResult {
    let evd: Evd = object(evd_handle)?;
    evd.resize(count(evd_min_qlen, 2)?)?;
    OK
}

pub(crate) unsafe fn post_se(evd_handle: DAT_EVD_HANDLE, event: *const DAT_EVENT) -> CallResult {
    let evd: Evd = object(evd_handle)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let event = unsafe { given(event, 2) }?;
    if event.event_number != DAT_SOFTWARE_EVENT {
        let number = event.event_number;
        return Err(invalid(2, format!("event number {number:#x} is not DAT_SOFTWARE_EVENT"))
            .during("dat_evd_post_se")
            .advise(
                "set event_number to DAT_SOFTWARE_EVENT, the only event that a program can post",
            ));
    }
    // SAFETY: software events have this union member, for which any bit pattern is valid.
    let data = unsafe { event.event_data.software_event_data };
    evd.post_software_event(data.pointer.expose_provenance() as u64)?;
    OK
}

/// The fast path takes a plain success to an aligned event. No handle of a C provider is a cell, so it cannot match
/// here.
#[inline(always)]
pub(crate) unsafe fn dequeue(evd_handle: DAT_EVD_HANDLE, event: *mut DAT_EVENT) -> DAT_RETURN {
    if is_aligned_address::<DAT_EVENT>(event.addr()) {
        if let Some(evd) = handle::pin::<Evd>(evd_handle) {
            // SAFETY: the address was checked, the caller guarantees memory for an event, and any
            // bit pattern is valid.
            let to = unsafe { &mut *event };
            let taken = structs::take(&mut to.event_data, |data| evd.object().take_success(data));
            if taken == TakeResult::Success {
                to.event_number = DAT_DTO_COMPLETION_EVENT;
                to.evd_handle = evd.reload_handle();
                return DAT_SUCCESS;
            }
            return dequeue_without_success(evd.reload(), taken, event);
        }
    }
    // SAFETY: the caller guarantees memory for an event, unless the check rejects the address.
    unsafe { dequeue_slow_path(evd_handle, event) }
}

/// Continues [`dequeue`] if it did not find a plain success.
#[inline(never)]
fn dequeue_without_success(
    evd: Pinned<Evd>,
    taken: TakeResult,
    event: *mut DAT_EVENT,
) -> DAT_RETURN {
    if taken == TakeResult::Nothing {
        evd.object().note_empty();
        evd.found_empty();
        return codes::code(ReturnType::QueueEmpty, Subtype::NoSubtype);
    }
    let handle = evd.reload_handle();
    drop(evd);
    // SAFETY: the caller of `dequeue` guarantees memory for an event, unless the check rejects it.
    unsafe { dequeue_slow_path(handle, event) }
}

#[cold]
#[inline(never)]
unsafe fn dequeue_slow_path(evd_handle: DAT_EVD_HANDLE, event: *mut DAT_EVENT) -> DAT_RETURN {
    foreign!(evd_handle, evd_dequeue_func(evd_handle, event));
    let taken = handle::with(evd_handle, |evd: &Evd| {
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let output = match unsafe { out(event, 2) } {
            Ok(output) => output,
            Err(error) => return failed(error),
        };
        // A plain success needs no drop; `deliver` drops other events.
        let mut taken = ManuallyDrop::new(Event::None);
        match evd.dequeue(&mut taken) {
            Ok(true) => {
                output.update(|to| event::deliver(&mut taken, evd_handle, to));
                DAT_SUCCESS
            }
            Ok(false) => {
                handle::found_empty(evd_handle);
                codes::code(ReturnType::QueueEmpty, Subtype::NoSubtype)
            }
            Err(error) => failed(error),
        }
    });
    taken.unwrap_or_else(|| failed(invalid_handle(evd_handle, Evd::SUBTYPE)))
}

/// The stack frames of a wait have no destructors: see [`cancel`].
#[inline(always)]
pub(crate) unsafe fn wait(
    evd_handle: DAT_EVD_HANDLE,
    timeout: DAT_TIMEOUT,
    threshold: DAT_COUNT,
    event: *mut DAT_EVENT,
    n_more: *mut DAT_COUNT,
) -> DAT_RETURN {
    foreign!(evd_handle, evd_wait_func(evd_handle, timeout, threshold, event, n_more));
    let deadline = WaitDeadline::new(Timeout::from_micros(timeout));
    let at_once = || {
        if !is_aligned_address::<DAT_EVENT>(event.addr()) || !is_address(n_more.addr()) {
            return None;
        }
        let evd = handle::pin::<Evd>(evd_handle)?;
        // SAFETY: the address was checked, the caller guarantees memory for an event, and any bit
        // pattern is valid.
        let to = unsafe { &mut *event };
        let threshold = u32::try_from(threshold).ok()?;
        let mut more = 0;
        let taken = structs::take(&mut to.event_data, |data| {
            match evd.object().spin_wait(&deadline, threshold, data) {
                Some(left) => {
                    more = left;
                    TakeResult::Success
                }
                None => TakeResult::Other,
            }
        });
        if taken != TakeResult::Success {
            return None;
        }
        to.event_number = DAT_DTO_COMPLETION_EVENT;
        to.evd_handle = evd_handle;
        // SAFETY: the address was checked, and the caller guarantees writable memory.
        unsafe { n_more.write_unaligned(convert::count(more)) };
        Some(DAT_SUCCESS)
    };
    let arguments = || -> Result<(Evd, u32)> {
        let evd = object(evd_handle)?;
        let threshold = count(threshold, 3)?;
        check(event, 4)?;
        check(n_more, 5)?;
        Ok((evd, threshold))
    };
    let start = || {
        let (evd, threshold) = arguments()?;
        cancel::with_event(|event| evd.start_wait(&deadline, threshold, event))
    };
    let to_result = |waited: Result<(WaitResult, Event)>| {
        // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
        let more_out = unsafe { out(n_more, 5) };
        match waited? {
            (WaitResult::Event { more }, taken) => {
                // SAFETY: the caller guarantees writable memory, unless the check rejects it.
                let output = unsafe { out(event, 4) }?;
                let mut taken = ManuallyDrop::new(taken);
                output.update(|to| event::deliver(&mut taken, evd_handle, to));
                more_out?.write(convert::count(more));
                OK
            }
            (WaitResult::TimedOut { queued }, _) => {
                // The only output of a failing call: the number of queued events
                // (dat_evd_wait(3DAT)).
                more_out?.write(convert::count(queued));
                last_error::set_timeout(queued);
                plain(ReturnType::TimeoutExpired)
            }
        }
    };
    cancel::wait(at_once, |caller| cancel::block(caller, "dat_evd_wait", start, to_result))
}

simple_calls! { Evd: enable, disable, set_unwaitable, clear_unwaitable }
end_call! { Evd }
