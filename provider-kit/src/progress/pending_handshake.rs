//! Accepted links whose handshake is not complete.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_sync::clock;

use super::incoming::ListenerState;
use super::received_frame::{Exchange, ReceivedFrame};
use crate::handshake::{Hello, Message, Passive, Secret, Step};
use crate::transport::Connected;

/// Maximum duration of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// An accepted link in the handshake.
pub(super) struct PendingHandshake {
    pub(super) link: Connected,
    pub(super) listener: Arc<ListenerState>,
    pub(super) deadline: Instant,
    /// True while the driver waits for its descriptor.
    pub(super) is_watched: bool,
    handshake: Passive,
    received: ReceivedFrame,
}

/// The result of a step of the handshake.
pub(super) enum HandshakeOutcome {
    /// The next frame of the active side has not arrived.
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
        let (deadline, received) = (clock::now() + HANDSHAKE_TIMEOUT, ReceivedFrame::of_active());
        Self { link, listener, deadline, is_watched: false, handshake, received }
    }

    /// Reads the frames of the active side, and replies.
    pub(super) fn advance(&mut self) -> HandshakeOutcome {
        let Self { link, handshake, received, .. } = self;
        match received.exchange(link, |frame, payload| handshake.receive(frame, payload)) {
            Exchange::Waiting => HandshakeOutcome::Waiting,
            Exchange::Step(Step::Incoming(hello)) => HandshakeOutcome::Incoming(hello),
            Exchange::Step(Step::Refuse(message)) => HandshakeOutcome::Refused(message),
            Exchange::Step(_) | Exchange::Gone => HandshakeOutcome::Gone,
        }
    }
}
