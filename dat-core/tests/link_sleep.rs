//! Waits of a thread that sleeps on the only connection of its dispatcher.

mod altered_stub;
mod sleeper;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use dat_core::blocking::{BlockedEvdWait, SleepOn, SleepResult, WaitDeadline, WaitStep};
use dat_core::provider::{
    Completion, CompletionPoller, CompletionSink, Notify, Provider, SharedWord, SleepTarget,
    WaiterProgress,
};
use dat_core::{Close, EvdFlags, Event, ReturnType, WaitResult};
use dat_sync::{Mutex, futex};
use nix::sys::eventfd::{EfdFlags, EventFd};
use rustix::io::Errno;
use sleeper::{AROUND, Device as _, LIMIT, Node, SHORT, broken_descriptor, stub, take};

/// A completion queue with one connection.
struct Device {
    state: Mutex<State>,
    /// Readable while something has arrived on the connection.
    link: Arc<EventFd>,
    /// Changes whenever something arrives on the connection.
    word: Arc<Word>,
    kind: Kind,
    sink: OnceLock<Arc<dyn CompletionSink>>,
}

/// What the device gives to a waiter to sleep on.
#[derive(Clone)]
enum Kind {
    Descriptor,
    Word,
    /// This descriptor, which does not work.
    Broken(Arc<OwnedFd>),
}

/// The kinds that work on this system.
fn kinds() -> impl Iterator<Item = Kind> {
    [Kind::Descriptor].into_iter().chain(futex::is_available().then_some(Kind::Word))
}

#[derive(Default)]
struct Word(AtomicU32);

