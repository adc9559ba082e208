//! Conversion of plain values from and to C.

use std::ptr::null_mut;
use std::sync::Arc;

use real::{DtoStatus, Timeout};

use crate::abi::*;

/// Converts a handle value for a call.
pub(crate) fn to_c(handle: usize) -> DAT_HANDLE {
    std::ptr::with_exposed_provenance_mut(handle)
}

/// The value of a handle.
pub(crate) fn number(handle: DAT_HANDLE) -> usize {
    handle.expose_provenance()
}

/// Converts a count that the library returned.
pub(crate) const fn count(value: DAT_COUNT) -> u32 {
    value as u32
}

/// Converts a count for a call.
pub(crate) const fn to_count(value: u32) -> DAT_COUNT {
    value as DAT_COUNT
}

/// Converts a time-out for a call, in microseconds.
pub(crate) fn micros(timeout: Timeout) -> DAT_TIMEOUT {
    match timeout {
        Timeout::Infinite => DAT_TIMEOUT_INFINITE,
        Timeout::After(time) => {
            u32::try_from(time.as_micros()).unwrap_or(u32::MAX).min(DAT_TIMEOUT_INFINITE - 1)
        }
    }
}

/// Copies private data of the library.
pub(crate) fn private_data(size: DAT_COUNT, data: DAT_PVOID) -> Arc<[u8]> {
    if size == 0 {
        return Arc::default();
    }
    let size = usize::try_from(size).expect("a size is not negative");
    // SAFETY: the library promises `size` bytes there.
    Arc::from(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) })
}

/// Private data for a call.
pub(crate) fn to_private_data(bytes: &[u8]) -> (DAT_COUNT, DAT_PVOID) {
    let size = DAT_COUNT::try_from(bytes.len()).expect("private data is short");
    let data = if bytes.is_empty() { null_mut() } else { bytes.as_ptr().cast_mut().cast() };
    (size, data)
}

/// The handle value of an object that an event names.
pub(crate) fn id(handle: DAT_HANDLE) -> u64 {
    number(handle) as u64
}

/// Converts the status of a completion.
pub(crate) fn status(value: DAT_DTO_COMPLETION_STATUS) -> DtoStatus {
    let status = DtoStatus::all().find(|status| status.value() == value);
    status.unwrap_or(DtoStatus::Unknown(value))
}
