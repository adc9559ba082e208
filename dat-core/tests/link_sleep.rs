//! Waits of a thread that sleeps on the only connection of its dispatcher.

mod altered_stub;
mod sleeper;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use dat_core::provider::{
    Completion, CompletionDescriptor, CompletionPoller, CompletionSink, Notify, Provider,
    WaiterProgress,
};
use dat_core::{Close, EvdFlags, Event, ReturnType, WaitResult};
use dat_sync::Mutex;
use nix::sys::eventfd::{EfdFlags, EventFd};
use sleeper::{AROUND, Device as _, LIMIT, Node, SHORT, broken_descriptor, stub, take};

/// A completion queue with one connection.
struct Device {
    state: Mutex<State>,
    /// Readable while something has arrived on the connection.
    link: Arc<EventFd>,
    /// Given to the waiter in place of a working descriptor.
    broken: Option<Arc<OwnedFd>>,
    sink: OnceLock<Arc<dyn CompletionSink>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Completion>,
    notify: Notify,
    /// The connection has gone.
    is_gone: bool,
    is_slept_on: bool,
    /// Number of calls of each method.
    begun: u32,
    ended: u32,
    upcalls: u32,
}

impl Device {
    fn new(broken: Option<Arc<OwnedFd>>) -> Arc<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let link = Arc::new(EventFd::from_flags(flags).expect("a descriptor"));
        Arc::new(Self { state: Mutex::default(), link, broken, sink: OnceLock::new() })
    }

    /// Something arrives: a sleeping waiter finds it, or the thread of the adapter makes the upcall.
    fn arrive(&self, cookie: u64) {
        let mut state = self.state.lock();
        state.waiting.push_back(Completion { cookie, ..Completion::default() });
        if state.is_slept_on {
            self.link.write(1).expect("room");
            return;
        }
        let wanted = state.notify != Notify::Off;
        state.upcalls += u32::from(wanted);
        drop(state);
        if wanted {
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
        self.state.lock().begun
    }
}

struct Poller(Arc<Device>);

impl CompletionPoller for Poller {
    fn poll(&mut self, into: &mut [Completion]) -> usize {
        let mut state = self.0.state.lock();
        let _ = self.0.link.read();
        take(&mut state.waiting, into)
    }

    fn notify(&mut self, mode: Notify) -> bool {
        let mut state = self.0.state.lock();
        state.notify = mode;
        !state.waiting.is_empty()
    }

    fn begin_sleep(&mut self) -> Option<CompletionDescriptor> {
        let mut state = self.0.state.lock();
        state.begun += 1;
        state.is_slept_on = !state.is_gone;
        let link = || Arc::clone(&self.0.link) as CompletionDescriptor;
        let descriptor = self.0.broken.as_ref().map(|broken| Arc::clone(broken) as _);
        state.is_slept_on.then(|| descriptor.unwrap_or_else(link))
    }

    fn end_sleep(&mut self) {
        let mut state = self.0.state.lock();
        state.ended += 1;
        state.is_slept_on = false;
    }

    fn resize(&mut self, _depth: usize) -> dat_core::Result<()> {
        Ok(())
    }
}

/// Progress that no waiter may claim.
struct Refused(Arc<EventFd>);

impl WaiterProgress for Refused {
    fn claim(&self) -> bool {
        false
    }

    fn release(&self) {}

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn advance(&self) -> bool {
        true
    }
}

fn provider(device: &Arc<Device>) -> Arc<dyn Provider> {
    let progress = Refused(Arc::clone(&device.link));
    stub(device, Some(Arc::new(progress)))
}

fn node() -> Node<Device> {
    let device = Device::new(None);
    Node::over(provider(&device), device, EvdFlags::SOFTWARE | EvdFlags::DTO)
}

#[test]
fn an_arrival_on_the_connection_wakes_the_waiter_without_an_upcall() {
    let node = node();
    let waited = node.while_asleep(|node| node.device.arrive(1));
    assert_eq!(waited, Ok(WaitResult::Event { more: 0 }));
    let state = node.device.state.lock();
    assert_eq!((state.upcalls, state.ended, state.is_slept_on), (0, 1, false));
}

