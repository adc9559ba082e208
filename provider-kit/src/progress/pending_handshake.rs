//! Accepted links whose handshake is not complete.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_sync::clock;

use super::incoming::ListenerState;
use crate::bytes;
use crate::frame::{Body, Frame};
use crate::handshake::{Hello, Message, Passive, Secret, Step};
use crate::link::{Budget, Destinations, FrameSink, Refused, WriteResult};
use crate::transport::Connected;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// An accepted link in the handshake.
pub(super) struct PendingHandshake {
    pub(super) link: Connected,
    pub(super) listener: Arc<ListenerState>,
    pub(super) deadline: Instant,
    /// Whether the driver waits for its descriptor.
    pub(super) is_watched: bool,
    handshake: Passive,
    received: ReceivedFrame,
}

/// The result of a step of the handshake.
pub(super) enum HandshakeOutcome {
    /// The next frame of the active side is missing.
    Waiting,
    /// The active side requests a connection.
    Incoming(Hello),
    /// The request is refused with this message.
    Refused(Message),
    /// The link has ended.
    Gone,
}

impl PendingHandshake {
    pub(super) fn new(
        link: Connected,
        listener: Arc<ListenerState>,
        secret: Option<Secret>,
    ) -> Self {
        let handshake = Passive::new(listener.qualifier, secret);
        let (deadline, received) = (clock::now() + HANDSHAKE_TIMEOUT, ReceivedFrame::default());
        Self { link, listener, deadline, is_watched: false, handshake, received }
    }

    /// Reads the frames of the active side, and replies.
    pub(super) fn advance(&mut self) -> HandshakeOutcome {
        let budget = Budget { frames: 1, ..Budget::default() };
        self.link.reader.note_readable();
        loop {
            let outcome = self.link.reader.read(&mut self.received, budget);
            let Some((frame, payload)) = self.received.take() else {
                return if outcome.is_ok() {
                    HandshakeOutcome::Waiting
                } else {
                    HandshakeOutcome::Gone
                };
            };
            match self.handshake.receive(&frame, &payload) {
                Step::Send(reply) => {
                    let payload = [bytes::source(&reply.payload)];
                    let written = self.link.writer.write(&reply.frame, &payload);
                    if !matches!(written, Ok(WriteResult::Taken | WriteResult::Buffered)) {
                        return HandshakeOutcome::Gone;
                    }
                }
                Step::Incoming(hello) => return HandshakeOutcome::Incoming(hello),
                Step::Refuse(message) => return HandshakeOutcome::Refused(message),
                Step::Established(..) | Step::Rejected(_) | Step::Refused(_) => {
                    return HandshakeOutcome::Gone;
                }
            }
        }
    }
}

/// One frame with its payload.
#[derive(Default)]
struct ReceivedFrame {
    frame: Option<Frame>,
    payload: Vec<u8>,
    is_complete: bool,
}

impl ReceivedFrame {
    fn take(&mut self) -> Option<(Frame, Vec<u8>)> {
        if !std::mem::take(&mut self.is_complete) {
            return None;
        }
        Some((self.frame.take()?, std::mem::take(&mut self.payload)))
    }
}

impl FrameSink for ReceivedFrame {
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused> {
        match frame.body {
            Body::Hello { length, .. } | Body::Proof { length } => {
                self.payload = vec![0; length as usize];
                self.frame = Some(*frame);
                Ok(())
            }
            _ => Err(Refused),
        }
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
