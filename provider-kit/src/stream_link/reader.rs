//! The reading half of a link over a stream.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};

use dat_provider::SleepTarget;

use super::Stream;
use crate::bytes;
use crate::frame::{self, Frame, MAX_HEAD};
use crate::link::{Budget, Destinations, End, FrameSink, Liveness, Progress, Reader, Refused};

/// A payload of at most this many bytes is stored when it is complete. MPI libraries that find the first bytes of a write
/// in memory wait for its last ones without a call, so no poll would read the rest. A longer one is read directly into its
/// memory, if at least `DIRECT` bytes of it are missing.
const WHOLE: usize = 16 << 10;
const DIRECT: usize = 2 << 10;
/// Number of bytes that a read takes into the buffer, and the size of the buffer. Bytes of a long payload in the buffer
/// are copied twice, so a read takes more only while short frames fill it.
const USUAL: usize = WHOLE + MAX_HEAD;
const BUFFER: usize = 32 << 10;
/// The last bytes of a payload always pass through the buffer and are stored after all others, because the kernel
/// copies in any order.
const LAST: usize = 64;

thread_local! {
    /// The buffer that this thread lends to the links that it reads.
    static SPARE: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Reads frames from a stream.
pub struct StreamReader<S> {
    stream: Arc<S>,
    /// The bytes in `buffer[start..end]` were read and not yet passed on. The buffer is empty between reads if there
    /// are none.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// The frame whose payload is being read, and the number of payload bytes passed on.
    current: Option<(Frame, usize)>,
    destinations: Destinations,
    /// True after a read that filled the buffer, until a long payload begins.
    is_burst: bool,
    ended: Option<End>,
}

impl<S> std::fmt::Debug for StreamReader<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader").field("current", &self.current).finish_non_exhaustive()
    }
}

/// The result of a step.
enum Step {
    /// A frame was passed on.
    Frame,
    /// More bytes are needed.
    Starved,
}

impl<S: Stream> StreamReader<S> {
    /// Reads a stream.
    #[must_use]
    pub fn new(stream: Arc<S>) -> Self {
        let (buffer, destinations) = (Box::default(), Destinations::new());
        Self {
            stream,
            buffer,
            start: 0,
            end: 0,
            current: None,
            destinations,
            is_burst: false,
            ended: None,
        }
    }

    /// Passes on the bytes in the buffer, up to the end of a frame.
    fn step(&mut self, sink: &mut dyn FrameSink) -> Result<Step, End> {
        if self.current.is_none() {
            let buffered = &self.buffer[self.start..self.end];
            let Some((frame, head)) = frame::decode(buffered).map_err(End::Malformed)? else {
                return Ok(Step::Starved);
            };
            self.start += head;
            sink.begin(&frame)?;
            self.is_burst &= frame.payload() as usize <= WHOLE;
            self.current = Some((frame, 0));
        }
        let Some((frame, received)) = &mut self.current else { return Ok(Step::Starved) };
        let missing = frame.payload() as usize - *received;
        let part = missing.min(self.end - self.start);
        if part < missing && frame.payload() as usize <= WHOLE {
            return Ok(Step::Starved);
        }
        if part > 0 {
            self.destinations.clear();
            sink.destinations(*received as u64, &mut self.destinations);
            let part = &self.buffer[self.start..self.start + part];
            let is_lost = bytes::scatter(part, &self.destinations).is_err();
            let part = part.len();
            if is_lost {
                sink.lose_memory();
            }
            self.destinations.clear();
            self.start += part;
            *received += part;
        }
        if part < missing {
            return Ok(Step::Starved);
        }
        self.current = None;
        sink.end()?;
        Ok(Step::Frame)
    }

