//! The last failure of each thread, as text: the error of a call, or the failure reported by an
//! event that was dequeued.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CString, c_char};

use dat_core::error::Terms;
use dat_core::monitor::{self, Stall};
use dat_core::provider::{Reach, RefusalCause};
use dat_core::{
    AsyncErrorKind, ConnectionEvent, ConnectionEventKind, DatagramEvent, DatagramEventKind,
    DisplayId, DtoStatus, Ep, EpId, Error, EventText, Failure, ObjectKind,
};

use crate::debug::{self, Kind};
use crate::handle::{self, of_number};
use crate::hint;

thread_local! {
    static STATE: RefCell<ThreadState> = const { RefCell::new(ThreadState { error: None, text: None }) };
}

struct ThreadState {
    error: Option<LastError>,
    /// The text that C requested; it stays valid until the next request.
    text: Option<CString>,
}

/// A failure that has not been formatted: most are never requested.
enum LastError {
    Error(Error),
    /// An operation of an endpoint failed.
    Completion(EpId, Failure),
    /// The connection of an endpoint failed or broke.
    Connection(EpId, ConnectionEventKind, RefusalCause),
    /// A datagram endpoint got no address.
    Datagram(EpId, DatagramEventKind, RefusalCause),
    /// An asynchronous error occurred.
    Async(AsyncErrorKind),
    /// A wait for a dispatcher ended without an event, with this number of events in the queue.
    TimedOut(u32),
    /// The queue of the dispatcher with that number was empty.
    Empty(u64),
}

/// Stores the error of a call. An error that names no call is printed when [`name_call`] names it.
pub(crate) fn set(error: Error) {
    if error.broken_rule().is_some() {
        hint::refused(&error);
    }
    match error.operation() {
        "" => replace(LastError::Error(error)),
        _ => store(LastError::Error(error)),
    }
}

/// Stores the error of a call that names it, and prints nothing.
pub(crate) fn set_quietly(error: Error) {
    replace(LastError::Error(error));
}

/// Adds the call to the stored error of this thread, if it names none, and prints it: an argument was
/// refused before the call reached its object. Every exported function ends with this if it fails.
#[cold]
#[inline(never)]
pub(crate) fn name_call(name: &'static str) {
    let unnamed = STATE.try_with(|state| {
        let is_unnamed = |it: &mut LastError| {
            matches!(it, LastError::Error(error) if error.operation().is_empty())
        };
        state.try_borrow_mut().ok()?.error.take_if(is_unnamed)
    });
    if let Ok(Some(LastError::Error(error))) = unnamed {
        store(LastError::Error(error.during(name)));
    }
}

/// Stores the failure that a completion reported.
#[cold]
pub(crate) fn set_completion(ep: EpId, failed: Failure) {
    store(LastError::Completion(ep, failed));
}

/// Stores what a connection event reported, if it is a failure.
#[cold]
pub(crate) fn set_connection(event: &ConnectionEvent) {
    use ConnectionEventKind::{Disconnected, Established};
    let &ConnectionEvent { ep, kind, cause, .. } = event;
    if !matches!(kind, Established | Disconnected) {
        store(LastError::Connection(ep, kind, cause));
    }
}

/// Stores what the event of a datagram attempt reported, if it is a failure.
#[cold]
pub(crate) fn set_datagram(event: &DatagramEvent) {
    let &DatagramEvent { ep, kind, cause, .. } = event;
    if kind != DatagramEventKind::Established {
        store(LastError::Datagram(ep, kind, cause));
    }
}

/// Stores what an asynchronous event reported, if it is a failure.
#[cold]
pub(crate) fn set_async(kind: AsyncErrorKind) {
    use AsyncErrorKind::{EpSoftHighWatermark, SrqLowWatermark};
    if !matches!(kind, SrqLowWatermark | EpSoftHighWatermark) {
        store(LastError::Async(kind));
    }
}

/// Stores that a wait for a dispatcher timed out, so that the text of an earlier failure is not taken
/// for its cause.
pub(crate) fn set_timeout(queued: u32) {
    replace(LastError::TimedOut(queued));
}

/// Stores the last failure of this thread. A thread that is terminating stores nothing.
fn store(error: LastError) {
    // Flushed operations are not printed: an earlier failure explains them.
    if !matches!(error, LastError::Completion(_, Failure { status: DtoStatus::Flushed, .. })) {
        debug::say(Kind::Error, || error.to_text());
    }
    replace(error);
}

fn replace(error: LastError) {
    let _ = handle::take_found_empty();
    // The former failure is dropped after the borrow of the cell has ended.
    let _ = STATE.try_with(|state| {
        state.try_borrow_mut().ok().and_then(|mut state| state.error.replace(error))
    });
}

/// The text of the last failure of this thread; empty if there is none.
pub(crate) fn text() -> *const c_char {
    let error = STATE.try_with(|state| state.try_borrow_mut().ok()?.error.take()).ok().flatten();
    let error = handle::take_found_empty().map(LastError::Empty).or(error);
    // Formatted while the cell is not borrowed, because this queries an endpoint.
    let formatted = error.map(|error| error.to_text().replace('\0', "\u{fffd}"));
    let text = STATE.try_with(|state| {
        let mut state = state.try_borrow_mut().ok()?;
        if let Some(formatted) = formatted {
            state.text = CString::new(formatted).ok();
        }
        state.text.as_ref().map(|text| text.as_ptr())
    });
    text.ok().flatten().unwrap_or(c"".as_ptr())
}

