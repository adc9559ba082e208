//! What the two halves of a link share.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dat_provider_kit::fork::Origin;
use dat_provider_kit::frame::Malformed;
use dat_provider_kit::link::{self, End};

use crate::bell::Bell;
use crate::greeting;
use crate::reader::RingReader;
use crate::segment::Segment;
use crate::writer::RingWriter;

/// Of one connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) bell: Bell,
    origin: Origin,
    /// The direction that this side writes.
    pub(crate) writes: usize,
    segment: OnceLock<Arc<Segment>>,
    /// The peer has ended the connection, or is gone.
    has_ended: AtomicBool,
}

/// The halves as the engine takes them.
pub(crate) type Halves = (Box<dyn link::Reader>, Box<dyn link::Writer>);

impl Link {
    /// The active side, whose socket has sent the segment.
    pub(crate) fn active(socket: OwnedFd, segment: Segment) -> Halves {
        halves(Self::new(socket, 0, OnceLock::from(Arc::new(segment))))
    }

    /// The passive side, to which a segment is on its way.
    pub(crate) fn passive(socket: OwnedFd) -> Halves {
        halves(Self::new(socket, 1, OnceLock::new()))
    }

    fn new(socket: OwnedFd, writes: usize, segment: OnceLock<Arc<Segment>>) -> Self {
        let (bell, origin) = (Bell::new(socket), Origin::here());
        Self { bell, origin, writes, segment, has_ended: AtomicBool::new(false) }
    }

    /// Nothing more comes from the peer than what is in the ring.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// The peer broke the protocol: the reader finds the end, too, and is woken for it.
    #[cold]
    pub(crate) fn abandon(&self, why: Malformed) -> End {
        self.end();
        self.bell.hang_up();
        End::Malformed(why)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// A child of fork has no part in the connections of its parent.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), End> {
        if self.origin.is_here() { Ok(()) } else { Err(End::Gone) }
    }

    /// The segment, once it is there.
    pub(crate) fn segment(&self) -> Option<&Arc<Segment>> {
        self.segment.get()
    }

    /// Receives the segment; nothing if it has not come yet.
    pub(crate) fn receive(&self) -> Result<Option<&Arc<Segment>>, End> {
        let received = greeting::receive(self.bell.as_fd());
        let Some(file) = received.map_err(|_| End::Malformed(Malformed::Magic))? else {
            return Ok(None);
        };
        let segment = Segment::open(file.as_fd()).map_err(|_| End::Malformed(Malformed::Magic))?;
        Ok(Some(self.segment.get_or_init(|| Arc::new(segment))))
    }
}

fn halves(link: Link) -> Halves {
    let link = Arc::new(link);
    (Box::new(RingReader::new(Arc::clone(&link))), Box::new(RingWriter::new(link)))
}
