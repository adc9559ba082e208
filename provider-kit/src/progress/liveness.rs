//! Checks for peers that vanish without notice.

use std::sync::Weak;
use std::time::{Duration, Instant};

use dat_sync::clock;

use crate::link::Liveness;

/// The links to check.
#[derive(Default)]
pub(super) struct LivenessChecks {
    links: Vec<Weak<dyn Liveness>>,
    interval: Duration,
    /// Time of the next check; `None` if there are no links.
    next: Option<Instant>,
}

impl LivenessChecks {
    pub(super) fn add(&mut self, link: Weak<dyn Liveness>) {
        let Some(interval) = link.upgrade().map(|link| link.interval()) else { return };
        self.links.push(link);
        self.interval = interval;
        self.next.get_or_insert_with(|| clock::now() + interval);
    }

    /// When the next check is due.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.next
    }

    /// Checks the links that still exist, if a check is due.
    pub(super) fn check(&mut self, now: Instant) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.links.retain(|link| link.upgrade().inspect(|link| link.check()).is_some());
        self.next = (!self.links.is_empty()).then(|| now + self.interval);
    }
}
