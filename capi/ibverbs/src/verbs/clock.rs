//! The clock of the device (ibv_query_rt_values_ex(3)): the monotonic clock of the system, in nanoseconds.

use std::ffi::c_int;

use libc::{clockid_t, timespec};
use rdma_verbs::sys::completion_ex::{IBV_VALUES_MASK_RAW_CLOCK, ibv_values_ex};
use rdma_verbs::sys::verbs::ibv_context;

use crate::guard;

/// The operation of `ibv_query_rt_values_ex`.
pub(crate) unsafe extern "C" fn query(
    _context: *mut ibv_context,
    values: *mut ibv_values_ex,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees the structure.
        let values = unsafe { &mut *values };
        values.comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
        if values.comp_mask != 0 {
            values.raw_clock = now(libc::CLOCK_MONOTONIC);
        }
        Ok(())
    })
}

fn now(clock: clockid_t) -> timespec {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is there. The clock exists, so it does not fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time
}

/// The time of a clock in nanoseconds.
pub(crate) fn nanoseconds(clock: clockid_t) -> u64 {
    let time = now(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
