//! Whether the poster of a receive has to check the direction, where requests wait for it.
//!
//! The poster fills a slot and then reads this flag; a thread that needs the poster sets the flag
//! and then reads the slots again. One of them sees the other: the poster uses a light fence, since
//! posts are frequent, and the demanding thread a heavy one. Repeated demands cost only one fence:
//! the flag stays set until many checks in a row have found nothing to do.

use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use crate::sync::fence;

/// See the module. It is set and cleared under the lock of the direction.
pub struct ReceiveWakeup {
    /// Looks in a row that found nothing.
    idle: AtomicU32,
    asked: AtomicBool,
    /// How many of them end it: 2 to the power of this.
    patience: AtomicU8,
}

/// Nothing ends it that is shorter: so short connections pay for no fence.
const FIRST_PATIENCE: u8 = if cfg!(all(test, loom)) { 0 } else { 4 };
const LONGEST_PATIENCE: u8 = 16;

impl Default for ReceiveWakeup {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveWakeup {
    /// It is asked for at first.
    pub fn new() -> Self {
        Self {
            idle: AtomicU32::new(0),
            asked: AtomicBool::new(true),
            patience: AtomicU8::new(FIRST_PATIENCE),
        }
    }

    /// Whether to look, after a slot was filled.
    #[inline]
    pub fn is_requested(&self) -> bool {
        fence::light();
        self.asked.load(Ordering::Relaxed)
    }

    /// Every slot is looked after that is not seen filled after this returns.
    pub fn request(&self) {
        self.idle.store(0, Ordering::Relaxed);
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
            let patience = self.patience.load(Ordering::Relaxed) + 1;
            self.patience.store(patience.min(LONGEST_PATIENCE), Ordering::Relaxed);
            fence::heavy();
        }
    }

    /// A check found nothing to do, and nothing to expect.
    pub fn note_idle(&self) {
        let idle = self.idle.load(Ordering::Relaxed).saturating_add(1);
        self.idle.store(idle, Ordering::Relaxed);
        if idle >= 1 << self.patience.load(Ordering::Relaxed) && fence::is_available() {
            self.asked.store(false, Ordering::Relaxed);
        }
    }
}
