//! The spin phase of a wait: the waiter polls the queue before it announces itself, or makes the progress
//! of connections afterwards.
//!
//! A wait that ends here behaves as if it had begun with its last poll, so whatever other threads
//! did to the dispatcher before happened before the wait. Nothing has to be announced or withdrawn.

use super::EvdInner;
use super::spin_policy::Spin;
use crate::blocking::WaitDeadline;
use crate::claim::Claim;
use crate::provider::plain_success::{PlainSuccess, TakeResult};
use crate::sync::pause_shortly;
use crate::timeout::Timeout;

impl EvdInner {
    /// Spins for the next event and takes it if it is a plain success; returns the number of events
    /// left. Returns `None`, with no side effect, if the caller must block instead: another event is
    /// first, another thread is waiting, or the wait is not allowed. The time-out begins to count
    /// once the spin takes a noticeable time.
    pub(super) fn spin_wait(
        &self,
        deadline: &WaitDeadline,
        threshold: u32,
        into: &mut PlainSuccess,
    ) -> Option<usize> {
        let mut spin: Option<Spin> = None;
        loop {
            let mut queue = self.queue.lock();
            // The descriptor or notification object must not be notified of an event that the
            // waiter takes.
            if queue.is_taken() || queue.is_unwaitable() || queue.is_listened_to() {
                return None;
            }
            let taken = match threshold {
                1 => match queue.take_success(into) {
                    TakeResult::Other => queue.take_moved(into),
                    taken => taken,
                },
                _ if threshold as usize > queue.capacity() => return None,
                _ => TakeResult::Other,
            };
            match taken {
                TakeResult::Success => {
                    if let Some(spin) = &spin {
                        queue.spin_policy.learn(spin, true);
                    }
                    return Some(queue.left());
                }
                TakeResult::Nothing => {}
                TakeResult::Other if queue.collect() >= threshold as usize => return None,
                // The slow path reports to the queue pair, which must happen without a lock.
                TakeResult::Other if queue.has_report() => return None,
                TakeResult::Other => {}
            }
            if self.may_spin_with_progress() {
                return None;
            }
            let spin = spin.get_or_insert_with(|| queue.spin(deadline.timeout()));
            drop(queue);
            if !self.goes_on(spin) {
                return None;
            }
            if spin.is_noticeable() {
                deadline.start();
            }
            pause_shortly();
        }
    }

    /// Returns true if only the progress of connections brings events, and the waiter can make it. Polls alone
    /// would find nothing then that another thread has not been woken for.
    pub(super) fn may_spin_with_progress(&self) -> bool {
        self.completions.is_none() && self.base.ia.progress.is_some()
    }

    /// Spins for `threshold` events with the progress of the adapter.
    pub(super) fn spin_with_progress(&self, claim: &Claim, timeout: Timeout, threshold: usize) {
        let mut spin = self.queue.lock().spin(timeout);
        while self.goes_on(&mut spin) {
            // If the adapter's own thread is making progress, its events are found here, too.
            let _ = claim.advance();
            let mut queue = self.queue.lock();
            let has_events = queue.collect() >= threshold;
            if has_events || queue.has_to_go() {
                queue.spin_policy.learn(&spin, has_events);
                return;
            }
            drop(queue);
            pause_shortly();
        }
    }

    /// A poll has found nothing. Returns whether to poll again.
    fn goes_on(&self, spin: &mut Spin) -> bool {
        let goes_on = spin.goes_on();
        if !goes_on && spin.is_allowed() {
            self.queue.lock().spin_policy.learn(spin, false);
        }
        goes_on
    }
}
