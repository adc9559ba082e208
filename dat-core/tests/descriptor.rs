//! Waits on a dispatcher whose completion queue has a descriptor: what wakes the waiter.

mod altered_stub;
mod sleeper;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dat_core::provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionSink, Notify,
};
use dat_core::{Close, EvdFlags, Event, ReturnType, WaitResult};
use dat_sync::Mutex;
use nix::sys::eventfd::{EfdFlags, EventFd};
use sleeper::{AROUND, Device as _, LIMIT, Node, SHORT, broken_descriptor, stub, take};

const FLAGS: EvdFlags = EvdFlags::SOFTWARE.union(EvdFlags::DTO);

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

    fn upcalls(&self) -> u32 {
        self.state.lock().upcalls
    }
}

impl sleeper::Device for Device {
    fn poller(self: Arc<Self>) -> Box<dyn CompletionPoller> {
        Box::new(Poller(self))
    }

    fn sink(&self) -> &OnceLock<Arc<dyn CompletionSink>> {
        &self.sink
    }

    fn sleeps(&self) -> u32 {
        self.state.lock().watches
    }
}

struct Poller(Arc<Device>);

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        take(&mut self.0.state.lock().waiting, into)
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

fn node() -> Node<Device> {
    let device = Device::new(None);
    Node::over(stub(&device, None), device, FLAGS)
}

#[test]
fn a_completion_wakes_the_waiter_without_an_upcall() {
    let node = node();
    assert_eq!(node.while_asleep(|node| node.device.arrive(1)), Ok(WaitResult::Event { more: 0 }));
    assert_eq!(node.device.upcalls(), 0);
}

#[test]
fn other_events_wake_it_as_well_and_keep_their_order() {
    let node = node();
    let waited = node.while_asleep(|node| {
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
            node.device.await_sleep(round);
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
    let told = node.while_asleep(|node| node.evd.set_unwaitable().expect("live"));
    assert!(told.expect_err("no event").is(ReturnType::InvalidState));
    let node = self::node();
    let closed = node.while_asleep(|node| node.ia.close(Close::Abrupt).expect("open"));
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
    node.while_asleep(|node| node.device.arrive(1)).expect("an event");
    node.device.arrive(2);
    assert_eq!(node.device.upcalls(), 0, "no upcall was requested");
    node.evd.dequeue(&mut Event::default()).expect("no thread waits");
    assert!(!node.evd.arm().expect("no thread waits"));
    node.device.arrive(3);
    assert_eq!(node.device.upcalls(), 1, "the descriptor of the dispatcher is armed");
}

#[test]
fn a_waiter_does_without_a_broken_descriptor() {
    let device = Device::new(Some(broken_descriptor()));
    let node = Node::over(stub(&device, None), device, FLAGS);
    let waited = node.while_asleep(|node| {
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
    for around in AROUND {
        let device = Device::new(None);
        let node = Node::over(around(stub(&device, None)), device, FLAGS);
        assert!(node.while_asleep(|node| node.device.arrive(1)).is_ok_and(WaitResult::is_event));
        assert_eq!(node.device.upcalls(), 0);
    }
}

#[test]
fn the_descriptor_outlives_the_queue_for_the_waiter() {
    let node = node();
    let shown = Arc::clone(&node.device.shown);
    let closed = node.while_asleep(|node| node.ia.close(Close::Abrupt).expect("open"));
    assert!(closed.is_err());
    assert!(shown.as_fd().try_clone_to_owned().is_ok());
}
