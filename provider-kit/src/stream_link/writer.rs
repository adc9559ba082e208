//! The writing half of a link over a stream.

use std::sync::Arc;

use dat_provider::mem::Span;

use super::Stream;
use crate::bytes;
use crate::frame::{Frame, MAX_NEXT_PIECE};
use crate::link::{End, Writer, Written};

/// Maximum number of bytes that are collected while the stream is full.
const MAX_BACKLOG: usize = 16 << 10;
/// Maximum number of bytes that are held while the stream could take them.
const MAX_HELD: usize = 4 << 10;

/// Longest frame, in bytes, that is copied before it is written, so that it is one span: that is cheaper for the
/// system than several.
const MAX_COPIED: usize = 256;

/// Writes frames to a stream. If the stream takes only a part of a frame, the rest is copied.
pub struct StreamWriter<S> {
    stream: Arc<S>,
    /// Bytes to write; the first `written` of them are written.
    backlog_bytes: Vec<u8>,
    written: usize,
    /// The stream did not take all bytes.
    is_full: bool,
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
        let (backlog_bytes, spans) = (Vec::new(), Vec::new());
        Self { stream, backlog_bytes, written: 0, is_full: false, spans, is_closing: false }
    }
}

impl<S> StreamWriter<S> {
    /// Number of bytes to write.
    fn backlog(&self) -> usize {
        self.backlog_bytes.len() - self.written
    }

    fn copy(&mut self, head: &[u8], payload: &[Span]) {
        self.backlog_bytes.extend_from_slice(head);
        bytes::gather(payload, 0, &mut self.backlog_bytes);
    }

    /// An idle link holds no memory.
    fn release(&mut self) {
        if self.backlog() == 0 && self.written > 0 {
            self.backlog_bytes = Vec::new();
            self.written = 0;
        }
    }
}

impl<S: Stream> Writer for StreamWriter<S> {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<Written, End> {
        let head = frame.encode();
        debug_assert_eq!(bytes::total(payload) as u64, frame.payload(), "{frame:?}");
        let total = head.len() + bytes::total(payload);
        if self.is_full && self.backlog() + total > MAX_BACKLOG && self.flush()? {
            return Ok(Written::Full);
        }
        if self.is_full {
            self.copy(&head, payload);
            return Ok(Written::Buffered);
        }
        let held = self.backlog();
        self.spans.clear();
        self.spans.push(bytes::source(&self.backlog_bytes[self.written..]));
        self.spans.push(bytes::source(&head));
        self.spans.extend_from_slice(payload);
        let first = usize::from(held == 0);
        let mut copied = [0; MAX_COPIED];
        let taken = if held == 0 && total <= MAX_COPIED {
            let length = bytes::gather_into(&self.spans[first..], &mut copied);
            self.stream.write(&[bytes::source(&copied[..length])])?
        } else {
            self.stream.write(&self.spans[first..])?
        };
        self.is_full = taken < held + total;
        self.written += taken.min(held);
        if self.is_full {
            bytes::gather(&self.spans[1..], taken.saturating_sub(held), &mut self.backlog_bytes);
        }
        self.spans.clear();
        self.release();
        Ok(if self.is_full { Written::Buffered } else { Written::Taken })
    }

    fn hold(&mut self, frame: &Frame, payload: &[Span]) -> Result<Written, End> {
        let head = frame.encode();
        let total = head.len() + bytes::total(payload);
        if self.is_full || self.backlog() + total > MAX_HELD {
            return self.write(frame, payload);
        }
        if self.backlog_bytes.is_empty() {
            self.backlog_bytes.reserve_exact(MAX_HELD);
        }
        self.copy(&head, payload);
        Ok(Written::Held)
    }

    fn max_next_piece(&self) -> u64 {
        // Each piece costs a system call on both sides.
        MAX_NEXT_PIECE
    }

    fn can_hold(&self) -> bool {
        true
    }

    fn flush(&mut self) -> Result<bool, End> {
        while self.backlog() > 0 {
            let rest = bytes::source(&self.backlog_bytes[self.written..]);
            let taken = self.stream.write(&[rest])?;
            if taken == 0 {
                self.is_full = true;
                return Ok(true);
            }
            self.written += taken;
        }
        self.is_full = false;
        self.release();
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
