//! A handshake frame with its payload, read from a link without a queue pair.

use crate::bytes;
use crate::frame::{Body, Frame};
use crate::handshake::{Message, Step};
use crate::link::{Budget, Destinations, FrameSink, Refused, WriteResult};
use crate::transport::Connected;

/// The progress of a handshake.
pub(crate) enum Exchange {
    /// The next frame of the other side has not arrived.
    Waiting,
    /// The handshake has reached this step; the replies before it were sent.
    Step(Step),
    /// The link has ended.
    Gone,
}

/// One frame with its payload.
pub(crate) struct ReceivedFrame {
    /// Returns the length of the payload if the frame is valid here.
    length: fn(&Body) -> Option<u64>,
    frame: Option<Frame>,
    payload: Vec<u8>,
    is_complete: bool,
}

impl ReceivedFrame {
    const fn new(length: fn(&Body) -> Option<u64>) -> Self {
        Self { length, frame: None, payload: Vec::new(), is_complete: false }
    }

    /// Receives the frames of an active side.
    pub(crate) const fn of_active() -> Self {
        Self::new(|body| match body {
            Body::Hello { length, .. } | Body::Proof { length } => Some(*length),
            _ => None,
        })
    }

    /// Receives the frames of a passive side.
    pub(crate) const fn of_passive() -> Self {
        Self::new(|body| match body {
            Body::Challenge { length } | Body::Answer { length, .. } => Some(*length),
            _ => None,
        })
    }

    /// Reads the frames of the other side from a link, and sends the replies. `receive` maps a frame and its payload to
    /// the next step.
    pub(crate) fn exchange(
        &mut self,
        link: &mut Connected,
        mut receive: impl FnMut(&Frame, &[u8]) -> Step,
    ) -> Exchange {
        let budget = Budget { frames: 1, ..Budget::default() };
        link.reader.note_readable();
        loop {
            let outcome = link.reader.read(self, budget);
            let Some((frame, payload)) = self.take() else {
                return if outcome.is_ok() { Exchange::Waiting } else { Exchange::Gone };
            };
            match receive(&frame, &payload) {
                Step::Send(message) if send(link, &message) => {}
                Step::Send(_) => return Exchange::Gone,
                step => return Exchange::Step(step),
            }
        }
    }

    /// The frame, if it is complete.
    fn take(&mut self) -> Option<(Frame, Vec<u8>)> {
        if !std::mem::take(&mut self.is_complete) {
            return None;
        }
        Some((self.frame.take()?, std::mem::take(&mut self.payload)))
    }
}

/// Sends a handshake message, for which a link has space. Returns false if the link has ended.
pub(crate) fn send(link: &mut Connected, message: &Message) -> bool {
    let payload = [bytes::source(&message.payload)];
    let written = link.writer.write(&message.frame, &payload);
    matches!(written, Ok(WriteResult::Taken | WriteResult::Buffered))
}

impl FrameSink for ReceivedFrame {
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused> {
        let length = (self.length)(&frame.body).ok_or(Refused)?;
        self.payload = vec![0; length as usize];
        self.frame = Some(*frame);
        Ok(())
    }

    fn destinations(&mut self, offset: u64, destinations: &mut Destinations) {
        if let Some(rest) = self.payload.get_mut(offset as usize..) {
            destinations.push(bytes::target(rest));
        }
    }

    fn end(&mut self) -> Result<(), Refused> {
        self.is_complete = true;
        Ok(())
    }
}
