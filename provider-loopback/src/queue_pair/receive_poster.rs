//! The poster's end of the ring of receives.

use dat_provider::QueuePairLimits;
use dat_provider_kit::credits::QueueCredits;
use dat_provider_kit::receive_ring::ReceiveRing;
use dat_provider_kit::receive_wakeup::ReceiveWakeup;
use dat_provider_kit::sync::BiasedLock;

/// Where receives are posted.
#[repr(C)]
pub(super) struct ReceivePoster {
    pub(super) wakeup: ReceiveWakeup,
    pub(super) state: BiasedLock<PosterState>,
}

/// The state under the poster lock. Fields are in the order of their use.
#[repr(C)]
pub(super) struct PosterState {
    /// The next position to fill.
    pub(super) tail: u64,
    /// Unallocated before the first receive; it grows with the number of receives.
    pub(super) ring: ReceiveRing,
    /// One for each slot of the ring.
    pub(super) credits: QueueCredits,
    pub(super) max_receives: u32,
    /// Maximum number of segments of a receive.
    pub(super) max_segments: u16,
    /// True if the queue pair uses a shared receive queue.
    pub(super) is_shared: bool,
}

impl PosterState {
    /// The state before the first receive.
    pub(super) fn new(limits: &QueuePairLimits, credits: QueueCredits, is_shared: bool) -> Self {
        let mut state = Self {
            tail: 0,
            ring: ReceiveRing::unallocated(),
            credits,
            max_receives: 0,
            max_segments: 0,
            is_shared,
        };
        state.set_limits(limits);
        state
    }

    /// Sets the limits. The posted receives are within them.
    pub(super) fn set_limits(&mut self, limits: &QueuePairLimits) {
        self.max_receives = limits.max_receives;
        self.max_segments = u16::try_from(limits.max_receive_segments).unwrap_or(u16::MAX);
        self.credits.resize(self.credits.capacity().min(self.max_receives));
    }
}
