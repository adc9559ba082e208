//! Waits that always end: when the condition is met, or after [`LIMIT`] with a panic that shows the
//! state of the objects. A wait for an event panics too if another one arrives, and a check if it
//! does not hold.

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError, unbounded};
use std::cell::RefCell;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dat_core::{
    AsyncErrorKind, Cno, ConnectionEvent, ConnectionEventKind, CrArrival, DtoCompletion, DtoStatus,
    Ep, EpState, Evd, Event, Result, RmrBindCompletion, Timeout, WaitResult,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::random::message;

/// The time limit of every wait.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Takes the next event, which must arrive within [`LIMIT`].
///
/// # Panics
/// If no event arrives; the message has the state of the dispatcher and of the watched endpoints.
#[track_caller]
pub fn expect_event(evd: &Evd, watched: &[&Ep]) -> Event {
    match set_aside(evd, |_| true) {
        Some(event) => event,
        None => fresh_event(evd, watched),
    }
}

/// A connection event of another endpoint that arrived before the expected one: no page promises
/// an order between the two sides of a connection.
struct Aside {
    evd: u64,
    event: Event,
}

thread_local! {
    static ASIDE: RefCell<Vec<Aside>> = const { RefCell::new(Vec::new()) };
}

/// Takes the first event of a dispatcher that was set aside and that `wanted` accepts.
fn set_aside(evd: &Evd, wanted: impl Fn(&Event) -> bool) -> Option<Event> {
    ASIDE.with_borrow_mut(|aside| {
        let at = aside.iter().position(|one| one.evd == evd.id() && wanted(&one.event))?;
        Some(aside.remove(at).event)
    })
}

/// Waits for events. Those that it finds only after [`LIMIT`] have not woken it.
fn timely_wait(evd: &Evd, threshold: u32, event: &mut Event) -> Result<WaitResult> {
    let begun = Instant::now();
    let waited = evd.wait(LIMIT.into(), threshold, event)?;
    let is_timely = begun.elapsed() < LIMIT || matches!(waited, WaitResult::TimedOut { .. });
    assert!(is_timely, "nothing wakes the waiter: {waited:?}, {event:?}");
    Ok(waited)
}

#[track_caller]
fn fresh_event(evd: &Evd, watched: &[&Ep]) -> Event {
    let mut event = Event::default();
    match timely_wait(evd, 1, &mut event) {
        Ok(WaitResult::Event { .. }) => event,
        other => panic!("no event: {other:?}\n{}", dump(evd, watched)),
    }
}

/// Takes the next connection event of one of the endpoints. Sets aside events of other endpoints
/// that arrive before it, for a later call that expects them.
#[track_caller]
fn next_connection(evd: &Evd, eps: &[&Ep]) -> ConnectionEvent {
    let is_meant = |event: &ConnectionEvent| eps.iter().any(|ep| ep.id() == event.ep);
    let mut found =
        set_aside(evd, |event| matches!(event, Event::Connection(event) if is_meant(event)));
    loop {
        match found.unwrap_or_else(|| fresh_event(evd, eps)) {
            Event::Connection(event) if is_meant(&event) => return event,
            event @ Event::Connection(_) => {
                ASIDE.with_borrow_mut(|all| all.push(Aside { evd: evd.id(), event }));
            }
            other => panic!("a connection event expected: {other:?}\n{}", dump(evd, eps)),
        }
        found = None;
    }
}

/// Takes the next connection event of an endpoint, which must be of the given kind. Sets aside
/// connection events of other endpoints for a later call that expects them.
#[track_caller]
pub fn expect_connection(evd: &Evd, ep: &Ep, kind: ConnectionEventKind) -> ConnectionEvent {
    let event = next_connection(evd, &[ep]);
    assert_eq!(event.kind, kind, "{event:?} of {ep:?}\n{}", dump(evd, &[ep]));
    event
}

/// Takes the next connection event of one of the endpoints, which must be of the given kind, and
/// returns its endpoint. Sets aside connection events of other endpoints.
#[track_caller]
pub fn expect_connection_of<'a>(evd: &Evd, eps: &'a [Ep], kind: ConnectionEventKind) -> &'a Ep {
    let watched: Vec<&Ep> = eps.iter().collect();
    let event = next_connection(evd, &watched);
    let found = eps.iter().find(|ep| ep.id() == event.ep && event.kind == kind);
    found.unwrap_or_else(|| panic!("{kind:?} expected: {event:?}\n{}", dump(evd, &watched)))
}

/// Takes one connection event of each endpoint, in any order, all of the given kind.
#[track_caller]
pub fn expect_connections(evd: &Evd, eps: &[&Ep], kind: ConnectionEventKind) {
    for ep in eps {
        expect_connection(evd, ep, kind);
    }
}

