//! The events of a dispatcher as an asynchronous stream for tokio.

#![allow(
    unsafe_code,
    reason = "the caller guarantees that the descriptor stays open while the runtime has it"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::task::coop;

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::Evd;
use crate::event::Event;

/// The events of a dispatcher as they arrive, without a thread that waits for them.
///
/// It takes queued events. If there are none, it arms the descriptor and sleeps in the reactor of
/// the runtime ([`Evd::arm`]). A task that always finds an event yields from time to
/// time, as sockets of tokio do. Dropping the stream disarms the dispatcher and takes no event.
///
/// Other threads may also dequeue from the dispatcher while the stream exists; the stream does not
/// see the events that they take.
///
/// ```no_run
/// # async fn example(evd: dat_core::Evd) -> dat_core::Result<()> {
/// let mut events = dat_core::EventStream::new(evd)?;
/// loop {
///     match events.next().await? {
///         dat_core::Event::Dto(done) => println!("{}: {:?}", done.cookie, done.status),
///         other => println!("{other:?}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct EventStream {
    arrivals: AsyncFd<Armed>,
    /// True if it has returned an error, after which it has no more items.
    ended: bool,
}

/// The dispatcher, whose descriptor has been created.
#[derive(Debug)]
struct Armed(Evd);

impl AsRawFd for Armed {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl EventStream {
    /// Registers the dispatcher's descriptor with the current runtime, whose I/O driver must be
    /// enabled: otherwise tokio panics.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` outside a runtime, or if this runtime has another stream of the
    /// dispatcher; `DAT_INSUFFICIENT_RESOURCES` if the process has no descriptor left.
    pub fn new(evd: Evd) -> Result<Self> {
        evd.fd()?;
        if Handle::try_current().is_err() {
            let error = Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
                .because("this thread is not in a tokio runtime")
                .advise("create it in a task, or after `Handle::enter`");
            return Err(evd.inner().base.describe(error, "EventStream::new"));
        }
        // SAFETY: the descriptor was created above and lives as long as the dispatcher, of which
        // `Armed` keeps a handle; a dispatcher never replaces its descriptor.
        let registered = unsafe { AsyncFd::register_with_interest(Armed(evd), Interest::READABLE) };
        match registered {
            Ok(arrivals) => Ok(Self { arrivals, ended: false }),
            Err(failure) => {
                let (Armed(evd), cause) = failure.into_parts();
                Err(evd.inner().base.describe(not_registered(&cause), "EventStream::new"))
            }
        }
    }

    /// The next event. Dropping the future before it is ready loses no event.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` while a thread waits on the dispatcher; `DAT_INVALID_HANDLE` when the
    /// dispatcher was freed.
    pub async fn next(&mut self) -> Result<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// The dispatcher.
    #[must_use]
    pub fn dispatcher(&self) -> &Evd {
        &self.arrivals.get_ref().0
    }

    fn poll_event(&self, context: &mut Context<'_>) -> Poll<Result<Event>> {
        let evd = self.dispatcher();
        let budget = ready!(coop::poll_proceed(context));
        let mut event = Event::default();
        loop {
            if evd.dequeue(&mut event)? {
                budget.made_progress();
                return Poll::Ready(Ok(event));
            }
            if evd.arm()? {
                continue;
            }
            match ready!(self.arrivals.poll_read_ready(context)) {
                // A signal after this is found by the next check, or makes the descriptor readable
                // again.
                Ok(mut ready) => ready.clear_ready(),
                Err(cause) => {
                    let error = evd.inner().base.describe(gone(&cause), "EventStream::next");
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// Ends after the first error.
impl Stream for EventStream {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = ready!(self.poll_event(context));
        self.ended = next.is_err();
        Poll::Ready(Some(next))
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.dispatcher().disarm();
    }
}

fn not_registered(cause: &io::Error) -> Error {
    let errno = cause.raw_os_error().unwrap_or(0);
    if cause.kind() == io::ErrorKind::AlreadyExists {
        return Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
            .because("the runtime already has an event stream of this dispatcher")
            .advise("share that stream, or drop it first")
            .errno(errno);
    }
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
        .because("the runtime cannot register the descriptor")
        .errno(errno)
}

fn gone(cause: &io::Error) -> Error {
    Error::new(ReturnType::Abort, Subtype::NoSubtype)
        .because("the runtime was shut down")
        .errno(cause.raw_os_error().unwrap_or(0))
}