impl SharedWord for Word {
    fn word(&self) -> &AtomicU32 {
        &self.0
    }
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
    fn new(kind: Kind) -> Arc<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let link = Arc::new(EventFd::from_flags(flags).expect("a descriptor"));
        let (state, word, sink) = (Mutex::default(), Arc::default(), OnceLock::new());
        Arc::new(Self { state, link, word, kind, sink })
    }

    /// Ends a sleep on the connection.
    fn signal(&self) {
        let _ = self.link.write(1);
        self.word.0.fetch_add(1, Ordering::Relaxed);
        futex::wake_shared(&self.word.0);
    }

    /// Something arrives: a sleeping waiter finds it, or the thread of the adapter makes the upcall.
    fn arrive(&self, cookie: u64) {
        let mut state = self.state.lock();
        state.waiting.push_back(Completion { cookie, ..Completion::default() });
        if state.is_slept_on {
            self.signal();
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

    fn begin_sleep(&mut self) -> Option<SleepTarget> {
        let mut state = self.0.state.lock();
        state.begun += 1;
        state.is_slept_on = !state.is_gone;
        state.is_slept_on.then(|| match &self.0.kind {
            Kind::Descriptor => SleepTarget::Descriptor(Arc::clone(&self.0.link) as _),
            Kind::Broken(broken) => SleepTarget::Descriptor(Arc::clone(broken) as _),
            Kind::Word => {
                let seen = self.0.word.0.load(Ordering::Relaxed);
                SleepTarget::Word { word: Arc::clone(&self.0.word) as _, seen }
            }
        })
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

fn node(kind: Kind) -> Node<Device> {
    let device = Device::new(kind);
    Node::over(provider(&device), device, EvdFlags::SOFTWARE | EvdFlags::DTO)
}

#[test]
fn an_arrival_on_the_connection_wakes_the_waiter_without_an_upcall() {
    for kind in kinds() {
        let node = node(kind);
        let waited = node.while_asleep(|node| node.device.arrive(1));
        assert_eq!(waited, Ok(WaitResult::Event { more: 0 }));
        let state = node.device.state.lock();
        assert_eq!((state.upcalls, state.ended, state.is_slept_on), (0, 1, false));
    }
}

#[test]
fn other_events_wake_the_waiter_too() {
    for kind in kinds() {
        let node = node(kind);
        let waited = node.while_asleep(|node| node.evd.post_software_event(1).expect("room"));
        assert!(waited.is_ok_and(WaitResult::is_event));
        assert!(!node.device.state.lock().is_slept_on);
    }
}

#[test]
fn the_waiter_sleeps_on_the_connection_until_the_threshold() {
    for kind in kinds() {
        let node = node(kind);
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
}

#[test]
fn the_time_out_and_the_end_of_the_dispatcher_end_the_sleep() {
    for kind in kinds() {
        let first = node(kind.clone());
        let waited = first.evd.wait(SHORT, 1, &mut Event::default());
        assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
        assert!(!first.device.state.lock().is_slept_on);
        let refused = first.while_asleep(|node| node.evd.set_unwaitable().expect("live"));
        assert!(refused.expect_err("no event").is(ReturnType::InvalidState));
        assert!(!first.device.state.lock().is_slept_on);
        let node = node(kind);
        let closed = node.while_asleep(|node| node.ia.close(Close::Abrupt).expect("open"));
        assert!(closed.expect_err("no event").is(ReturnType::Abort));
    }
}

/// A wait of a consumer that sleeps by itself. Nothing has arrived.
fn start_wait(node: &Node<Device>) -> BlockedEvdWait {
    let (deadline, mut event) = (WaitDeadline::new(LIMIT), Event::default());
    let step = node.evd.start_wait(&deadline, 1, &mut event).expect("no other waiter");
    let WaitStep::Blocked(blocked) = step else { panic!("nothing has arrived") };
    blocked
}

/// A consumer that sleeps by itself, as the C libraries do, gets the same words.
#[test]
fn a_wait_in_steps_sleeps_on_the_word_of_the_connection_and_its_own() {
    if !futex::is_available() {
        return println!("NOT RUN: the system has no futex_waitv(2)");
    }
    let node = node(Kind::Word);
    let mut blocked = start_wait(&node);
    let own = {
        let Some(SleepOn::Words(words)) = blocked.begin_sleep() else { panic!("words") };
        assert!(std::ptr::eq(words.shared.word, &node.device.word.0));
        let slept = futex::wait(&words, Some(Duration::from_millis(1)));
        assert_eq!(slept, Err(Errno::TIMEDOUT));
        words.own
    };
    let seen = own.seen;
    node.evd.post_software_event(1).expect("room");
    assert_ne!(own.word.load(Ordering::Relaxed), seen, "another thread wakes the waiter");
    let step = blocked.resume(SleepResult::Woken, &mut Event::default()).expect("live");
    assert!(matches!(step, WaitStep::Done(WaitResult::Event { more: 0 })));
    assert!(!node.device.state.lock().is_slept_on);
}

#[test]
fn an_abandoned_wait_sleeps_on_the_connection_no_more() {
    for kind in kinds() {
        let node = node(kind);
        let mut blocked = start_wait(&node);
        assert!(blocked.begin_sleep().is_some());
        drop(blocked);
        assert!(!node.device.state.lock().is_slept_on);
        node.device.arrive(1);
        assert!(node.evd.wait(LIMIT, 1, &mut Event::default()).is_ok_and(WaitResult::is_event));
    }
}

/// A sandbox may forbid the call after the provider has begun to use it.
#[test]
fn when_the_system_refuses_the_sleep_on_words_upcalls_wake_the_waiter() {
    if !futex::is_available() {
        return println!("NOT RUN: the system has no futex_waitv(2)");
    }
    let node = node(Kind::Word);
    let mut event = Event::default();
    let mut blocked = start_wait(&node);
    assert!(matches!(blocked.begin_sleep(), Some(SleepOn::Words(_))));
    let step = blocked.resume(SleepResult::Unavailable, &mut event).expect("live");
    let WaitStep::Blocked(mut blocked) = step else { panic!("nothing has arrived") };
    assert!(!node.device.state.lock().is_slept_on);
    assert!(matches!(blocked.begin_sleep(), Some(SleepOn::Word { .. })));
    node.device.arrive(1);
    assert_eq!(node.device.upcalls(), 1);
    let step = blocked.resume(SleepResult::Woken, &mut event).expect("live");
    assert!(matches!(step, WaitStep::Done(WaitResult::Event { more: 0 })));
}

/// Frames that complete nothing for the waiter must not prolong its wait.
#[test]
fn a_connection_that_always_ends_the_sleep_does_not_prolong_the_wait() {
    for kind in kinds() {
        let node = node(kind);
        let device = Arc::clone(&node.device);
        let stop = Arc::new(Mutex::new(false));
        let busy = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !*stop.lock() {
                    device.signal();
                    thread::yield_now();
                }
            })
        };
        let waited = node.evd.wait(SHORT, 1, &mut Event::default());
        assert_eq!(waited, Ok(WaitResult::TimedOut { queued: 0 }));
        *stop.lock() = true;
        busy.join().expect("no panic");
    }
}

#[test]
fn when_the_connection_has_gone_or_its_descriptor_is_broken_upcalls_wake_the_waiter() {
    for kind in kinds() {
        let node = node(kind);
        let waited = node.while_asleep(|node| {
            node.device.state.lock().is_gone = true;
            node.device.signal();
            node.device.await_sleep(2);
            node.device.arrive(1);
        });
        assert_eq!((waited, node.device.upcalls()), (Ok(WaitResult::Event { more: 0 }), 1));
    }

    let device = Device::new(Kind::Broken(broken_descriptor()));
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
    let device = Device::new(Kind::Descriptor);
    let flags = EvdFlags::DTO | EvdFlags::CONNECTION;
    let node = Node::over(provider(&device), device, flags);
    assert!(!node.evd.wait(SHORT, 1, &mut Event::default()).expect("no other waiter").is_event());
    assert_eq!(node.device.state.lock().begun, 0);
}

#[test]
fn providers_around_another_one_pass_the_sleep_on() {
    for (around, kind) in AROUND.into_iter().flat_map(|around| kinds().map(move |it| (around, it)))
    {
        let device = Device::new(kind);
        let node = Node::over(around(provider(&device)), device, EvdFlags::DTO);
        assert!(node.while_asleep(|node| node.device.arrive(1)).is_ok_and(WaitResult::is_event));
        assert_eq!((node.device.upcalls(), node.device.state.lock().ended), (0, 1));
    }
}
