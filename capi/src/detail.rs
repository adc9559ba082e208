//! What went wrong last in each thread, in words: the error of a call, or what an event told that
//! was taken.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use dat_core::{
    AsyncErrorKind, ConnectionEventKind, DtoStatus, Endpoint, EndpointId, Error, EventWords,
    Failure, ObjectKind,
};

use crate::debug;
use crate::handle::{self, of_number};

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { news: None, text: None }) };
}

struct Last {
    news: Option<News>,
    /// The words that C asked for; they stay until it asks for others.
    text: Option<CString>,
}

/// What became known and was not put into words yet: most of it nobody asks for.
enum News {
    Error(Error),
    /// An operation of an endpoint ended so.
    Completion(EndpointId, Failure),
    /// The connection of an endpoint did not come about, or broke.
    Connection(EndpointId, ConnectionEventKind),
    /// Something went wrong outside any call.
    Async(AsyncErrorKind),
}

/// Keeps an error of a call.
pub(crate) fn keep(error: Error) {
    keep_news(News::Error(error));
}

/// Keeps what a completion told that was no success.
#[cold]
pub(crate) fn keep_completion(ep: EndpointId, failed: Failure) {
    keep_news(News::Completion(ep, failed));
}

/// Keeps what an event of a connection told, if it is a failure.
#[cold]
pub(crate) fn keep_connection(ep: EndpointId, kind: ConnectionEventKind) {
    use ConnectionEventKind::{Disconnected, Established};
    if !matches!(kind, Established | Disconnected) {
        keep_news(News::Connection(ep, kind));
    }
}

/// Keeps what an asynchronous event told, if it is a failure.
#[cold]
pub(crate) fn keep_async(kind: AsyncErrorKind) {
    use AsyncErrorKind::{EpSoftHighWatermark, SrqLowWatermark};
    if !matches!(kind, SrqLowWatermark | EpSoftHighWatermark) {
        keep_news(News::Async(kind));
    }
}

/// Keeps it as the last news of this thread. At the end of the thread nobody can ask any more.
fn keep_news(news: News) {
    // What is flushed says nothing that was not printed before it.
    if !matches!(news, News::Completion(_, Failure { status: DtoStatus::Flushed, .. })) {
        debug::failed(|| news.words());
    }
    // What was before it is dropped after the cell is free again.
    let _ = LAST
        .try_with(|last| last.try_borrow_mut().ok().and_then(|mut last| last.news.replace(news)));
}

/// The words of the last news of this thread; empty before the first.
pub(crate) fn text() -> *const c_char {
    let news = LAST.try_with(|last| last.try_borrow_mut().ok()?.news.take()).ok().flatten();
    // Made while the cell is free: an endpoint is asked.
    let words = news.map(|news| news.words().replace('\0', "\u{fffd}"));
    let text = LAST.try_with(|last| {
        let mut last = last.try_borrow_mut().ok()?;
        if let Some(words) = words {
            last.text = CString::new(words).ok();
        }
        last.text.as_ref().map(|text| text.as_ptr())
    });
    text.ok().flatten().unwrap_or(c"".as_ptr())
}

impl News {
    fn words(&self) -> String {
        match self {
            Self::Error(error) => error.to_string(),
            Self::Completion(ep, failed) => {
                let (place, first) = look_at(*ep);
                match first {
                    // With what the transport says of it.
                    Some(first) if first.is_of_the_same(failed) => format!("{place}{first}"),
                    Some(first) => {
                        format!("{place}{failed} The first failure of the endpoint: {first}")
                    }
                    None => format!("{place}{failed}"),
                }
            }
            Self::Connection(ep, kind) => {
                let (place, first) = look_at(*ep);
                let EventWords { name, meaning, advice, .. } = EventWords::of(kind.number());
                let more = match (kind, first) {
                    (ConnectionEventKind::Broken, Some(first)) => {
                        format!("The first failure of the endpoint: {first}")
                    }
                    (ConnectionEventKind::Broken, None) => ELSEWHERE.to_owned(),
                    _ => (*advice).to_owned(),
                };
                format!("{place}{name}: {meaning} {more}")
            }
            Self::Async(kind) => {
                let EventWords { name, meaning, advice, .. } = EventWords::of(kind.number());
                format!("{name}: {meaning} {advice}")
            }
        }
    }
}

/// What a connection broke by where nothing failed here.
const ELSEWHERE: &str = "No local operation had failed: the peer is gone or broke the connection. \
     Check the peer and the link.";

/// Which endpoint that is, and its first failure; nothing of one that is gone.
fn look_at(ep: EndpointId) -> (String, Option<Failure>) {
    let Some(ep) = handle::get::<Endpoint>(of_number(ep)) else { return (String::new(), None) };
    let mut place = format!("{} {} of IA {:?}", ObjectKind::Ep, ep.id(), ep.adapter().name());
    if let Ok(param) = ep.query() {
        if let (Some(address), Some(port)) = (param.remote_address, param.remote_port) {
            place.push_str(&format!(", peer {address} port {port}"));
        }
    }
    place.push_str(": ");
    (place, ep.failure().ok().flatten())
}
