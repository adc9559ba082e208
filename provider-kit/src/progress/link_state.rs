//! The writing half of a link, and its free space.

use dat_provider::mem::Span;
use rustix::io::Errno;

use super::coalescing::Coalescing;
use crate::frame::{AckHead, Frame, MessageHead};
use crate::link::{End, LinkReport, WriteResult, Writer};
use crate::protocol::{RequestFrame, Sent, Transmit};

/// Maximum number of bytes that are held in a burst of requests.
const MAX_IN_BURST: usize = 4 << 10;
/// Maximum number of bytes held until the next poll: MPI libraries write long messages in pieces of some KiB.
const MAX_UNTIL_POLL: usize = 32 << 10;

/// The free space of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// Everything that was written is sent.
    Free,
    /// The link has copied bytes that it could not send. It may accept more.
    Backlog,
    /// It accepts nothing until a flush.
    Full,
    /// Nothing can be written any more.
    Closed,
}

/// Why a link was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    /// A write failed because the peer cannot be reached.
    Peer,
    /// The program has closed the descriptor of the link.
    Descriptor,
}

/// The writing half of a link.
pub(crate) struct LinkState {
    writer: Box<dyn Writer>,
    space: Space,
    loss: Loss,
    /// True if the link can hold frames and may do so: every poll reads it and sends them.
    pub(crate) can_hold: bool,
    pub(crate) may_hold: bool,
    /// The next poll sends the frame of a quiet request.
    pub(crate) polls_send: bool,
    coalescing: Coalescing,
}

/// Returns true if the error shows that the program has closed the descriptor of the link. No other condition causes
/// it, and no later call with the descriptor succeeds.
fn is_lost_descriptor(end: &End) -> bool {
    let errnos = [Errno::BADF, Errno::NOTSOCK];
    matches!(end, End::Lost(errno) if errnos.contains(&Errno::from_raw_os_error(*errno)))
}

impl LinkState {
    pub(crate) fn new(writer: Box<dyn Writer>) -> Self {
        Self {
            can_hold: writer.can_hold(),
            may_hold: false,
            polls_send: false,
            writer,
            space: Space::Free,
            loss: Loss::None,
            coalescing: Coalescing::default(),
        }
    }

    /// Returns true if everything written is sent and more can be written.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.space == Space::Free
    }

    /// What operators see of the link.
    pub(crate) fn report(&self) -> LinkReport {
        let report = self.writer.report();
        LinkReport { is_unread: report.is_unread || !self.is_free(), ..report }
    }

    pub(crate) fn is_peer_lost(&self) -> bool {
        self.loss == Loss::Peer
    }

    pub(crate) fn has_lost_descriptor(&self) -> bool {
        self.loss == Loss::Descriptor
    }

    /// The program has closed the descriptor: ends the link without another system call.
    #[cold]
    pub(crate) fn lose_descriptor(&mut self) {
        (self.loss, self.space) = (Loss::Descriptor, Space::Closed);
    }

    /// A read found the end of the link. Returns true if the program has closed the descriptor.
    #[cold]
    pub(crate) fn note_read_end(&mut self, end: &End) -> bool {
        if is_lost_descriptor(end) {
            self.lose_descriptor();
        }
        self.has_lost_descriptor()
    }

    /// Returns true if the next poll that finds nothing, after `executed` requests were completed, must send the held
    /// frames.
    #[inline]
    pub(crate) fn is_due(&mut self, executed: u32) -> bool {
        self.can_hold && self.coalescing.is_due(executed)
    }

    /// Writes the last frame. Returns the writing half, and the frame if it is not yet written.
    pub(crate) fn write_last(mut self, frame: Option<Frame>) -> (Box<dyn Writer>, Option<Frame>) {
        let left = frame.filter(|frame| match self.space {
            Space::Closed => false,
            Space::Full => true,
            Space::Free | Space::Backlog => {
                let written = self.writer.write_last(frame);
                matches!(written, Ok(WriteResult::Full | WriteResult::Unreadable))
            }
        });
        (self.writer, left)
    }

    /// Records the result of writing a frame; `request` is the number of its request.
    fn note(&mut self, written: Result<WriteResult, End>, request: Option<u32>) -> Sent {
        match written {
            Ok(WriteResult::Taken) => self.coalescing.set_holding(None),
            Ok(WriteResult::Held) => self.coalescing.set_holding(request),
            Ok(WriteResult::Buffered) => {
                self.coalescing.set_holding(None);
                self.space = Space::Backlog;
            }
            other => return self.note_not_taken(&other),
        }
        Sent::Taken
    }

    #[cold]
    fn note_not_taken(&mut self, written: &Result<WriteResult, End>) -> Sent {
        match written {
            Ok(WriteResult::Unreadable) => return Sent::Unreadable,
            Ok(_) => self.space = Space::Full,
            Err(end) => return self.note_end(end),
        }
        Sent::NotTaken
    }

    /// A write found the end of the link. The system reports the loss of a peer only once; after that, the reader finds
    /// an orderly end.
    #[cold]
    fn note_end(&mut self, end: &End) -> Sent {
        self.space = Space::Closed;
        // The reader would wait for that end forever.
        if matches!(end, End::Stuck(_)) {
            return Sent::Lost;
        }
        if is_lost_descriptor(end) {
            self.loss = Loss::Descriptor;
            return Sent::Lost;
        }
        if matches!(end, End::Lost(_)) {
            self.loss = Loss::Peer;
        }
        Sent::NotTaken
    }
}

