//! Waits on a dispatcher whose completion queue has a descriptor: what wakes the waiter.

mod altered_stub;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use altered_stub::AlteredStub;
use dat_core::provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionQueue, CompletionQueueParts,
    CompletionSink, Notify, Provider,
};
use dat_core::{Close, Evd, EvdFlags, EvdOptions, Event, Ia, ReturnType, Timeout, WaitResult};
use dat_provider_hooks::faults::{FaultPlan, FaultyProvider};
use dat_provider_hooks::trace::{TraceRing, TracingProvider};
use dat_sync::Mutex;
use nix::sys::eventfd::{EfdFlags, EventFd};

const LIMIT: Timeout = Timeout::After(Duration::from_secs(20));
const SHORT: Timeout = Timeout::After(Duration::from_millis(5));

/// A completion queue that the tests fill.
struct Device {
    state: Mutex<State>,
    shown: Arc<EventFd>,
    /// Given to the dispatcher in place of a working descriptor.
    broken: Option<Arc<OwnedFd>>,
    sink: OnceLock<Arc<dyn CompletionSink>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Completion>,
    notify: Notify,
    watched: bool,
    /// Number of calls of each method.
    watches: u32,
    upcalls: u32,
}

impl Device {
    fn new(broken: Option<Arc<OwnedFd>>) -> Arc<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let shown = Arc::new(EventFd::from_flags(flags).expect("a descriptor"));
        Arc::new(Self { state: Mutex::default(), shown, broken, sink: OnceLock::new() })
    }

    fn arrive(&self, cookie: u64) {
        let mut state = self.state.lock();
        state.waiting.push_back(Completion { cookie, ..Completion::default() });
        if state.watched && self.broken.is_none() {
            self.shown.write(1).expect("room");
        } else if state.notify != Notify::Off {
            state.upcalls += 1;
            drop(state);
            self.sink.get().expect("made").completion_ready();
        }
    }

    /// Waits until a waiter is about to sleep.
    fn await_watch(&self, count: u32) {
        while self.state.lock().watches < count {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(5));
    }

    fn upcalls(&self) -> u32 {
        self.state.lock().upcalls
    }
}

struct Half;

impl CompletionQueue for Half {}

struct Poller(Arc<Device>);

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut state = self.0.state.lock();
        let count = state.waiting.len().min(into.len());
        for (place, completion) in into.iter_mut().zip(state.waiting.drain(..count)) {
            *place = completion;
        }
        count
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut state = self.0.state.lock();
        (state.notify, state.watched) = (mode, false);
        !state.waiting.is_empty()
    }

    fn descriptor(&mut self) -> Option<CompletionDescriptor> {
        Some(match &self.0.broken {
            Some(broken) => Arc::clone(broken) as CompletionDescriptor,
            None => Arc::clone(&self.0.shown) as CompletionDescriptor,
        })
    }

    fn arm_descriptor(&mut self) {
        let mut state = self.0.state.lock();
        (state.notify, state.watched) = (Notify::Signalled, true);
        state.watches += 1;
        let _ = self.0.shown.read();
    }

    fn resize(&mut self, _depth: usize) -> dat_core::Result<()> {
        Ok(())
    }
}

/// The stub with that completion queue.
fn showing(device: &Arc<Device>) -> Arc<dyn Provider> {
    let device = Arc::clone(device);
    let create_queue = move |sink| {
        assert!(device.sink.set(sink).is_ok(), "each test makes one");
        let poller = Box::new(Poller(Arc::clone(&device)));
        CompletionQueueParts { queue: Arc::new(Half), poller }
    };
    let create_queue = Some(Arc::new(create_queue) as _);
    Arc::new(AlteredStub { create_queue, ..AlteredStub::default() })
}

struct Node {
    ia: Ia,
    evd: Evd,
    device: Arc<Device>,
}

fn node_over(provider: Arc<dyn Provider>, device: Arc<Device>) -> Node {
    let ia = altered_stub::open(provider);
    let flags = EvdFlags::SOFTWARE | EvdFlags::DTO;
    let evd = ia.evd_create(&EvdOptions::new(8, flags)).expect("a dispatcher");
    Node { ia, evd, device }
}

fn node() -> Node {
    let device = Device::new(None);
    node_over(showing(&device), device)
}

