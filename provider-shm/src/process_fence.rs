//! A fence that one thread executes on behalf of the threads of other processes too.
//!
//! membarrier(2) with `MEMBARRIER_CMD_GLOBAL_EXPEDITED` executes a full fence on every processor that runs a thread of
//! a registered process; a processor that runs none has executed a fence since it last did. A thread that rarely needs
//! an order between a store and a later load calls [`heavy`], and registered threads that often need it call [`light`],
//! which costs nothing.

#[cfg(not(any(miri, all(test, loom))))]
pub(crate) use imp::{heavy, is_available, light};

#[cfg(any(miri, all(test, loom)))]
pub(crate) use modelled::{heavy, is_available, light};

#[cfg(not(any(miri, all(test, loom))))]
mod imp {
    use std::sync::atomic::{Ordering, compiler_fence, fence};
    use std::time::Duration;

    use dat_sync::Lazy;
    use rustix::thread::{MembarrierCommand, membarrier};

    const OUTLASTS_STORES: Duration = Duration::from_millis(1);

    /// Returns true if this process is registered, so that [`light`] pairs with a [`heavy`] fence of another process.
    /// Needs Linux 4.16, and no sandbox that forbids membarrier(2).
    #[inline]
    pub(crate) fn is_available() -> bool {
        static AVAILABLE: Lazy<bool> = Lazy::new(|| {
            membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
                && membarrier(MembarrierCommand::GlobalExpedited).is_ok()
        });
        *AVAILABLE
    }

    /// The fence of the frequent side: it only prevents reordering by the compiler.
    #[inline]
    pub(crate) fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    /// The fence of the rare side. Without membarrier(2), it is only a fence of this thread, and the other side must
    /// execute a full fence too.
    pub(crate) fn heavy() {
        if is_available() && membarrier(MembarrierCommand::GlobalExpedited).is_err() {
            // A sandbox that was entered later forbids the call. Stores reach memory in far less time than this.
            std::thread::sleep(OUTLASTS_STORES);
        }
        fence(Ordering::SeqCst);
    }
}

#[cfg(any(miri, all(test, loom)))]
mod modelled {
    use crate::sync::{Ordering, fence};

    pub(crate) fn is_available() -> bool {
        true
    }

    /// In a model, no thread can execute a fence for another one: both sides execute their own, which gives the same
    /// order.
    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}
