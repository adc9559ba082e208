//! What the two halves of a link share.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dat_provider_kit::direct::page;
use dat_provider_kit::fork::Origin;
use dat_provider_kit::frame::Malformed;
use dat_provider_kit::link::{self, End};

use crate::access_words::Owner;
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
    /// Each side may access the memory of the other one directly.
    pub(crate) is_direct: bool,
    /// A random number by which the peer recognises this process.
    nonce: u64,
}

/// The halves as the engine takes them.
pub(crate) type Halves = (Box<dyn link::Reader>, Box<dyn link::Writer>);

impl Link {
    /// The active side, whose socket has sent the segment.
    pub(crate) fn active(socket: OwnedFd, segment: Segment, is_direct: bool) -> Halves {
        halves(Self::new(socket, 0, OnceLock::from(Arc::new(segment)), is_direct))
    }

    /// The passive side, to which a segment is on its way.
    pub(crate) fn passive(socket: OwnedFd, is_direct: bool) -> Halves {
        halves(Self::new(socket, 1, OnceLock::new(), is_direct))
    }

    fn new(
        socket: OwnedFd,
        writes: usize,
        segment: OnceLock<Arc<Segment>>,
        is_direct: bool,
    ) -> Self {
        // Another user learns no address of this process. Root needs none.
        let is_direct = is_direct && greeting::is_same_user(&socket);
        let (bell, origin, has_ended) = (Bell::new(socket), Origin::here(), AtomicBool::new(false));
        let nonce = RandomState::new().build_hasher().finish();
        Self { bell, origin, writes, segment, has_ended, is_direct, nonce }
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
        let segment = self.segment.get_or_init(|| Arc::new(segment));
        self.introduce(segment);
        Ok(Some(segment))
    }

    /// Tells the peer how to recognise this process, and where its region page is. The address of the
    /// nonce is that of this link, which must not move any more.
    fn introduce(&self, segment: &Segment) {
        if self.is_direct {
            let nonce_address = (&raw const self.nonce).expose_provenance() as u64;
            let owner = Owner { directory: page::directory(), nonce: self.nonce, nonce_address };
            segment.access(1 - self.writes).introduce(owner);
        }
    }

    /// The process of the peer, if it is visible here.
    pub(crate) fn peer_process(&self) -> Option<i32> {
        greeting::peer_process(&self.bell)
    }
}

fn halves(link: Link) -> Halves {
    let link = Arc::new(link);
    if let Some(segment) = link.segment() {
        link.introduce(segment);
    }
    (Box::new(RingReader::new(Arc::clone(&link))), Box::new(RingWriter::new(link)))
}
