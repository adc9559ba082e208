//! A lock that the program holds between two calls: from `ibv_start_poll` to `ibv_end_poll`, and from `ibv_wr_start` to
//! `ibv_wr_complete`.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};

/// The lock. It is held for a few posts or polls, so a waiter spins and then yields.
#[derive(Debug, Default)]
pub(crate) struct Held(AtomicBool);

const SPINS: u32 = 100;

impl Held {
    /// Waits until the lock is free, and takes it.
    #[inline]
    pub(crate) fn take(&self) {
        let mut spins = 0;
        while self
            .0
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            if spins < SPINS {
                spins += 1;
                spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Releases the lock.
    #[inline]
    pub(crate) fn release(&self) {
        self.0.store(false, Ordering::Release);
    }
}