#[test]
fn other_events_wake_the_waiter_too() {
    let node = node();
    let waited = node.while_asleep(|node| node.evd.post_software_event(1).expect("room"));
    assert!(waited.is_ok_and(WaitResult::is_event));
    assert!(!node.device.state.lock().is_slept_on);
}

#[test]
fn the_waiter_sleeps_on_the_connection_until_the_threshold() {
    let node = node();
    let waited = thread::scope(|scope| {
        let waiter = scope.spawn(|| node.evd.wait(LIMIT, 3, &mut Event::default()));
        for cookie in 1..=3 {
            let begun = node.device.state.lock().begun;
            node.device.await_sleep(begun.max(1));
            node.device.arrive(cookie);
        }
        waiter.join().expect("no panic")
    });
    assert_eq!(waited, Ok(WaitResult::Event { more: 2 }));
    let state = node.device.state.lock();
    assert_eq!((state.upcalls, state.ended), (0, 1));
}

#[test]
fn the_time_out_and_the_end_of_the_dispatcher_end_the_sleep() {
    let node = node();
    let waited = node.evd.wait(SHORT, 1, &mut Event::default());
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
    assert!(!node.device.state.lock().is_slept_on);
    let refused = node.while_asleep(|node| node.evd.set_unwaitable().expect("live"));
    assert!(refused.expect_err("no event").is(ReturnType::InvalidState));
    assert!(!node.device.state.lock().is_slept_on);
    let node = self::node();
    let closed = node.while_asleep(|node| node.ia.close(Close::Abrupt).expect("open"));
    assert!(closed.expect_err("no event").is(ReturnType::Abort));
}

/// Frames that complete nothing for the waiter must not prolong its wait.
#[test]
fn a_connection_that_is_always_readable_does_not_prolong_the_wait() {
    let node = node();
    let device = Arc::clone(&node.device);
    let stop = Arc::new(Mutex::new(false));
    let busy = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            while !*stop.lock() {
                let _ = device.link.write(1);
                thread::yield_now();
            }
        })
    };
    let waited = node.evd.wait(SHORT, 1, &mut Event::default());
    assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
    *stop.lock() = true;
    busy.join().expect("no panic");
}

#[test]
fn when_the_connection_has_gone_or_its_descriptor_is_broken_upcalls_wake_the_waiter() {
    let node = node();
    let waited = node.while_asleep(|node| {
        node.device.state.lock().is_gone = true;
        node.device.link.write(1).expect("room");
        node.device.await_sleep(2);
        node.device.arrive(1);
    });
    assert_eq!((waited, node.device.upcalls()), (Ok(WaitResult::Event { more: 0 }), 1));

    let device = Device::new(Some(broken_descriptor()));
    let node = Node::over(provider(&device), device, EvdFlags::DTO);
    let waited = node.while_asleep(|node| {
        while node.device.state.lock().is_slept_on {
            thread::sleep(Duration::from_millis(1));
        }
        node.device.arrive(1);
    });
    assert_eq!((waited, node.device.upcalls()), (Ok(WaitResult::Event { more: 0 }), 1));
}

/// The thread of the adapter reports them, and the waiter would only take a part of its work.
#[test]
fn a_dispatcher_with_events_of_connections_does_not_sleep_on_one() {
    let device = Device::new(None);
    let flags = EvdFlags::DTO | EvdFlags::CONNECTION;
    let node = Node::over(provider(&device), device, flags);
    assert!(!node.evd.wait(SHORT, 1, &mut Event::default()).expect("no other waiter").is_event());
    assert_eq!(node.device.state.lock().begun, 0);
}

#[test]
fn providers_around_another_one_pass_the_sleep_on() {
    for around in AROUND {
        let device = Device::new(None);
        let node = Node::over(around(provider(&device)), device, EvdFlags::DTO);
        assert!(node.while_asleep(|node| node.device.arrive(1)).is_ok_and(WaitResult::is_event));
        assert_eq!((node.device.upcalls(), node.device.state.lock().ended), (0, 1));
    }
}