/// Takes the next event, which must be the completion of a data transfer operation (DTO).
#[track_caller]
pub fn expect_dto(evd: &Evd, watched: &[&Ep]) -> DtoCompletion {
    match expect_event(evd, watched) {
        Event::Dto(completion) => completion,
        other => panic!("a completion expected: {other:?}\n{}", dump(evd, watched)),
    }
}

/// Takes the next event, which must be a completion with the given cookie and status.
#[track_caller]
pub fn expect_completion(
    evd: &Evd,
    watched: &[&Ep],
    cookie: u64,
    status: DtoStatus,
) -> DtoCompletion {
    let done = expect_dto(evd, watched);
    assert_eq!((done.cookie, done.status), (cookie, status), "{done:?}");
    done
}

/// Takes the next event by polling, which must be the completion of a data transfer operation (DTO).
/// An unsignalled completion is queued but wakes no waiter: [`expect_dto`] would find it only after
/// [`LIMIT`].
#[track_caller]
pub fn expect_unsignalled_dto(evd: &Evd, watched: &[&Ep]) -> DtoCompletion {
    let mut event = Event::default();
    until("an unsignalled completion is queued", || {
        evd.dequeue(&mut event).expect("a dispatcher that can be read")
    });
    match event {
        Event::Dto(completion) => completion,
        other => panic!("a completion expected: {other:?}\n{}", dump(evd, watched)),
    }
}

/// Takes the next event, which must be the completion of a bind.
#[track_caller]
pub fn expect_bind(evd: &Evd, watched: &[&Ep]) -> RmrBindCompletion {
    match expect_event(evd, watched) {
        Event::RmrBind(completion) => completion,
        other => panic!("a bind expected: {other:?}\n{}", dump(evd, watched)),
    }
}

/// Takes the next event, which must be an asynchronous error of a kind at an object.
#[track_caller]
pub(crate) fn expect_async(evd: &Evd, kind: AsyncErrorKind, object: u64) {
    match expect_event(evd, &[]) {
        Event::Async(error) => assert_eq!((error.kind, error.object), (kind, object)),
        other => panic!("{kind:?} of {object} expected: {other:?}\n{}", dump(evd, &[])),
    }
}

/// Takes the next event, which must be a connection request.
#[track_caller]
pub fn expect_request(evd: &Evd) -> CrArrival {
    match expect_event(evd, &[]) {
        Event::ConnectionRequest(arrival) => arrival,
        other => panic!("a request expected: {other:?}\n{}", dump(evd, &[])),
    }
}

/// Checks that no event is queued.
#[track_caller]
pub fn expect_no_event(evd: &Evd) {
    let before = set_aside(evd, |_| true);
    assert!(before.is_none(), "an unexpected event: {before:?}");
    let mut event = Event::default();
    let found = evd.dequeue(&mut event);
    assert_eq!(found, Ok(false), "an unexpected event: {event:?}\n{}", dump(evd, &[]));
}

/// Checks that no event is queued on any of the dispatchers.
#[track_caller]
pub fn expect_no_events(evds: &[&Evd]) {
    for evd in evds {
        expect_no_event(evd);
    }
}

/// Takes all events that are queued now.
#[track_caller]
pub fn drain(evd: &Evd) -> Vec<Event> {
    let mut events: Vec<Event> = std::iter::from_fn(|| set_aside(evd, |_| true)).collect();
    let mut event = Event::default();
    while evd.dequeue(&mut event).expect("a dispatcher that can be read") {
        events.push(std::mem::take(&mut event));
    }
    events
}

/// Takes the queued completions, which must all be flushes of the endpoint; returns their cookies.
#[track_caller]
pub(crate) fn flushed(evd: &Evd, ep: &Ep) -> Vec<u64> {
    let cookie = |event| match event {
        Event::Dto(completion) if completion.ep == ep.id() => {
            assert_eq!(completion.status, DtoStatus::Flushed, "{completion:?}");
            completion.cookie
        }
        other => panic!("no completion of {ep:?}: {other:?}"),
    };
    drain(evd).into_iter().map(cookie).collect()
}

/// Waits until a condition holds; `what` names it.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Waits until an endpoint is in a state.
#[track_caller]
pub fn becomes(ep: &Ep, wanted: EpState) {
    until(&format!("{ep:?} is {wanted}"), || state(ep) == wanted);
}

/// Checks that private data arrived as sent, or padded with zeros to the size that the transport
/// carries.
#[track_caller]
pub fn arrived(data: &[u8], sent: &[u8]) {
    assert!(data.starts_with(sent), "{data:?} is not {sent:?}");
    assert!(data[sent.len()..].iter().all(|byte| *byte == 0), "{data:?}");
}

