//! Links that were accepted, whose active sides have not introduced themselves yet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::Door;
use super::transport::Connected;
use crate::bytes;
use crate::frame::{Body, Frame};
use crate::handshake::{Hello, Message, Passive, Secret, Step};
use crate::link::{Budget, Destinations, FrameSink, Refused, Written};

/// How long an active side may take to introduce itself.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// The most links that wait for an introduction; then the oldest is closed.
pub(super) const MOST: usize = 256;

/// A link whose active side is to introduce itself.
pub(super) struct Greeting {
    pub(super) link: Connected,
    pub(super) door: Arc<Door>,
    pub(super) until: Instant,
    handshake: Passive,
    heard: Heard,
}

/// What became of a greeting.
pub(super) enum Greeted {
    /// The active side has more to say.
    Waiting,
    /// It requests a connection.
    Incoming(Hello),
    /// It gets the reason of the refusal.
    Refused(Message),
    /// The link has ended.
    Gone,
}

impl Greeting {
    pub(super) fn new(link: Connected, door: Arc<Door>, secret: Option<Secret>) -> Self {
        let handshake = Passive::new(door.qualifier, secret);
        let (until, heard) = (Instant::now() + PATIENCE, Heard::default());
        Self { link, door, until, handshake, heard }
    }

    /// Reads what the active side says, and replies.
    pub(super) fn advance(&mut self) -> Greeted {
        let budget = Budget { frames: 1, ..Budget::default() };
        loop {
            let outcome = self.link.reader.read(&mut self.heard, budget);
            let Some((frame, payload)) = self.heard.take() else {
                return if outcome.is_ok() { Greeted::Waiting } else { Greeted::Gone };
            };
            match self.handshake.receive(&frame, &payload) {
                Step::Send(reply) => {
                    let payload = [bytes::source(&reply.payload)];
                    let written = self.link.writer.write(&reply.frame, &payload);
                    if written != Ok(Written::Taken) {
                        return Greeted::Gone;
                    }
                }
                Step::Incoming(hello) => return Greeted::Incoming(hello),
                Step::Refuse(message) => return Greeted::Refused(message),
                Step::Established(..) | Step::Rejected(_) | Step::Refused(_) => {
                    return Greeted::Gone;
                }
            }
        }
    }
}

/// One frame with its payload.
#[derive(Default)]
struct Heard {
    frame: Option<Frame>,
    payload: Vec<u8>,
    is_complete: bool,
}

impl Heard {
    fn take(&mut self) -> Option<(Frame, Vec<u8>)> {
        if !std::mem::take(&mut self.is_complete) {
            return None;
        }
        Some((self.frame.take()?, std::mem::take(&mut self.payload)))
    }
}

impl FrameSink for Heard {
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

    fn destinations(&mut self, offset: u64, places: &mut Destinations) {
        if let Some(rest) = self.payload.get_mut(offset as usize..) {
            places.push(bytes::target(rest));
        }
    }

    fn end(&mut self) -> Result<(), Refused> {
        self.is_complete = true;
        Ok(())
    }
}
