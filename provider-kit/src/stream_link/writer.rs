//! The writing half of a link over a stream.

use std::sync::Arc;

use dat_provider::mem::Span;

use super::Stream;
use crate::bytes;
use crate::frame::Frame;
use crate::link::{End, Writer, Written};

/// Maximum number of bytes that are collected while the stream is full.
const MAX_BACKLOG: usize = 16 << 10;

/// Writes frames to a stream. If the stream takes only a part of a frame, the rest is copied.
pub struct StreamWriter<S> {
    stream: Arc<S>,
    /// Bytes to write; the first `written` of them are written.
    backlog_bytes: Vec<u8>,
    written: usize,
    /// Reused memory for the spans of a frame.
    spans: Vec<Span>,
    /// Shut the stream down once all bytes are written.
    is_closing: bool,
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
        Self { stream, backlog_bytes: Vec::new(), written: 0, spans: Vec::new(), is_closing: false }
    }
}

impl<S> StreamWriter<S> {
    /// Number of bytes to write.
    fn backlog(&self) -> usize {
        self.backlog_bytes.len() - self.written
    }
}

impl<S: Stream> Writer for StreamWriter<S> {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<Written, End> {
        let head = frame.encode();
        debug_assert_eq!(bytes::total(payload) as u64, frame.payload(), "{frame:?}");
        let total = head.len() + bytes::total(payload);
        if self.backlog() + total > MAX_BACKLOG && self.flush()? {
            return Ok(Written::Full);
        }
        if self.backlog() > 0 {
            self.backlog_bytes.extend_from_slice(&head);
            bytes::gather(payload, 0, &mut self.backlog_bytes);
            return Ok(Written::Buffered);
        }
        self.spans.clear();
        self.spans.push(bytes::source(&head));
        self.spans.extend_from_slice(payload);
        let taken = self.stream.write(&self.spans)?;
        if taken < total {
            bytes::gather(&self.spans, taken, &mut self.backlog_bytes);
        }
        self.spans.clear();
        Ok(if taken < total { Written::Buffered } else { Written::Taken })
    }

    fn flush(&mut self) -> Result<bool, End> {
        while self.backlog() > 0 {
            let rest = bytes::source(&self.backlog_bytes[self.written..]);
            let taken = self.stream.write(&[rest])?;
            if taken == 0 {
                return Ok(true);
            }
            self.written += taken;
        }
        if self.written > 0 {
            // An idle link holds no memory.
            self.backlog_bytes = Vec::new();
            self.written = 0;
        }
        if self.is_closing {
            self.is_closing = false;
            self.stream.shut_down()?;
        }
        Ok(false)
    }

    fn shut_down(&mut self) -> Result<(), End> {
        self.is_closing = true;
        self.flush().map(drop)
    }
}
