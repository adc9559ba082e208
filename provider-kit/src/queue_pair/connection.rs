//! A connection: its protocol, its link, and the attention to the link.

use dat_provider::Peer;

use crate::frame::Frame;
use crate::handshake::{ConnectionParameters, Message};
use crate::link::{Budget, Progress, Reader, Writer};
use crate::progress::{Attention, Closing, Event, LinkState};
use crate::progress_mode::ProgressMode;
use crate::protocol::{EndCause, Protocol, Receiver, Stage, Transmit};
use crate::upcalls::Upcalls;
use crate::work_queues::WorkQueues;

/// An established connection, or one in its handshake.
pub(super) struct Connection {
    pub(super) protocol: Protocol,
    pub(super) link: LinkState,
    pub(super) reader: Box<dyn Reader>,
    pub(super) attention: Attention,
    /// True if the last read left received frames behind, for which the descriptor may not become readable.
    pub(super) has_unread: bool,
    /// Identifies the link to the driver.
    pub(super) token: u64,
}

impl Connection {
    /// A connection over a new link; `side` is the result of the handshake for this side, and `token` identifies the
    /// link to the driver, which awaits it as the mode says. Not inlined, so that the frames of callers do not hold
    /// it: consumers have threads with small stacks.
    #[inline(never)]
    pub(super) fn new(
        stage: Stage,
        (reader, writer): (Box<dyn Reader>, Box<dyn Writer>),
        (token, mode): (u64, ProgressMode),
        ends: (Peer, u64),
        side: &ConnectionParameters,
    ) -> Box<Self> {
        let abilities = (writer.can_hold(), writer.can_offer());
        let mut protocol =
            Protocol::new(stage, ends, side.posted, abilities, writer.max_first_piece());
        if side.is_unreliable {
            protocol.set_unreliable();
        }
        Box::new(Self {
            protocol,
            link: LinkState::new(writer),
            attention: Attention::new(&*reader, mode),
            reader,
            has_unread: false,
            token,
        })
    }

    /// Creates the passive side of a connection with the peer described by its `HELLO`.
    pub(super) fn accepted(
        halves: (Box<dyn Reader>, Box<dyn Writer>),
        reading: (u64, ProgressMode),
        ends: (Peer, u64),
        (peer, side): (&ConnectionParameters, &ConnectionParameters),
    ) -> Box<Self> {
        let mut conn = Self::new(Stage::AwaitReady, halves, reading, ends, side);
        conn.protocol.outbound.apply_peer_info(peer);
        let acceptance = Message::acceptance(side);
        conn.protocol.send_handshake(&acceptance, &mut conn.link);
        conn
    }

    /// Returns true if it is ending.
    pub(super) const fn is_ending(&self) -> bool {
        self.protocol.ending.is_some()
    }

    /// Reads the frames that have arrived. Returns true if there was anything, including the end of the link.
    #[inline(always)]
    pub(super) fn read(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) -> bool {
        let Self { protocol, link, reader, .. } = self;
        if protocol.inbound.has_failed() {
            return self.discard();
        }
        protocol.has_read_plain = true;
        let outcome =
            reader.read(&mut Receiver { protocol, out: link, queues, upcalls }, Budget::default());
        self.has_unread = false;
        match outcome {
            Ok(Progress::Drained(has_arrived)) => return has_arrived,
            Ok(Progress::More) => self.has_unread = true,
            Err(end) if self.link.note_read_end(&end) => {
                self.protocol.has_lost_peer = true;
                self.protocol.end(EndCause::Broken, None);
            }
            Err(end) => self.protocol.note_read_end(&end, self.link.is_peer_lost()),
        }
        true
    }

    /// Drops the data that has arrived, because a request of the peer has failed. Returns true if the link has ended.
    /// The peer then does not wait for the answers to earlier requests, and the link may never have space for them.
    #[cold]
    fn discard(&mut self) -> bool {
        self.has_unread = false;
        let Err(end) = self.reader.discard() else { return false };
        self.link.note_read_end(&end);
        self.protocol.end_failed();
        true
    }

    /// Writes as much as the link accepts, and completes the requests that the peer has executed.
    pub(super) fn progress(&mut self, queues: &mut WorkQueues, upcalls: &mut Upcalls) {
        self.protocol.progress(&mut self.link, queues, upcalls);
    }

    /// Sends an acknowledgement, if the peer may wait for one. An acknowledgement of requests may wait for the next
    /// frame (`may_wait`).
    pub(super) fn acknowledge(&mut self, may_wait: bool) {
        self.protocol.acknowledge(may_wait, &mut self.link);
    }

    /// Sends the held frames.
    #[inline]
    pub(super) fn send_held(&mut self) {
        if self.link.is_holding() {
            self.protocol.flush(&mut self.link);
        }
    }

    /// A poll has found nothing: sends the held frames, unless they may wait.
    #[inline]
    pub(super) fn send_held_if_due(&mut self) {
        if self.link.is_due(self.protocol.outbound.sends.executed) {
            self.protocol.flush(&mut self.link);
        }
    }

    /// The program has closed the descriptor: ends the link without another system call.
    #[cold]
    pub(super) fn lose_descriptor(&mut self) {
        self.link.lose_descriptor();
        self.protocol.has_lost_peer = true;
        self.protocol.writes_at_once = false;
        self.protocol.end(EndCause::Broken, None);
    }

    /// A counter that changes when requests arrive or complete.
    #[inline]
    pub(super) fn activity(&self) -> u32 {
        self.protocol.inbound.executed.wrapping_add(self.protocol.outbound.sends.executed)
    }

    /// Announces to the link which event its reader awaits.
    pub(super) fn arm(&mut self, queues: &WorkQueues) {
        let Self { attention, reader, link, .. } = self;
        self.has_unread |= attention.arm(queues, &mut **reader, link);
    }

    /// Closes the link after a last frame.
    pub(super) fn close(mut self: Box<Self>, last: Option<Frame>, queues: &WorkQueues) -> Closing {
        self.attention.note(Event::Ended, queues);
        let Self { reader, link, token, .. } = *self;
        Closing { token, reader, link, last }
    }
}
