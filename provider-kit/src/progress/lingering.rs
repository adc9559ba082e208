//! Closing links: the last bytes are written, and bytes of the peer are read until it closes the link.

use std::time::{Duration, Instant};

use dat_sync::clock;

use rustix::event::epoll::EventFlags;

use super::link_state::LinkState;
use crate::frame::Frame;
use crate::link::{Armed, Reader, WriteResult, Writer};

/// Maximum time that a link lingers.
pub(super) const MAX_LINGER: Duration = Duration::from_secs(2);
/// How often the driver checks which links the peers have closed.
pub(super) const CLOSING_CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// The thread continues these checks for this time after a link began to close, so that closing the next link wakes no
/// thread.
pub(super) const CLOSING_CHECKS: Duration = Duration::from_millis(50);

/// The set in which the driver awaits the descriptor of a closing link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedIn {
    Nothing,
    /// The set of the links: data is left to write.
    Links,
    /// The set that the driver checks only occasionally.
    Closing,
}

/// A link of a connection that has ended.
pub(crate) struct Closing {
    /// Identifies it to the driver.
    pub(crate) token: u64,
    pub(crate) reader: Box<dyn Reader>,
    pub(crate) link: LinkState,
    /// The last frame.
    pub(crate) last: Option<Frame>,
}

/// A link that is being closed.
pub(crate) struct LingeringLink {
    pub(super) reader: Box<dyn Reader>,
    writer: Box<dyn Writer>,
    /// The last frame, until it is written.
    last: Option<Frame>,
    /// True once everything is written and the writer is shut down.
    is_shut: bool,
    pub(super) watched_in: WatchedIn,
    pub(super) deadline: Instant,
}

impl LingeringLink {
    /// Starts to close a link, after a last frame if there is one.
    pub(super) fn new(
        mut reader: Box<dyn Reader>,
        writer: Box<dyn Writer>,
        last: Option<Frame>,
    ) -> Self {
        reader.arm(Armed::Descriptor);
        let deadline = clock::now() + MAX_LINGER;
        Self { reader, writer, last, is_shut: false, watched_in: WatchedIn::Nothing, deadline }
    }

    /// Returns true if the peer only has to close the link.
    pub(super) fn awaits_close(&self) -> bool {
        self.is_shut
    }

    /// The events of the descriptor to wait for until the link [awaits](Self::awaits_close) the peer.
    pub(super) fn interest(&self) -> EventFlags {
        if self.reader.is_readable_for_room() {
            EventFlags::IN
        } else {
            EventFlags::IN | EventFlags::OUT
        }
    }

    /// Writes and reads as much as possible. Returns true if the link must be kept.
    pub(super) fn advance(&mut self) -> bool {
        (self.is_shut || self.write()) && self.reader.discard().is_ok()
    }

    fn write(&mut self) -> bool {
        if let Some(frame) = &self.last {
            match self.writer.write_last(frame) {
                Ok(
                    WriteResult::Taken
                    | WriteResult::Buffered
                    | WriteResult::Held
                    | WriteResult::Unreadable,
                ) => {
                    self.last = None;
                }
                Ok(WriteResult::Full) => {}
                Err(_) => return false,
            }
        }
        match self.writer.flush() {
            Ok(false) if self.last.is_none() => {
                self.is_shut = true;
                self.writer.shut_down().is_ok()
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}
