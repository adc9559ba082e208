//! The writing half of a link over a stream.

use std::sync::Arc;

use dat_provider::mem::Span;

use super::Stream;
use crate::bytes;
use crate::frame::{Frame, MAX_NEXT_PIECE};
use crate::link::{End, LinkReport, WriteResult, Writer};

/// Maximum number of bytes that are collected while the stream is full.
const MAX_BACKLOG: usize = 16 << 10;
/// Number of bytes that are reserved when the first frame is held, unless it is longer.
const MIN_RESERVED: usize = 4 << 10;

/// Maximum length of a frame, in bytes, that is copied into one span before it is written, which is cheaper for the
/// kernel than several spans.
const MAX_COPIED: usize = 256;

/// Writes frames to a stream. If the stream accepts only part of a frame, the rest is copied.
pub struct StreamWriter<S> {
    stream: Arc<S>,
    /// Bytes to write; the first `written` of them are written.
    backlog_bytes: Vec<u8>,
    written: usize,
    /// True if the stream did not accept all bytes.
    is_full: bool,
    /// True if part of a frame was sent and the rest of its payload is not readable.
    is_torn: bool,
    /// Reused memory for the spans of a frame.
    spans: Vec<Span>,
    /// True if the stream must be shut down once all bytes are written.
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
        Self {
            stream,
            backlog_bytes,
            written: 0,
            is_full: false,
            is_torn: false,
            spans,
            is_closing: false,
        }
    }
}

impl<S> StreamWriter<S> {
    /// Number of bytes to write.
    fn backlog(&self) -> usize {
        self.backlog_bytes.len() - self.written
    }

    /// Appends a frame to the backlog. Returns `taken`, unless its payload is not readable.
    fn copy(&mut self, head: &[u8], payload: &[Span], taken: WriteResult) -> WriteResult {
        let before = self.backlog_bytes.len();
        self.backlog_bytes.extend_from_slice(head);
        match bytes::gather(payload, 0, &mut self.backlog_bytes) {
            Ok(()) => taken,
            Err(_) => {
                self.backlog_bytes.truncate(before);
                WriteResult::Unreadable
            }
        }
    }

    /// Frees the memory, because an idle link needs none.
    fn release(&mut self) {
        if self.backlog() == 0 && self.written > 0 {
            self.backlog_bytes = Vec::new();
            self.written = 0;
        }
    }
}

impl<S: Stream> StreamWriter<S> {
    /// Writes the collected spans: the backlog, followed by a frame of `total` bytes.
    #[inline]
    fn write_spans(&mut self, total: usize) -> Result<WriteResult, End> {
        let held = self.backlog();
        let first = usize::from(held == 0);
        let mut copied = [0; MAX_COPIED];
        let taken = if held == 0 && total <= MAX_COPIED {
            match bytes::gather_into(&self.spans[first..], &mut copied) {
                Ok(length) => self.stream.write(&[bytes::source(&copied[..length])]),
                Err(_) => Err(End::Inaccessible),
            }
        } else {
            self.stream.write(&self.spans[first..])
        };
        let taken = match taken {
            Err(End::Inaccessible) => return Ok(WriteResult::Unreadable),
            taken => taken?,
        };
        self.is_full = taken < held + total;
        self.written += taken.min(held);
        if !self.is_full {
            return Ok(WriteResult::Taken);
        }
        let sent = taken.saturating_sub(held);
        match bytes::gather(&self.spans[1..], sent, &mut self.backlog_bytes) {
            Ok(()) => Ok(WriteResult::Buffered),
            Err(_) => {
                if sent > 0 {
                    // The peer must not take other bytes for the rest of the payload.
                    (self.is_torn, self.is_full) = (true, false);
                }
                Ok(WriteResult::Unreadable)
            }
        }
    }
}

impl<S: Stream> Writer for StreamWriter<S> {
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<WriteResult, End> {
        let head = frame.encode();
        debug_assert_eq!(bytes::total(payload) as u64, frame.payload(), "{frame:?}");
        let total = head.len() + bytes::total(payload);
        if self.is_torn {
            return Ok(WriteResult::Unreadable);
        }
        if self.is_full && self.backlog() + total > MAX_BACKLOG && self.flush()? {
            return Ok(WriteResult::Full);
        }
        if self.is_full {
            return Ok(self.copy(&head, payload, WriteResult::Buffered));
        }
        self.spans.clear();
        self.spans.push(bytes::source(&self.backlog_bytes[self.written..]));
        self.spans.push(bytes::source(&head));
        self.spans.extend_from_slice(payload);
        let written = self.write_spans(total);
        self.spans.clear();
        self.release();
        written
    }

    fn hold(&mut self, frame: &Frame, payload: &[Span], limit: usize) -> Result<WriteResult, End> {
        let head = frame.encode();
        let total = head.len() + bytes::total(payload);
        if self.is_full || self.is_torn || self.backlog() + total > limit {
            return self.write(frame, payload);
        }
        if self.backlog_bytes.is_empty() {
            // A long frame is a piece of a message whose other pieces follow: growing would copy the first ones again.
            let reserved = if total > MIN_RESERVED { limit } else { MIN_RESERVED };
            self.backlog_bytes.reserve_exact(reserved);
        }
        Ok(self.copy(&head, payload, WriteResult::Held))
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

    fn report(&self) -> LinkReport {
        self.stream.report()
    }
}
