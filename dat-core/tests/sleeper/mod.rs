//! A dispatcher over a completion queue of the test, and a thread that sleeps on it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use dat_core::provider::{
    Completion, CompletionPoller, CompletionQueue, CompletionQueueParts, CompletionSink, Provider,
    WaiterProgress,
};
use dat_core::{Evd, EvdFlags, EvdOptions, Event, Ia, Timeout, WaitResult};
use dat_provider_hooks::faults::{FaultPlan, FaultyProvider};
use dat_provider_hooks::trace::{TraceRing, TracingProvider};

use crate::altered_stub::{self, AlteredStub};

pub(crate) const LIMIT: Timeout = Timeout::After(Duration::from_secs(20));
pub(crate) const SHORT: Timeout = Timeout::After(Duration::from_millis(5));

/// What the completion queue of a test is made of.
pub(crate) trait Device: Send + Sync + 'static {
    /// The poller of its completions.
    fn poller(self: Arc<Self>) -> Box<dyn CompletionPoller>;

    /// Where the upcalls go, once the queue exists.
    fn sink(&self) -> &OnceLock<Arc<dyn CompletionSink>>;

    /// Number of sleeps that a waiter has begun.
    fn sleeps(&self) -> u32;

    /// Waits until a waiter has begun this many sleeps.
    fn await_sleep(&self, count: u32) {
        while self.sleeps() < count {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

struct Queue;

impl CompletionQueue for Queue {}

/// The stub with the completion queue of a device, which makes one.
pub(crate) fn stub(
    device: &Arc<impl Device>,
    progress: Option<Arc<dyn WaiterProgress>>,
) -> Arc<dyn Provider> {
    let device = Arc::clone(device);
    let create_queue = move |sink| {
        assert!(device.sink().set(sink).is_ok(), "each test makes one");
        let poller = Arc::clone(&device).poller();
        CompletionQueueParts { queue: Arc::new(Queue), poller }
    };
    let create_queue = Some(Arc::new(create_queue) as _);
    Arc::new(AlteredStub { create_queue, progress, ..AlteredStub::default() })
}

type Around = fn(Arc<dyn Provider>) -> Arc<dyn Provider>;

/// Providers around another one, which pass its calls on.
pub(crate) const AROUND: [Around; 2] = [
    |inner| Arc::new(FaultyProvider::new(inner, FaultPlan::new())),
    |inner| Arc::new(TracingProvider::new(inner, Arc::new(TraceRing::new(99)))),
];

/// Takes completions as a poll does.
pub(crate) fn take(waiting: &mut VecDeque<Completion>, into: &mut [Completion]) -> usize {
    let count = waiting.len().min(into.len());
    for (place, completion) in into.iter_mut().zip(waiting.drain(..count)) {
        *place = completion;
    }
    count
}

/// A descriptor that is always ready, and never readable.
pub(crate) fn broken_descriptor() -> Arc<OwnedFd> {
    let (reader, writer) = nix::unistd::pipe().expect("a pipe");
    drop(writer);
    Arc::new(reader)
}

pub(crate) struct Node<D> {
    pub(crate) ia: Ia,
    pub(crate) evd: Evd,
    pub(crate) device: Arc<D>,
}

impl<D: Device> Node<D> {
    pub(crate) fn over(provider: Arc<dyn Provider>, device: Arc<D>, flags: EvdFlags) -> Self {
        let ia = altered_stub::open(provider);
        let evd = ia.evd_create(&EvdOptions::new(8, flags)).expect("a dispatcher");
        Self { ia, evd, device }
    }

    /// Calls `act` once the waiter sleeps.
    pub(crate) fn while_asleep(
        &self,
        act: impl FnOnce(&Self) + Send,
    ) -> dat_core::Result<WaitResult> {
        thread::scope(|scope| {
            let waiter = scope.spawn(|| self.evd.wait(LIMIT, 1, &mut Event::default()));
            self.device.await_sleep(1);
            act(self);
            waiter.join().expect("no panic")
        })
    }
}