impl LastError {
    fn to_text(&self) -> String {
        Terms::C.make_current();
        match self {
            Self::Error(error) => error.to_string(),
            Self::Completion(ep, failed) => {
                let (endpoint, first) = describe(*ep);
                let failure = match first {
                    // Includes the transport's description.
                    Some(first) if first.is_same_operation(failed) => first.to_string(),
                    Some(first) => format!("{failed} The first failure of the endpoint: {first}"),
                    None => failed.to_string(),
                };
                format!("{endpoint}{failure}{}", waited(*ep))
            }
            Self::Connection(ep, kind, cause) => {
                let (endpoint, first) = describe(*ep);
                let EventText { name, meaning, advice, .. } = EventText::from_number(kind.number());
                let more = match (kind, first) {
                    (ConnectionEventKind::Broken, Some(first)) => {
                        format!("The first failure of the endpoint: {first}{}", waited(*ep))
                    }
                    (ConnectionEventKind::Broken, None) => format!("{ELSEWHERE}{}", waited(*ep)),
                    (
                        ConnectionEventKind::NonPeerRejected | ConnectionEventKind::Unreachable,
                        _,
                    ) if stays_in_process(*ep) => within_process(),
                    _ => more(*cause, advice),
                };
                format!("{endpoint}{name}: {meaning} {more}")
            }
            Self::Datagram(ep, kind, cause) => {
                let (endpoint, _) = describe(*ep);
                let (name, meaning) = (kind.name(), kind.meaning());
                let more = match kind {
                    DatagramEventKind::Error
                        if stays_in_process(*ep) && *cause != RefusalCause::TimedOut =>
                    {
                        within_process()
                    }
                    _ => more(*cause, kind.advice()),
                };
                format!("{endpoint}{name}: {meaning} {more}")
            }
            Self::TimedOut(0) => {
                format!("dat_evd_wait: no event arrived before the time-out{}", waiting())
            }
            Self::TimedOut(queued) => format!(
                "dat_evd_wait: {queued} events are queued, fewer than the threshold, and no further one arrived before the \
                 time-out; dequeue them with dat_evd_dequeue, or wait with a threshold of 1"
            ),
            Self::Empty(evd) => format!(
                "dat_evd_dequeue on {} {}: no event is queued",
                ObjectKind::Evd,
                DisplayId(*evd)
            ),
            Self::Async(kind) => {
                let EventText { name, meaning, advice, .. } = EventText::from_number(kind.number());
                format!("{name}: {meaning} {advice}")
            }
        }
    }
}

/// The cause of a broken connection if no local operation failed.
const ELSEWHERE: &str = "No local operation had failed: the peer is gone or broke the connection. \
     Check the peer and the link.";

/// The cause of a failed attempt with what to do; the general advice if it is unknown.
fn more(cause: RefusalCause, advice: &str) -> String {
    cause.text().map_or_else(|| advice.to_owned(), Cow::into_owned)
}

/// Returns true if the connections of an endpoint end at this process.
fn stays_in_process(ep: EpId) -> bool {
    handle::get::<Ep>(of_number(ep)).is_some_and(|ep| ep.adapter().reach() == Reach::Process)
}

/// The likely cause of a refusal by an adapter that connects endpoints of one process.
fn within_process() -> String {
    format!(
        "The adapter reaches only endpoints of this process ({}), and nothing here listens there. Listen in \
         this process, or use an adapter that reaches other processes, such as shm, tcp-lo or auto: \
         `dat list` shows them.",
        std::process::id()
    )
}

/// The wait of the oldest operation of an endpoint before the end, after a blank; empty if it did not wait.
fn waited(ep: EpId) -> String {
    let endpoint = handle::get::<Ep>(of_number(ep));
    let stall = endpoint.and_then(|ep| ep.stall().ok().flatten());
    stall.map_or_else(String::new, |stall| format!(" {stall}"))
}

/// The waits of operations of this process, after a semicolon; empty if none waits.
fn waiting() -> String {
    const MOST: usize = 3;
    let stalls = monitor::stalls(MOST).into_iter().map(|(_, ep, Stall { age, cause, .. })| {
        let (endpoint, age) = (DisplayId(ep), age.as_secs());
        format!(
            "; {} {endpoint} has waited for {age} s: {cause}; {}",
            ObjectKind::Ep,
            cause.advice()
        )
    });
    stalls.collect()
}

/// The name of an endpoint with its peer, and its first failure; empty if it no longer exists.
fn describe(ep: EpId) -> (String, Option<Failure>) {
    let Some(ep) = handle::get::<Ep>(of_number(ep)) else { return (String::new(), None) };
    let mut text =
        format!("{} {} of IA {:?}", ObjectKind::Ep, DisplayId(ep.id()), ep.adapter().name());
    if let Ok(param) = ep.query() {
        if let (Some(address), Some(port)) = (param.remote_address, param.remote_port) {
            text.push_str(&format!(", peer {address} port {port}"));
        }
    }
    text.push_str(": ");
    (text, ep.failure().ok().flatten())
}
