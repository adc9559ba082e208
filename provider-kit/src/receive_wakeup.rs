//! The request for a wake-up, by which the poster of a receive finds out that a request waits for it.
//!
//! The poster fills a slot and then checks for a wake-up request; a thread that needs the poster makes such a request
//! and then reads the slot again. At least one of the two sees the other. Long after the last request, the poster runs
//! only a light fence, and the next request runs a heavy one. Soon after a request both run a full fence, and the
//! poster enters the direction only if a request waits at that moment. Otherwise two threads that stream messages would
//! contend for the lock of the direction long after a single message had to wait.

use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use crate::sync::{fence, full_fence};

/// See the module documentation.
pub struct ReceiveWakeup {
    /// Posts in a row that found nothing waiting.
    idle: AtomicU32,
    /// True while posters check `waits`. Changed only under the lock of the direction.
    requested: AtomicBool,
    /// True while a request waits for a receive. Changed only under the lock of the direction.
    waits: AtomicBool,
    /// The checks end after 2 to this power idle posts.
    patience: AtomicU8,
}

/// The action that the poster of a receive must take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAction {
    /// Nothing.
    Nothing,
    /// Enter the direction and execute the waiting requests.
    Execute,
    /// Enter the direction and call [`ReceiveWakeup::rest`]: no request has waited for long.
    Rest,
}

/// The minimum `patience`, so that short connections need no heavy fence.
const FIRST_PATIENCE: u8 = if cfg!(all(test, loom)) { 0 } else { 4 };
/// The maximum: more idle posts, each with a full fence, cost more than the heavy fence of the next request.
const LONGEST_PATIENCE: u8 = 8;

impl Default for ReceiveWakeup {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveWakeup {
    /// Creates it with checks enabled.
    pub fn new() -> Self {
        Self {
            idle: AtomicU32::new(0),
            requested: AtomicBool::new(true),
            waits: AtomicBool::new(false),
            patience: AtomicU8::new(FIRST_PATIENCE),
        }
    }

    /// Returns true if the poster must call [`action`](Self::action) after it has filled a slot.
    #[inline(always)]
    pub fn is_requested(&self) -> bool {
        // Pairs with `fence::heavy` of `request`.
        fence::light();
        // Acquire: this thread also sees `waits` as stored by the request that set this.
        self.requested.load(Ordering::Acquire)
    }

    /// Returns the poster's action, after it has filled a slot and [`is_requested`](Self::is_requested) returned true.
    #[inline]
    pub fn action(&self) -> PostAction {
        // Pairs with the fence of `request`: either this thread sees the request, or the other one sees the slot.
        full_fence();
        if self.waits.load(Ordering::Relaxed) {
            return PostAction::Execute;
        }
        let idle = self.idle.load(Ordering::Relaxed).saturating_add(1);
        self.idle.store(idle, Ordering::Relaxed);
        let is_long = idle >= 1 << self.patience.load(Ordering::Relaxed);
        if is_long && fence::is_available() { PostAction::Rest } else { PostAction::Nothing }
    }

    /// Returns true if a request waited for a receive a moment ago.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// A request waits for a receive. The poster of each slot that is not seen filled after this call enters the
    /// direction. The caller holds the lock of the direction.
    pub fn request(&self) {
        self.idle.store(0, Ordering::Relaxed);
        self.waits.store(true, Ordering::Relaxed);
        if self.requested.load(Ordering::Relaxed) {
            full_fence();
        } else {
            // Release: a poster that sees this store also sees the one above.
            self.requested.store(true, Ordering::Release);
            let patience = self.patience.load(Ordering::Relaxed) + 1;
            self.patience.store(patience.min(LONGEST_PATIENCE), Ordering::Relaxed);
            // Pairs with the light fence of `is_requested`.
            fence::heavy();
        }
    }

    /// No request waits any more. The caller holds the lock of the direction.
    #[inline]
    pub fn settle(&self) {
        self.waits.store(false, Ordering::Relaxed);
    }

    /// Restarts the count of idle posts, because the direction is not open yet.
    #[inline]
    pub fn put_off(&self) {
        self.idle.store(0, Ordering::Relaxed);
    }

    /// Ends the checks, unless a request waits. The caller holds the lock of the direction, so that the next request
    /// sees it.
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

    /// The steps of a poster of a receive.
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
