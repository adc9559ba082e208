//! Counters of adapters, endpoints and event dispatchers.

use super::*;
use crate::call::generic::any;

/// The values of an object's counters, and a text that shows those that are not 0.
fn read(object: &AnyObject, reset: bool) -> Result<(Vec<u64>, String)> {
    macro_rules! figures {
        ($object:expr) => {{
            let counters = $object.counters(reset)?;
            Ok((counters.values().to_vec(), counters.to_string()))
        }};
    }
    match object {
        AnyObject::Ia(ia) => figures!(ia),
        AnyObject::Ep(endpoint) => figures!(endpoint),
        AnyObject::Evd(evd) => figures!(evd),
        _ => Err(not_counted()),
    }
}

fn not_counted() -> Error {
    Error::new(ReturnType::InvalidHandle, Subtype::InvalidHandle1)
        .because("only adapters, endpoints and event dispatchers have counters")
}

/// The requested counters: one by its number, or all by the number after the last.
fn chosen(counter: i32, figures: &[u64]) -> Result<std::ops::Range<usize>> {
    match usize::try_from(counter) {
        Ok(all) if all == figures.len() => Ok(0..all),
        Ok(one) if one < figures.len() => Ok(one..one + 1),
        _ => Err(invalid(3, format!("the object has no counter number {counter}"))),
    }
}

pub(super) unsafe fn query(handle: DAT_HANDLE, mut arguments: Arguments) -> CallResult {
    let object = any(handle)?;
    let counter: i32 = arguments.next();
    let output: *mut DAT_UINT64 = arguments.next();
    let reset: i32 = arguments.next();
    // All checks must precede a reset.
    let wanted = chosen(counter, &read(&object, false)?.0)?;
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    unsafe { out(output, 4) }?;
    let (figures, _) = read(&object, reset != 0)?;
    for (at, figure) in figures[wanted].iter().enumerate() {
        // SAFETY: the caller guarantees an array for as many values as it requests.
        unsafe { output.wrapping_add(at).write_unaligned(*figure) };
    }
    OK
}

/// Prints the counters to standard output, as the call is defined.
pub(super) unsafe fn print(handle: DAT_HANDLE, mut arguments: Arguments) -> CallResult {
    let object = any(handle)?;
    let counter: i32 = arguments.next();
    let reset: i32 = arguments.next();
    let wanted = chosen(counter, &read(&object, false)?.0)?;
    let (figures, text) = read(&object, reset != 0)?;
    let text = match wanted.len() {
        1 => format!("counter {counter} {}\n", figures[wanted.start]),
        _ => text,
    };
    let mut output = std::io::stdout().lock();
    let written = dat_sync::without_signals(|| {
        std::io::Write::write_all(&mut output, text.as_bytes())
            .and_then(|()| std::io::Write::flush(&mut output))
    });
    written.map_err(|error| {
        Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype)
            .during("dat_ib_print_counters")
            .because("cannot write to standard output")
            .errno(error.raw_os_error().unwrap_or(0))
    })?;
    OK
}

pub(super) fn start(handle: DAT_HANDLE) -> CallResult {
    match any(handle)? {
        AnyObject::Ia(ia) => ia.start_counters()?,
        AnyObject::Ep(endpoint) => endpoint.start_counters()?,
        AnyObject::Evd(evd) => evd.start_counters()?,
        _ => return Err(not_counted()),
    }
    OK
}

pub(super) fn stop(handle: DAT_HANDLE) -> CallResult {
    match any(handle)? {
        AnyObject::Ia(ia) => ia.stop_counters()?,
        AnyObject::Ep(endpoint) => endpoint.stop_counters()?,
        AnyObject::Evd(evd) => evd.stop_counters()?,
        _ => return Err(not_counted()),
    }
    OK
}
