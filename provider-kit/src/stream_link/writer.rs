//! The half that writes.

use std::sync::Arc;

use dat_provider::mem::Span;

use super::Stream;
use crate::bytes;
use crate::frame::Frame;
use crate::link::{End, Writer, Written};

/// Frames are put together up to this many bytes while the stream has no space.
const TOGETHER: usize = 16 << 10;

/// Writes frames to a stream. What the stream does not take of a frame that it has begun is
/// copied, at most one piece.
pub struct StreamWriter<S> {
    stream: Arc<S>,
    /// What waits, from `written` on.
    waiting: Vec<u8>,
    written: usize,
    /// The spans of the frame that is being written.
    spans: Vec<Span>,
    closes: bool,
}

impl<S> std::fmt::Debug for StreamWriter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamWriter").field("waiting", &self.backlog()).finish_non_exhaustive()
    }
}

impl<S: Stream> StreamWriter<S> {
    /// Writes to a stream.
    #[must_use]
    pub fn new(stream: Arc<S>) -> Self {
        Self { stream, waiting: Vec::new(), written: 0, spans: Vec::new(), closes: false }
    }
}

impl<S> StreamWriter<S> {
    fn backlog(&self) -> usize {
        self.waiting.len() - self.written
    }
}

impl<S: Stream> Writer for StreamWriter<S> {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<Written, End> {
        let head = frame.encode();
        debug_assert_eq!(bytes::total(payload) as u64, frame.payload(), "{frame:?}");
        let total = head.len() + bytes::total(payload);
        if self.backlog() + total > TOGETHER && self.flush()? {
            return Ok(Written::Full);
        }
        if self.backlog() > 0 {
            self.waiting.extend_from_slice(&head);
            bytes::gather(payload, 0, &mut self.waiting);
            return Ok(Written::Taken);
        }
        self.spans.clear();
        self.spans.push(bytes::source(&head));
        self.spans.extend_from_slice(payload);
        let taken = self.stream.write(&self.spans)?;
        if taken < total {
            bytes::gather(&self.spans, taken, &mut self.waiting);
        }
        self.spans.clear();
        Ok(Written::Taken)
    }

    fn flush(&mut self) -> Result<bool, End> {
        while self.backlog() > 0 {
            let rest = bytes::source(&self.waiting[self.written..]);
            let taken = self.stream.write(&[rest])?;
            if taken == 0 {
                return Ok(true);
            }
            self.written += taken;
        }
        if self.written > 0 {
            // An idle link keeps no memory.
            self.waiting = Vec::new();
            self.written = 0;
        }
        if self.closes {
            self.closes = false;
            self.stream.shut_down()?;
        }
        Ok(false)
    }

    fn shut_down(&mut self) -> Result<(), End> {
        self.closes = true;
        self.flush().map(drop)
    }
}