/// Waits until a thread waits on a notification object that a dispatcher refers to.
#[track_caller]
pub fn until_waited_on(cno: &Cno) {
    until("a thread waits on the notification object", || {
        let error = cno.free().expect_err("a dispatcher refers to it");
        error.reason() == "a thread is waiting on it"
    });
}

/// The state of an endpoint.
#[track_caller]
pub fn state(ep: &Ep) -> EpState {
    ep.status().expect("a live endpoint").state
}

/// The state of a dispatcher and of endpoints, for the message of a panic.
fn dump(evd: &Evd, watched: &[&Ep]) -> String {
    let mut text = format!("{evd:?}: {:?}\n", evd.query());
    for ep in watched {
        text += &format!("{ep:?}: {:?}, {:?}\n", ep.status(), ep.query());
    }
    for _ in 0..32 {
        let mut event = Event::default();
        match evd.wait(Timeout::ZERO, 1, &mut event) {
            Ok(WaitResult::Event { .. }) => text += &format!("queued: {event:?}\n"),
            _ => break,
        }
    }
    text
}

/// A thread that must end within [`LIMIT`] of the join.
#[derive(Debug)]
pub struct Background<T> {
    result: Receiver<std::result::Result<T, String>>,
    /// Its folder under `/proc`, once it has started.
    task: Arc<OnceLock<PathBuf>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts a thread.
    pub fn run(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, result) = unbounded();
        let task = Arc::new(OnceLock::new());
        let started = Arc::clone(&task);
        std::thread::spawn(move || {
            let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
            started.get_or_init(|| PathBuf::from("/proc").join(own));
            let value = catch_unwind(AssertUnwindSafe(work))
                .map_err(|payload| message(&*payload).unwrap_or_default().to_owned());
            // The receiver is gone if the case has failed already.
            let _ = sender.send(value);
        });
        Self { result, task }
    }

    /// Starts a thread with a clone of an object.
    pub fn with<O>(object: &O, work: impl FnOnce(O) -> T + Send + 'static) -> Self
    where
        O: Clone + Send + 'static,
    {
        let object = object.clone();
        Self::run(move || work(object))
    }

    /// Waits until the thread sleeps in the kernel: a thread that waits on a dispatcher is announced
    /// some time before, and an event that arrives in between is one that it finds and not one that
    /// wakes it.
    #[track_caller]
    pub fn until_asleep(&self) {
        const CALM: u32 = 30;
        let mut calm = 0;
        until("the thread sleeps", || {
            let Some(task) = self.task.get() else { return false };
            let text = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
            // The state follows the name, which is in parentheses (proc_pid_stat(5)).
            let asleep = text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'));
            calm = if asleep { calm + 1 } else { 0 };
            calm == CALM
        });
    }

    /// Returns true if the thread has ended. Does not wait, and discards the result of a thread that has.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !matches!(self.result.try_recv(), Err(TryRecvError::Empty))
    }

    /// Waits for the thread to end and returns its result.
    ///
    /// # Panics
    /// If the thread does not end within [`LIMIT`], or panicked.
    #[track_caller]
    pub fn join(self) -> T {
        match self.result.recv_timeout(LIMIT) {
            Ok(Ok(value)) => value,
            Ok(Err(text)) => panic!("the thread panicked: {text}"),
            Err(RecvTimeoutError::Timeout) => panic!("the thread does not end"),
            Err(RecvTimeoutError::Disconnected) => panic!("the thread vanished"),
        }
    }
}

/// Starts a thread that waits for an event of a dispatcher.
pub(crate) fn waiter(evd: &Evd, threshold: u32) -> Background<Result<(WaitResult, Event)>> {
    Background::with(evd, move |evd| {
        let mut event = Event::default();
        timely_wait(&evd, threshold, &mut event).map(|waited| (waited, event))
    })
}

/// Waits until a thread waits on an empty dispatcher, which then refuses other threads.
#[track_caller]
pub(crate) fn until_owned(evd: &Evd) {
    until("a thread waits on the dispatcher", || evd.dequeue(&mut Event::default()).is_err());
}

/// Returns true if a descriptor is readable now.
#[track_caller]
#[must_use]
pub fn is_readable(object: &impl AsFd) -> bool {
    polls(object, PollTimeout::ZERO)
}

/// Returns true if a descriptor becomes readable within [`LIMIT`].
#[track_caller]
#[must_use]
pub fn becomes_readable(object: &impl AsFd) -> bool {
    polls(object, PollTimeout::try_from(LIMIT).expect("some seconds"))
}

#[track_caller]
fn polls(object: &impl AsFd, timeout: PollTimeout) -> bool {
    let mut polled = [PollFd::new(object.as_fd(), PollFlags::POLLIN)];
    poll(&mut polled, timeout).expect("a descriptor that can be polled") == 1
}
