//! Progress of the adapter by the waiter that would otherwise sleep until another thread makes it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dat_sync::descriptors::Beacon;

use crate::blocking::SleepResult;
use crate::provider::WaiterProgress;
use crate::sync::{Mutex, await_readable};

/// The progress of an adapter that waiters can claim.
pub(crate) struct ClaimableProgress {
    progress: Arc<dyn WaiterProgress>,
    /// The wake-up object of the waiter that has the claim, besides the connections of the adapter.
    wake: Arc<Beacon>,
    /// Wake-up objects of waiters without the claim that sleep on a connection; none of them is in use.
    spare: Mutex<Vec<Arc<Beacon>>>,
    /// True if the adapter had a proxy agent. An agent is called by the thread that makes progress,
    /// and the waiter may hold locks that the agent needs.
    has_agents: AtomicBool,
}

/// A sleep on connections lasts no longer, so that a waiter whose descriptors the program has closed finds that out: no
/// call can wake it any more.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// The claim of a waiter, which ends when it is dropped.
pub(crate) struct Claim(Arc<ClaimableProgress>);

impl ClaimableProgress {
    /// `None` if the process has no descriptor left.
    pub(crate) fn new(progress: Arc<dyn WaiterProgress>) -> Option<Arc<Self>> {
        let wake = Arc::new(Beacon::new().ok()?);
        let (spare, has_agents) = (Mutex::default(), AtomicBool::new(false));
        Some(Arc::new(Self { progress, wake, spare, has_agents }))
    }

    /// A wake-up object for a waiter that sleeps on a connection; `None` if the process has no descriptor left.
    pub(crate) fn take_wake(&self) -> Option<Arc<Beacon>> {
        let spare = self.spare.lock().pop();
        spare.or_else(|| Beacon::new().ok().map(Arc::new))
    }

    /// Keeps a wake-up object that no thread uses any more and that is not readable.
    pub(crate) fn return_wake(&self, wake: Arc<Beacon>) {
        self.spare.lock().push(wake);
    }

    /// A poll of a dispatcher for connection events has found nothing.
    pub(crate) fn poll(&self) {
        if !self.has_agents.load(Ordering::Relaxed) {
            self.progress.poll();
        }
    }

    /// From now on no waiter claims the progress, because proxy agents may be called.
    pub(crate) fn note_agent(&self) {
        self.has_agents.store(true, Ordering::Relaxed);
    }
}

impl Claim {
    /// The claim, unless another waiter has it, none may have it, or there is no progress to claim.
    pub(crate) fn new(progress: Option<&Arc<ClaimableProgress>>) -> Option<Self> {
        let progress = progress?;
        let may_claim = !progress.has_agents.load(Ordering::Relaxed);
        (may_claim && progress.progress.claim()).then(|| Self(Arc::clone(progress)))
    }

    /// Makes progress; see [`WaiterProgress::advance`].
    pub(crate) fn advance(&self) -> bool {
        self.0.progress.advance()
    }

    /// Makes progress after a sleep, and ends the claim if the thread must not sleep on it again. Returns
    /// how the sleep ended: connections of others may wake the thread all the time, which must not
    /// prolong its wait.
    pub(crate) fn advance_after(
        claim: &mut Option<Self>,
        outcome: SleepResult,
        time_left: Option<Duration>,
    ) -> SleepResult {
        let Some(held) = claim else { return outcome };
        if outcome == SleepResult::Unavailable || !held.advance() {
            *claim = None;
        }
        outcome_after(outcome, time_left)
    }

    /// The descriptor that another thread makes readable to wake the waiter.
    pub(crate) fn wake(&self) -> &Arc<Beacon> {
        &self.0.wake
    }

    /// Sleeps on the descriptors until a wake-up or the deadline. The sleep was announced.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> SleepResult {
        let [own, links] = self.descriptors();
        await_readable(own, links, bounded(deadline))
    }

    /// The descriptors to sleep on: that of [`wake`](Self::wake), and the one that is readable while there is progress
    /// to make.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.0.wake.as_fd(), self.0.progress.descriptor()]
    }
}

/// How a sleep on connections ended, after which the waiter has this time left.
pub(crate) fn outcome_after(outcome: SleepResult, time_left: Option<Duration>) -> SleepResult {
    match outcome {
        _ if time_left == Some(Duration::ZERO) => SleepResult::TimedOut,
        // Only the sleep has ended.
        SleepResult::TimedOut => SleepResult::Woken,
        outcome => outcome,
    }
}

/// Maximum time of a sleep of a waiter with this time left, which sleeps on connections or not.
pub(crate) fn limit(is_on_connections: bool, time_left: Option<Duration>) -> Option<Duration> {
    let is_later = is_on_connections && time_left.is_none_or(|left| left > LONGEST_SLEEP);
    if is_later { Some(LONGEST_SLEEP) } else { time_left }
}

/// The end of a sleep on connections. A model has no clock, so that its sleeps end at once or not at all.
pub(crate) fn bounded(deadline: Option<Instant>) -> Option<Instant> {
    if cfg!(all(test, loom)) {
        return deadline;
    }
    let latest = Instant::now() + LONGEST_SLEEP;
    Some(deadline.map_or(latest, |deadline| deadline.min(latest)))
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.progress.release();
    }
}
