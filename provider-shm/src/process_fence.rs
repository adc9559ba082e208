//! A fence that one thread runs for the threads of other processes too.
//!
//! membarrier(2) with `MEMBARRIER_CMD_GLOBAL_EXPEDITED` runs a full fence on every processor that
//! executes a thread of a process that has registered for it; a processor that executes none has run a
//! fence since it last did. So the thread that rarely needs an order between a store and a later
//! load calls [`heavy`], and the registered threads that often need it call [`light`], which costs
//! nothing.

#[cfg(not(all(test, loom)))]
pub(crate) use imp::{heavy, is_available, light};

#[cfg(all(test, loom))]
pub(crate) use modelled::{heavy, is_available, light};

#[cfg(not(all(test, loom)))]
mod imp {
    use std::sync::atomic::{Ordering, compiler_fence, fence};
    use std::time::Duration;

    use dat_sync::Lazy;
    use rustix::thread::{MembarrierCommand, membarrier};

    const OUTLASTS_STORES: Duration = Duration::from_millis(1);

    /// Whether this process is registered, so that [`light`] suffices against a [`heavy`] fence of
    /// another process. Needs Linux 4.16, and no sandbox that forbids membarrier(2).
    #[inline]
    pub(crate) fn is_available() -> bool {
        static AVAILABLE: Lazy<bool> = Lazy::new(|| {
            !cfg!(miri)
                && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
                && membarrier(MembarrierCommand::GlobalExpedited).is_ok()
        });
        *AVAILABLE
    }

    /// The fence of the frequent side: it only prevents reordering by the compiler.
    #[inline]
    pub(crate) fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    /// The fence of the rare side. If membarrier(2) is not available, it is only a fence of this thread,
    /// and the other side must run a full fence, too.
    pub(crate) fn heavy() {
        if is_available() && membarrier(MembarrierCommand::GlobalExpedited).is_err() {
            // A sandbox that was entered later forbids the call. Stores reach memory in far less time.
            std::thread::sleep(OUTLASTS_STORES);
        }
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, loom))]
mod modelled {
    use loom::sync::atomic::{Ordering, fence};

    pub(crate) fn is_available() -> bool {
        true
    }

    /// Models have no fence of another thread: both sides run one, which gives the same order.
    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}
