//! Whether the poster of a receive has to enter the direction, because a request waits for a receive
//! there.
//!
//! The poster fills a slot and then checks for a request for a wake-up; a thread that needs the poster
//! makes one and then reads the slot again. One of the two sees the other. Long after the last request,
//! the poster runs only a light fence, and the next request runs a heavy one. Soon after a request both
//! run a full fence, and the poster enters the direction only if something waits at that moment.
//! Otherwise two threads that stream messages would contend for the lock of the direction long after a
//! single message had to wait.

use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use crate::sync::{fence, full_fence};

/// See the module.
pub struct ReceiveWakeup {
    /// Posts in a row that found nothing waiting.
    idle: AtomicU32,
    /// Whether posters check `waits`. Changed only under the lock of the direction.
    requested: AtomicBool,
    /// Whether something waits for a receive. Changed only under the lock of the direction.
    waits: AtomicBool,
    /// The number of idle posts that ends the checks is 2 to the power of this.
    patience: AtomicU8,
}

/// What the poster of a receive has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAction {
    /// Nothing.
    Nothing,
    /// Enter the direction and execute what waits.
    Execute,
    /// Enter the direction and call [`ReceiveWakeup::rest`]: nothing waited for long.
    Rest,
}

/// Fewer idle posts do not end the checks, so that short connections pay for no heavy fence.
const FIRST_PATIENCE: u8 = if cfg!(all(test, loom)) { 0 } else { 4 };
/// More idle posts, each with a full fence, cost more than the heavy fence of the next request.
const LONGEST_PATIENCE: u8 = 8;

impl Default for ReceiveWakeup {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveWakeup {
    /// Posters check at first.
    pub fn new() -> Self {
        Self {
            idle: AtomicU32::new(0),
            requested: AtomicBool::new(true),
            waits: AtomicBool::new(false),
            patience: AtomicU8::new(FIRST_PATIENCE),
        }
    }

    /// Whether the poster calls [`action`](Self::action), after a slot was filled.
    #[inline(always)]
    pub fn is_requested(&self) -> bool {
        fence::light();
        // Acquire: this thread also sees `waits` as the request that set this has set it.
        self.requested.load(Ordering::Acquire)
    }

    /// What the poster has to do, after a slot was filled and found [`is_requested`](Self::is_requested).
    #[inline]
    pub fn action(&self) -> PostAction {
        // Pairs with that of `request`: either this thread sees the request, or the other one the slot.
        full_fence();
        if self.waits.load(Ordering::Relaxed) {
            return PostAction::Execute;
        }
        let idle = self.idle.load(Ordering::Relaxed).saturating_add(1);
        self.idle.store(idle, Ordering::Relaxed);
        let is_long = idle >= 1 << self.patience.load(Ordering::Relaxed);
        if is_long && fence::is_available() { PostAction::Rest } else { PostAction::Nothing }
    }

    /// Whether something waited for a receive a moment ago.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// Something waits for a receive: the poster of every slot that is not seen filled after this
    /// returns enters the direction. The caller holds the lock of the direction.
    pub fn request(&self) {
        self.idle.store(0, Ordering::Relaxed);
        self.waits.store(true, Ordering::Relaxed);
        if self.requested.load(Ordering::Relaxed) {
            full_fence();
        } else {
            // Release: with this store, a poster sees the one above.
            self.requested.store(true, Ordering::Release);
            let patience = self.patience.load(Ordering::Relaxed) + 1;
            self.patience.store(patience.min(LONGEST_PATIENCE), Ordering::Relaxed);
            fence::heavy();
        }
    }

    /// Nothing waits any more. The caller holds the lock of the direction.
    #[inline]
    pub fn settle(&self) {
        self.waits.store(false, Ordering::Relaxed);
    }

    /// Starts the count of idle posts again, because the direction is not open yet.
    #[inline]
    pub fn put_off(&self) {
        self.idle.store(0, Ordering::Relaxed);
    }

    /// Ends the checks, unless something waits. The caller holds the lock of the direction, so that
    /// the next request sees it.
    pub fn rest(&self) {
        if !self.waits.load(Ordering::Relaxed) {
            self.idle.store(0, Ordering::Relaxed);
            self.requested.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What the poster of a receive does.
    fn post(wakeup: &ReceiveWakeup) -> PostAction {
        if wakeup.is_requested() { wakeup.action() } else { PostAction::Nothing }
    }

    #[test]
    fn a_poster_enters_the_direction_only_while_something_waits() {
        let wakeup = ReceiveWakeup::new();
        assert_eq!(post(&wakeup), PostAction::Nothing);
        wakeup.request();
        assert_eq!([post(&wakeup), post(&wakeup)], [PostAction::Execute; 2]);
        wakeup.settle();
        assert_eq!(post(&wakeup), PostAction::Nothing);
        assert!(wakeup.is_requested(), "the next request runs no heavy fence");
    }

    #[test]
    fn many_idle_posts_end_the_checks_until_the_next_request() {
        let wakeup = ReceiveWakeup::new();
        let idle = (0..100).take_while(|_| post(&wakeup) == PostAction::Nothing).count();
        if !fence::is_available() {
            return assert_eq!(idle, 100);
        }
        assert_eq!(idle, (1 << FIRST_PATIENCE) - 1);
        wakeup.rest();
        assert!(!wakeup.is_requested());
        wakeup.request();
        assert_eq!(post(&wakeup), PostAction::Execute);
        wakeup.settle();
        // The request came soon after the checks had ended: they last longer this time.
        let idle = (0..100).take_while(|_| post(&wakeup) == PostAction::Nothing).count();
        assert_eq!(idle, (1 << (FIRST_PATIENCE + 1)) - 1);
    }

    #[test]
    fn the_checks_do_not_end_while_something_waits() {
        let wakeup = ReceiveWakeup::new();
        wakeup.request();
        wakeup.rest();
        assert!(wakeup.is_requested());
    }
}
