//! The word on which a waiter sleeps until a frame arrives.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use dat_provider::SharedWord;

use crate::link::Link;
use crate::segment::Segment;
use crate::sync::as_futex;

/// The word of the ring that this side reads.
#[derive(Debug)]
pub(crate) struct RingWord {
    segment: Arc<Segment>,
    direction: usize,
    /// Dropped last, because it keeps the segment if nothing else uses it.
    _link: Arc<Link>,
}

impl RingWord {
    pub(crate) fn new(segment: &Arc<Segment>, link: &Arc<Link>) -> Self {
        let direction = 1 - link.writes;
        Self { segment: Arc::clone(segment), direction, _link: Arc::clone(link) }
    }
}

impl SharedWord for RingWord {
    fn word(&self) -> &AtomicU32 {
        as_futex(self.segment.signals(self.direction).wake_ups())
    }
}