    /// Reads from the stream: a long payload into its memory, everything else into the buffer. Returns the
    /// number of bytes, and whether the stream may have more.
    fn fill(&mut self, sink: &mut dyn FrameSink) -> Result<(usize, bool), End> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.destinations.clear();
        let mut direct = 0;
        if let Some((frame, received)) = self.current {
            let missing = frame.payload() as usize - received;
            if frame.payload() as usize > WHOLE && missing >= DIRECT && self.end == 0 {
                let length = missing - LAST;
                sink.destinations(received as u64, &mut self.destinations);
                truncate(&mut self.destinations, length);
                // If there is no memory for all bytes of the payload, it goes through the buffer.
                direct = if bytes::total(&self.destinations) == length { length } else { 0 };
            }
        }
        if direct == 0 {
            self.destinations.clear();
        }
        // What is left in the buffer is less than a short frame.
        let limit = if self.is_burst { self.buffer.len() } else { USUAL };
        self.destinations.push(bytes::target(&mut self.buffer[self.end..limit]));
        let mut count = self.stream.read(&self.destinations);
        if count == Err(End::Inaccessible) {
            // The copy from the buffer detects that the memory is lost.
            direct = 0;
            self.destinations.clear();
            self.destinations.push(bytes::target(&mut self.buffer[self.end..limit]));
            count = self.stream.read(&self.destinations);
        }
        let space = direct + limit - self.end;
        self.destinations.clear();
        let Some(count) = count? else { return Ok((0, false)) };
        let count = count.min(space);
        if let Some((_, received)) = &mut self.current {
            *received += count.min(direct);
        }
        self.end += count.saturating_sub(direct);
        self.is_burst |= direct == 0 && count == space;
        Ok((count, count == space))
    }

    /// Takes the buffer of the thread, unless this reader's own buffer holds bytes.
    fn borrow_buffer(&mut self) {
        if self.buffer.is_empty() {
            let spare = SPARE.try_with(Cell::take).ok().flatten();
            self.buffer = spare.unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice());
        }
    }

    /// Returns the buffer to the thread and discards its contents.
    fn return_buffer(&mut self) {
        (self.start, self.end) = (0, 0);
        let buffer = std::mem::take(&mut self.buffer);
        let _ = SPARE.try_with(|spare| spare.set(Some(buffer)));
    }

    fn run(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End> {
        let (mut frames, mut bytes, mut has_more) = (0, 0, true);
        loop {
            while let Step::Frame = self.step(sink)? {
                frames += 1;
                if frames >= budget.frames {
                    return Ok(Progress::More);
                }
            }
            if !has_more {
                return Ok(Progress::Drained(bytes > 0 || frames > 0));
            }
            if bytes >= budget.bytes {
                return Ok(Progress::More);
            }
            match self.fill(sink) {
                Ok((count, more)) => (bytes, has_more) = (bytes + count, more),
                Err(End::Closed) if self.current.is_some() || self.start < self.end => {
                    return Err(End::Gone);
                }
                Err(end) => return Err(end),
            }
        }
    }
}

/// Truncates spans to a total length in bytes.
fn truncate(spans: &mut Destinations, length: usize) {
    let mut left = length;
    let cut = spans.iter_mut().position(|span| {
        if span.len() >= left {
            return true;
        }
        left -= span.len();
        false
    });
    let Some(last) = cut else { return };
    spans.truncate(last + 1);
    if let Some(span) = spans.last_mut() {
        *span = bytes::first(*span, left);
    }
}

impl From<Refused> for End {
    fn from(_: Refused) -> Self {
        Self::Refused
    }
}

impl<S: Stream> Reader for StreamReader<S> {
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End> {
        if let Some(end) = &self.ended {
            return Err(end.clone());
        }
        self.borrow_buffer();
        let result = self.run(sink, budget);
        if self.start == self.end || result.is_err() {
            self.return_buffer();
        }
        if let Err(end) = &result {
            self.ended = Some(end.clone());
        }
        result
    }

    fn discard(&mut self) -> Result<(), End> {
        self.borrow_buffer();
        let mut result = Ok(Some(0));
        for _ in 0..64 {
            if !matches!(result, Ok(Some(_))) {
                break;
            }
            result = self.stream.read(&[bytes::target(&mut self.buffer)]);
        }
        self.return_buffer();
        result.map(drop)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stream.descriptor()
    }

    fn begin_sleep(&mut self) -> Option<(SleepTarget, bool)> {
        Some((SleepTarget::Descriptor(self.stream.waiter_descriptor()?), false))
    }

    fn liveness(&self) -> Option<Weak<dyn Liveness>> {
        self.stream.liveness()
    }
}
