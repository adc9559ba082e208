//! Events and completions for tasks of a tokio runtime.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::cm::{Event, EventChannel};
use crate::verbs::{Completion, CompletionChannel, CompletionQueue};
use crate::{Error, Result};

/// A channel of either kind, which keeps its descriptor open.
#[derive(Debug)]
struct Source<T>(Arc<T>);

impl<T: AsFd> AsRawFd for Source<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

fn register<T: AsFd>(channel: &Arc<T>) -> Result<AsyncFd<Source<T>>> {
    let source = Source(Arc::clone(channel));
    // SAFETY: the descriptor belongs to a channel, which the source keeps open and which never
    // replaces it.
    let registered = unsafe { AsyncFd::register_with_interest(source, Interest::READABLE) };
    registered.map_err(|failure| {
        let (_, error) = failure.into_parts();
        Error::new("epoll_ctl", error.raw_os_error().unwrap_or(libc::EIO))
    })
}

/// Waits until the descriptor is readable, and clears that state: the next call waits for new
/// input.
fn readable<T: AsFd>(fd: &AsyncFd<Source<T>>, context: &mut Context<'_>) -> Poll<Result<()>> {
    let ready = ready!(fd.poll_read_ready(context));
    let failed =
        |error: std::io::Error| Error::new("epoll_wait", error.raw_os_error().unwrap_or(libc::EIO));
    Poll::Ready(ready.map(|mut guard| guard.clear_ready()).map_err(failed))
}

/// The events of a channel of the connection manager.
///
/// Dropping it loses no event. Other threads may take events of the channel too.
///
/// ```
/// use rdma_verbs::cm::{EventChannel, EventKind};
/// use rdma_verbs::stream::EventStream;
///
/// async fn until_disconnected() -> rdma_verbs::Result<()> {
///     let mut events = EventStream::new(&EventChannel::new()?)?;
///     while events.next().await?.kind != EventKind::Disconnected {}
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct EventStream {
    fd: AsyncFd<Source<EventChannel>>,
}

impl EventStream {
    /// Makes the channel non-blocking and registers it with the current runtime.
    ///
    /// # Errors
    /// `EEXIST`: the channel is registered with the runtime already.
    ///
    /// # Panics
    /// If there is no current runtime, or its I/O driver is not enabled.
    pub fn new(channel: &Arc<EventChannel>) -> Result<Self> {
        channel.set_nonblocking()?;
        Ok(Self { fd: register(channel)? })
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// As [`EventChannel::take_event`].
    pub async fn next(&mut self) -> Result<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&self, context: &mut Context<'_>) -> Poll<Result<Event>> {
        loop {
            match self.fd.get_ref().0.take_event() {
                Err(error) if error.would_block() => ready!(readable(&self.fd, context))?,
                outcome => return Poll::Ready(outcome),
            }
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(context).map(Some)
    }
}

/// The completions of a queue that has its own channel.
///
/// Dropping it loses no completion. While it exists, no other thread may take events of the
/// channel.
///
/// ```
/// use std::sync::Arc;
///
/// use rdma_verbs::stream::CompletionStream;
/// use rdma_verbs::verbs::CompletionQueue;
///
/// async fn next_length(queue: &Arc<CompletionQueue>) -> rdma_verbs::Result<u32> {
///     let done = CompletionStream::new(queue)?.next().await?;
///     println!("{}", done.status);
///     Ok(done.length)
/// }
/// ```
#[derive(Debug)]
pub struct CompletionStream {
    queue: Arc<CompletionQueue>,
    fd: AsyncFd<Source<CompletionChannel>>,
}

impl CompletionStream {
    /// Makes the queue's channel non-blocking and registers it with the current runtime.
    ///
    /// # Errors
    /// `EINVAL`: the queue has no channel; `EEXIST`: the channel is registered with the runtime
    /// already.
    ///
    /// # Panics
    /// As [`EventStream::new`].
    pub fn new(queue: &Arc<CompletionQueue>) -> Result<Self> {
        let channel = queue.channel().ok_or(Error::new("ibv_get_cq_event", libc::EINVAL))?;
        channel.set_nonblocking()?;
        Ok(Self { queue: Arc::clone(queue), fd: register(channel)? })
    }

    /// Waits for the next completion.
    ///
    /// # Errors
    /// As [`CompletionQueue::poll`] and [`CompletionQueue::arm`].
    pub async fn next(&mut self) -> Result<Completion> {
        std::future::poll_fn(|context| self.poll_completion(context)).await
    }

    fn poll_completion(&self, context: &mut Context<'_>) -> Poll<Result<Completion>> {
        loop {
            if let Some(completion) = self.queue.poll_one()? {
                return Poll::Ready(Ok(completion));
            }
            self.queue.arm(false)?;
            // A completion that arrived before the queue was armed is not reported.
            if let Some(completion) = self.queue.poll_one()? {
                return Poll::Ready(Ok(completion));
            }
            ready!(readable(&self.fd, context))?;
            self.take_events()?;
        }
    }

    /// Takes all events of the channel. A completion that is polled before its event is taken
    /// leaves the event behind, and without this such events would pile up in the kernel.
    fn take_events(&self) -> Result<()> {
        loop {
            match self.fd.get_ref().0.take_event() {
                Ok(_) => {}
                Err(error) if error.would_block() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Stream for CompletionStream {
    type Item = Result<Completion>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_completion(context).map(Some)
    }
}
