//! The links that are lent to pollers, and when the driver checks each of them.

use std::sync::Weak;
use std::time::{Duration, Instant};

use dat_sync::clock;

use super::driven::Driven;
use super::event_order::EventOrder;
use super::lease_history::{intervals, next_interval};

/// Checks that are due within this time are made together.
const SLACK: Duration = Duration::from_micros(20);

/// The links that are lent to pollers.
#[derive(Default)]
pub(super) struct LentLinks(Vec<LentLink>);

struct LentLink {
    queue_pair: Weak<dyn Driven>,
    interval: Duration,
    due: Instant,
}

impl LentLinks {
    /// Adds a lent link, first checked after `interval`, within the limits that depend on `is_busy`.
    pub(super) fn add(&mut self, queue_pair: &Weak<dyn Driven>, interval: Duration, is_busy: bool) {
        let (shortest, longest) = intervals(is_busy);
        let interval = interval.clamp(shortest, longest);
        if !self.0.iter().any(|one| Weak::ptr_eq(&one.queue_pair, queue_pair)) {
            let (queue_pair, due) = (Weak::clone(queue_pair), clock::now() + interval);
            self.0.push(LentLink { queue_pair, interval, due });
        }
    }

    /// When the next check is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().map(|one| one.due).min()
    }

    /// Takes back the links whose pollers have stopped polling.
    pub(super) fn check(&mut self, order: &mut EventOrder, is_busy: bool) {
        if self.0.is_empty() {
            return;
        }
        let now = clock::now();
        self.0.retain_mut(|one| {
            if one.due > now + SLACK {
                return true;
            }
            one.interval = next_interval(one.interval).min(intervals(is_busy).1);
            one.due = now + one.interval;
            one.queue_pair.upgrade().is_some_and(|queue_pair| queue_pair.check_lease(order))
        });
    }
}