impl Transmit for LinkState {
    fn write(&mut self, frame: &Frame, payload: &[Span], request: Option<RequestFrame>) -> Sent {
        if matches!(self.space, Space::Full | Space::Closed) {
            return Sent::NotTaken;
        }
        // The streak of requests is counted whether or not they may be held.
        let limit = request.map_or(0, |request| {
            let is_burst = self.can_hold && self.coalescing.note_request();
            match () {
                () if self.polls_send && frame.quiet => MAX_UNTIL_POLL,
                () if is_burst && self.may_hold && request.has_earlier => MAX_IN_BURST,
                () => 0,
            }
        });
        let written = match limit {
            0 => self.writer.write(frame, payload),
            limit => self.writer.hold(frame, payload, limit),
        };
        self.note(written, request.map(|request| request.number))
    }

    #[inline]
    fn write_message(&mut self, head: &MessageHead, payload: Span) -> Sent {
        match self.writer.write_message(head, payload) {
            // The link holds no frames.
            Ok(WriteResult::Taken) => Sent::Taken,
            other => self.note(other, None),
        }
    }

    fn write_ack(&mut self, head: &AckHead) -> Sent {
        let written = self.writer.write_ack(head);
        self.note(written, None)
    }

    fn flush(&mut self) -> Sent {
        self.coalescing.set_holding(None);
        match self.writer.flush() {
            Ok(is_left) if self.space != Space::Closed => {
                self.space = if is_left { Space::Full } else { Space::Free };
                if is_left { Sent::NotTaken } else { Sent::Taken }
            }
            Ok(_) => Sent::NotTaken,
            Err(end) => self.note_end(&end),
        }
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        matches!(self.space, Space::Backlog | Space::Full)
    }

    #[inline]
    fn is_holding(&self) -> bool {
        self.coalescing.is_holding()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.space == Space::Closed
    }

    fn writer(&mut self) -> &mut dyn Writer {
        &mut *self.writer
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::frame::Body;

    /// A link that has ended so.
    struct Ended(End);

    impl Writer for Ended {
        fn write(&mut self, _: &Frame, _: &[Span]) -> Result<WriteResult, End> {
            Err(self.0.clone())
        }

        fn flush(&mut self) -> Result<bool, End> {
            Err(self.0.clone())
        }

        fn shut_down(&mut self) -> Result<(), End> {
            Err(self.0.clone())
        }
    }

    #[test]
    fn an_end_that_no_reader_finds_is_a_loss() {
        let lost_descriptor = End::Lost(Errno::BADF.raw_os_error());
        for (end, sent) in [
            (End::Gone, Sent::NotTaken),
            (End::Lost(Errno::TIMEDOUT.raw_os_error()), Sent::NotTaken),
            (End::Stuck(Errno::NOBUFS.raw_os_error()), Sent::Lost),
            (lost_descriptor.clone(), Sent::Lost),
        ] {
            let new = || LinkState::new(Box::new(Ended(end.clone())));
            let mut link = new();
            assert_eq!(link.write(&Frame::new(Body::Ack), &[], None), sent, "{end:?}");
            assert!(link.is_closed());
            assert_eq!(
                link.has_lost_descriptor(),
                end == lost_descriptor,
                "the adapter fails then"
            );
            assert_eq!(new().flush(), sent, "{end:?}");
        }
    }
}
