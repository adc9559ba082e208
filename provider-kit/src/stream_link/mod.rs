//! A link over a byte stream, which may split frames anywhere.

mod reader;
#[cfg(all(test, not(loom)))]
mod tests;
mod writer;

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};

use dat_provider::CompletionDescriptor;
use dat_provider::mem::Span;

use crate::link::{End, LinkReport, Liveness, Reader, Writer};

pub use reader::StreamReader;
pub use writer::StreamWriter;

/// A bidirectional byte stream that does not block, for example a TCP socket.
pub trait Stream: Send + Sync {
    /// Writes from the spans, in order. Returns the number of bytes written, 0 if the stream is full.
    ///
    /// # Errors
    /// The cause of the end of the stream; [`End::Inaccessible`] if nothing was written because memory is not readable.
    fn write(&self, from: &[Span]) -> Result<usize, End>;

    /// Reads into the spans, in order. Returns the number of bytes read, or `None` if none have arrived.
    ///
    /// # Errors
    /// The cause of the end of the stream: [`End::Closed`] at its end; [`End::Inaccessible`] if nothing was read
    /// because memory is not writable.
    fn read(&self, into: &[Span]) -> Result<Option<usize>, End>;

    /// Shuts down the writing side; the peer reads the end of the stream after the last byte.
    ///
    /// # Errors
    /// The cause of the end of the stream.
    fn shut_down(&self) -> Result<(), End>;

    /// The descriptor to wait on, if any.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The descriptor of [`Reader::begin_sleep`]; by default, there is none.
    fn waiter_descriptor(self: &Arc<Self>) -> Option<CompletionDescriptor>
    where
        Self: Sized,
    {
        None
    }

    /// The report of [`Writer::report`].
    fn report(&self) -> LinkReport {
        LinkReport::of("stream")
    }

    /// The check of [`Reader::liveness`]; by default, there is none.
    fn liveness(self: &Arc<Self>) -> Option<Weak<dyn Liveness>>
    where
        Self: Sized,
    {
        None
    }
}

/// The two halves of a link over a stream.
#[must_use]
pub fn halves<S: Stream + 'static>(stream: &Arc<S>) -> (Box<dyn Reader>, Box<dyn Writer>) {
    let reader = StreamReader::new(Arc::clone(stream));
    (Box::new(reader), Box::new(StreamWriter::new(Arc::clone(stream))))
}