/// Calls `act` once the waiter sleeps.
fn while_asleep(node: &Node, act: impl FnOnce(&Node) + Send) -> dat_core::Result<WaitResult> {
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| node.evd.wait(LIMIT, 1, &mut Event::default()));
        node.device.await_watch(1);
        act(node);
        waiter.join().expect("no panic")
    })
}

#[test]
fn a_completion_wakes_the_waiter_without_an_upcall() {
    let node = node();
    assert_eq!(
        while_asleep(&node, |node| node.device.arrive(1)),
        Ok(WaitResult::Event { more: 0 })
    );
    assert_eq!(node.device.upcalls(), 0);
}

#[test]
fn other_events_wake_it_as_well_and_keep_their_order() {
    let node = node();
    let waited = while_asleep(&node, |node| {
        node.evd.post_software_event(1).expect("room");
        node.device.arrive(2);
    });
    assert!(waited.is_ok_and(WaitResult::is_event));
    let mut event = Event::default();
    while !node.evd.dequeue(&mut event).expect("no thread waits") {}
    assert!(matches!(event, Event::Dto(completion) if completion.cookie == 2), "{event:?}");
}

#[test]
fn the_waiter_sleeps_again_until_the_threshold() {
    let node = node();
    let waited = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| node.evd.wait(LIMIT, 3, &mut Event::default()));
        for round in 1..=3 {
            node.device.await_watch(round);
            node.device.arrive(round.into());
        }
        waiter.join().expect("no panic")
    });
    assert_eq!(waited, Ok(WaitResult::Event { more: 2 }));
    assert_eq!(node.device.upcalls(), 0);
}

#[test]
fn set_unwaitable_ends_the_wait() {
    let node = node();
    let told = while_asleep(&node, |node| node.evd.set_unwaitable().expect("live"));
    assert!(told.expect_err("no event").is(ReturnType::InvalidState));
    let node = self::node();
    let closed = while_asleep(&node, |node| node.ia.close(Close::Abrupt).expect("open"));
    assert!(closed.expect_err("no event").is(ReturnType::Abort));
}

#[test]
fn the_time_out_passes() {
    let node = node();
    let waited = node.evd.wait(SHORT, 1, &mut Event::default());
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
}

#[test]
fn without_a_waiter_arrivals_make_upcalls_again() {
    let node = node();
    while_asleep(&node, |node| node.device.arrive(1)).expect("an event");
    node.device.arrive(2);
    assert_eq!(node.device.upcalls(), 0, "no upcall was requested");
    node.evd.dequeue(&mut Event::default()).expect("no thread waits");
    assert!(!node.evd.arm().expect("no thread waits"));
    node.device.arrive(3);
    assert_eq!(node.device.upcalls(), 1, "the descriptor of the dispatcher is armed");
}

#[test]
fn a_waiter_does_without_a_broken_descriptor() {
    let (reader, writer) = nix::unistd::pipe().expect("a pipe");
    drop(writer);
    let device = Device::new(Some(Arc::new(reader)));
    let node = node_over(showing(&device), device);
    let waited = while_asleep(&node, |node| {
        while node.device.state.lock().watched {
            std::thread::sleep(Duration::from_millis(1));
        }
        node.device.arrive(1);
    });
    assert_eq!(waited, Ok(WaitResult::Event { more: 0 }));
    assert_eq!((node.device.upcalls(), node.device.state.lock().watches), (1, 1));
}

#[test]
fn providers_around_another_one_pass_the_descriptor_on() {
    type Around = fn(Arc<dyn Provider>) -> Arc<dyn Provider>;
    let around: [Around; 2] = [
        |inner| Arc::new(FaultyProvider::new(inner, FaultPlan::new())),
        |inner| Arc::new(TracingProvider::new(inner, Arc::new(TraceRing::new(99)))),
    ];
    for around in around {
        let device = Device::new(None);
        let node = node_over(around(showing(&device)), device);
        assert!(while_asleep(&node, |node| node.device.arrive(1)).is_ok_and(WaitResult::is_event));
        assert_eq!(node.device.upcalls(), 0);
    }
}

#[test]
fn the_descriptor_outlives_the_queue_for_the_waiter() {
    let node = node();
    let shown = Arc::clone(&node.device.shown);
    let closed = while_asleep(&node, |node| node.ia.close(Close::Abrupt).expect("open"));
    assert!(closed.is_err());
    assert!(shown.as_fd().try_clone_to_owned().is_ok());
}
