//! Waits, all of which end: with what was waited for, or after [`LIMIT`] with a panic that says
//! how things stand.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use dat_core::{
    Cno, ConnectionEvent, ConnectionEventKind, CrArrival, DtoCompletion, Endpoint, EpState, Event,
    EventDispatcher, RmrBindCompletion, Timeout, Waited,
};

/// How long anything may take.
pub const LIMIT: Duration = Duration::from_secs(10);

/// The next event, which must come within [`LIMIT`].
///
/// # Panics
/// When it does not come, with the state of the dispatcher and of the endpoints.
#[track_caller]
pub fn expect_event(evd: &EventDispatcher, watched: &[&Endpoint]) -> Event {
    let mut event = Event::default();
    match evd.wait(LIMIT.into(), 1, &mut event) {
        Ok(Waited::Event { .. }) => event,
        other => panic!("no event: {other:?}\n{}", dump(evd, watched)),
    }
}

/// The next event, which must be of that connection event's kind.
///
/// # Panics
/// When it does not come or is another one.
#[track_caller]
pub fn expect_connection(
    evd: &EventDispatcher,
    ep: &Endpoint,
    kind: ConnectionEventKind,
) -> ConnectionEvent {
    match expect_event(evd, &[ep]) {
        Event::Connection(event) if event.kind == kind && event.ep == ep.id() => event,
        other => panic!("{kind:?} of {ep:?} expected: {other:?}\n{}", dump(evd, &[ep])),
    }
}

/// The next events, which must be of that kind, one of each endpoint, in any order.
///
/// # Panics
/// When they do not come or others do.
#[track_caller]
pub fn expect_connections(evd: &EventDispatcher, eps: &[&Endpoint], kind: ConnectionEventKind) {
    let mut left: Vec<u64> = eps.iter().map(|ep| ep.id()).collect();
    while !left.is_empty() {
        match expect_event(evd, eps) {
            Event::Connection(event) if event.kind == kind && left.contains(&event.ep) => {
                left.retain(|id| *id != event.ep);
            }
            other => panic!("{kind:?} of {left:?} expected: {other:?}\n{}", dump(evd, eps)),
        }
    }
}

/// The next event, which must be the completion of an operation.
///
/// # Panics
/// When it does not come or is another one.
#[track_caller]
pub fn expect_dto(evd: &EventDispatcher, watched: &[&Endpoint]) -> DtoCompletion {
    match expect_event(evd, watched) {
        Event::Dto(completion) => completion,
        other => panic!("a completion expected: {other:?}\n{}", dump(evd, watched)),
    }
}

/// The next event, which must be the completion of a bind.
///
/// # Panics
/// When it does not come or is another one.
#[track_caller]
pub fn expect_bind(evd: &EventDispatcher, watched: &[&Endpoint]) -> RmrBindCompletion {
    match expect_event(evd, watched) {
        Event::RmrBind(completion) => completion,
        other => panic!("a bind expected: {other:?}\n{}", dump(evd, watched)),
    }
}

/// The next event, which must be a request for a connection.
///
/// # Panics
/// When it does not come or is another one.
#[track_caller]
pub fn expect_request(evd: &EventDispatcher) -> CrArrival {
    match expect_event(evd, &[]) {
        Event::ConnectionRequest(arrival) => arrival,
        other => panic!("a request expected: {other:?}\n{}", dump(evd, &[])),
    }
}

/// Checks that nothing is queued.
///
/// # Panics
/// When something is.
#[track_caller]
pub fn expect_no_event(evd: &EventDispatcher) {
    let mut event = Event::default();
    let found = evd.dequeue(&mut event);
    assert_eq!(found, Ok(false), "an event that nobody expects: {event:?}\n{}", dump(evd, &[]));
}

/// All events that are queued now.
///
/// # Panics
/// When the dispatcher can't be read.
#[track_caller]
pub fn drain(evd: &EventDispatcher) -> Vec<Event> {
    let mut events = Vec::new();
    let mut event = Event::default();
    while evd.dequeue(&mut event).expect("a dispatcher that can be read") {
        events.push(std::mem::take(&mut event));
    }
    events
}

/// Waits until something is so.
///
/// # Panics
/// When it is not within [`LIMIT`].
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Waits until a thread waits on a notification object, which must be one that a dispatcher
/// refers to.
///
/// # Panics
/// When none does within [`LIMIT`].
#[track_caller]
pub fn until_waited_on(cno: &Cno) {
    until("a thread waits on the notification object", || {
        let error = cno.free().expect_err("a dispatcher refers to it");
        error.reason() == "a thread waits on it"
    });
}

/// The state of an endpoint.
///
/// # Panics
/// When it was freed.
#[track_caller]
pub fn state(ep: &Endpoint) -> EpState {
    ep.status().expect("a live endpoint").state
}

/// How things stand, for a panic.
fn dump(evd: &EventDispatcher, watched: &[&Endpoint]) -> String {
    let mut text = format!("{evd:?}: {:?}\n", evd.query());
    for ep in watched {
        text += &format!("{ep:?}: {:?}, {:?}\n", ep.status(), ep.query());
    }
    for _ in 0..32 {
        let mut event = Event::default();
        match evd.wait(Timeout::ZERO, 1, &mut event) {
            Ok(Waited::Event { .. }) => text += &format!("queued: {event:?}\n"),
            _ => break,
        }
    }
    text
}

/// A thread whose end is waited for within [`LIMIT`] only.
#[derive(Debug)]
pub struct Background<T> {
    result: Receiver<T>,
}

impl<T: Send + 'static> Background<T> {
    /// Runs something in a thread of its own.
    pub fn run(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (sender, result) = channel();
        std::thread::spawn(move || {
            let value = work();
            // Nobody waits any more when the test has failed already.
            let _ = sender.send(value);
        });
        Self { result }
    }

    /// Whether the thread has ended, without waiting for it; its result is gone then.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !matches!(self.result.try_recv(), Err(TryRecvError::Empty))
    }

    /// What the thread returned.
    ///
    /// # Panics
    /// When it does not end, or panicked.
    #[track_caller]
    pub fn join(self) -> T {
        match self.result.recv_timeout(LIMIT) {
            Ok(value) => value,
            Err(RecvTimeoutError::Timeout) => panic!("the thread does not end"),
            Err(RecvTimeoutError::Disconnected) => panic!("the thread panicked"),
        }
    }
}
