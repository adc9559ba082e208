//! Links that end: their last bytes are written, and the peer's are read until it closes.

use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;

use crate::frame::Frame;
use crate::link::{Reader, Writer, Written};

/// How long a link lingers.
const LINGER: Duration = Duration::from_secs(2);

/// A link that ends.
pub(super) struct Lingering {
    pub(super) reader: Box<dyn Reader>,
    writer: Box<dyn Writer>,
    last: Option<Frame>,
    is_shut: bool,
    pub(super) until: Instant,
}

impl Lingering {
    /// Ends a link, after a last frame.
    pub(super) fn new(
        mut reader: Box<dyn Reader>,
        writer: Box<dyn Writer>,
        last: Option<Frame>,
    ) -> Self {
        reader.arm(true);
        Self { reader, writer, last, is_shut: false, until: Instant::now() + LINGER }
    }

    /// What it waits for.
    pub(super) fn interest(&self) -> EventFlags {
        let writes = !self.is_shut && !self.reader.is_readable_for_room();
        if writes { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN }
    }

    /// Goes on. Returns whether the link is to be kept.
    pub(super) fn advance(&mut self) -> bool {
        (self.is_shut || self.write()) && self.reader.discard().is_ok()
    }

    fn write(&mut self) -> bool {
        if let Some(frame) = &self.last {
            match self.writer.write(frame, &[]) {
                Ok(Written::Taken) => self.last = None,
                Ok(Written::Full) => {}
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
