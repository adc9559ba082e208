//! The state that the two halves of a link share.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use dat_provider_kit::direct::page;
use dat_provider_kit::doorbell::Doorbell;
use dat_provider_kit::fork::{OwnerProcess, Private};
use dat_provider_kit::frame::FrameError;
use dat_provider_kit::link::{self, End};
use dat_sync::{futex, prefetch_address};

use rustix::io::{Errno, Result};

use crate::access_words::{AccessWords, Owner};
use crate::bell::{Bell, Heard};
use crate::boards::{Boards, OwnDoorbell, PeerDoorbell};
use crate::copy_cost::CopyCost;
use crate::greeting::{self, Greeting, PeerProcess, Reply, SentDoorbell};
use crate::kept_segments::{KeptSegments, OwnSegment};
use crate::reader::RingReader;
use crate::segment::Segment;
use crate::signals::Wake;
use crate::sync::as_futex;
use crate::writer::RingWriter;

/// The options of all links of an adapter.
#[derive(Clone, Debug)]
pub(crate) struct LinkOptions {
    /// True if connections access memory directly.
    pub(crate) is_direct: bool,
    /// The doorbells of the adapter and of its peers.
    pub(crate) boards: Arc<Boards>,
    /// The segments of ended connections.
    pub(crate) kept: Arc<KeptSegments>,
}

/// The shared state of one connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) bell: Bell,
    owner_process: OwnerProcess,
    /// The direction that this side writes.
    pub(crate) writes: usize,
    segment: OnceLock<Arc<Segment>>,
    /// The unit in which the reader expects the next frame.
    next_unit: AtomicPtr<u8>,
    /// True if pages of the segment besides the page of the words were written.
    is_spread: AtomicBool,
    /// True on the active side if the greeting has named a segment that the peer has kept, until the peer requests the
    /// file.
    is_named: AtomicBool,
    /// The qualifier to which the active side has connected.
    qualifier: Option<u64>,
    kept: Arc<KeptSegments>,
    /// The end of the connection: [`STANDS`], [`ENDED`], or the errno with which the program has closed the socket.
    end: AtomicI32,
    /// True once this side is shut down.
    is_shut: AtomicBool,
    /// The process of the peer.
    peer: Option<PeerProcess>,
    /// True if each side may access the other's memory directly.
    pub(crate) is_direct: bool,
    /// The cost of copies into the ring that this side writes, and out of the ring that it reads.
    pub(crate) cost_in: CopyCost,
    pub(crate) cost_out: CopyCost,
    /// A random number by which the peer recognises this process.
    nonce: u64,
    boards: Arc<Boards>,
    /// The doorbell of this side, unless the peer belongs to another user; and whether the peer has received it.
    doorbell: Option<OwnDoorbell>,
    is_doorbell_given: AtomicBool,
    /// The doorbell of the peer, once it is known whether there is one.
    peer_doorbell: OnceLock<Option<PeerDoorbell>>,
}

/// The connection has not ended.
const STANDS: i32 = 0;
/// The peer has ended it or is gone.
const ENDED: i32 = -1;

/// The two halves in the engine's types.
pub(crate) type Halves = (Box<dyn link::Reader>, Box<dyn link::Writer>);

/// The descriptor of its bell.
impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Link {
    /// Creates the active side, which has created the segment and must [greet](Self::greet). `is_named` is true if the
    /// peer has kept the segment.
    pub(crate) fn active(
        socket: Private<OwnedFd>,
        segment: Segment,
        is_named: bool,
        peer: Option<PeerProcess>,
        options: &LinkOptions,
    ) -> Self {
        let segment = OnceLock::from(Arc::new(segment));
        let mut link = Self::new(socket, 0, segment, peer, options);
        *link.is_named.get_mut() = is_named;
        link
    }

    /// Sends the segment of the active side to the peer; without a file if the peer has kept it.
    ///
    /// # Errors
    /// The peer is gone, or too many descriptors are in flight.
    pub(crate) fn greet(&self, file: Option<BorrowedFd<'_>>) -> Result<()> {
        let id = self.segment().ok_or(Errno::PROTO)?.id();
        greeting::send(self.bell.as_fd(), id, file, self.doorbell.as_ref())?;
        self.is_doorbell_given.store(self.doorbell.is_some(), Ordering::Relaxed);
        Ok(())
    }

    /// Creates the passive side, to which a segment is in flight.
    pub(crate) fn passive(
        socket: Private<OwnedFd>,
        peer: Option<PeerProcess>,
        options: &LinkOptions,
    ) -> Halves {
        halves(Self::new(socket, 1, OnceLock::new(), peer, options))
    }

    fn new(
        socket: Private<OwnedFd>,
        writes: usize,
        segment: OnceLock<Arc<Segment>>,
        peer: Option<PeerProcess>,
        options: &LinkOptions,
    ) -> Self {
        let is_same_user = peer.is_some_and(|peer| peer.is_of_same_user);
        // Peers of another user receive no addresses of this process, and ring no doorbells. Root needs none.
        let is_direct = options.is_direct && is_same_user;
        let boards = Arc::clone(&options.boards);
        let doorbell = is_same_user.then(|| boards.doorbell()).flatten();
        let (bell, owner_process, end) =
            (Bell::new(socket), OwnerProcess::current(), AtomicI32::new(STANDS));
        let nonce = RandomState::new().build_hasher().finish();
        Self {
            bell,
            owner_process,
            writes,
            segment,
            next_unit: AtomicPtr::default(),
            is_spread: AtomicBool::new(false),
            is_named: AtomicBool::new(false),
            qualifier: None,
            kept: Arc::clone(&options.kept),
            end,
            is_shut: AtomicBool::new(false),
            peer,
            is_direct,
            cost_in: CopyCost::default(),
            cost_out: CopyCost::default(),
            nonce,
            boards,
            doorbell,
            is_doorbell_given: AtomicBool::new(false),
            peer_doorbell: OnceLock::new(),
        }
    }

    /// Records the qualifier to which the active side has connected.
    pub(crate) fn set_qualifier(&mut self, qualifier: u64) {
        self.qualifier = Some(qualifier);
    }

    /// The peer does not know the segment: replaces its file and sends it.
    #[cold]
    fn greet_again(&self) -> Result<()> {
        if !self.is_named.swap(false, Ordering::Relaxed) {
            return Err(Errno::PROTO);
        }
        // The lock of the queue pair keeps other threads away, and there is no gate before the peer has answered.
        let file = self.segment().ok_or(Errno::PROTO)?.replace()?;
        self.greet(Some(file.as_fd()))
    }

    /// Pages of the segment besides the page of the words were written, so no other connection uses it.
    pub(crate) fn set_spread(&self) {
        self.is_spread.store(true, Ordering::Relaxed);
    }

    /// Records the unit in which the reader expects the next frame.
    #[inline]
    pub(crate) fn look_at(&self, unit: *mut u8) {
        self.next_unit.store(unit, Ordering::Relaxed);
    }

    /// The writer has sent a request: prefetches the cache line of its acknowledgement, so that the next poll does not
    /// wait for it.
    #[inline]
    pub(crate) fn prefetch_next(&self) {
        prefetch_address(self.next_unit.load(Ordering::Relaxed));
    }

    /// Marks the end: the peer sends no more than the ring holds.
    pub(crate) fn end(&self) {
        self.end.store(ENDED, Ordering::Relaxed);
    }

    /// Records that the program has closed the socket.
    #[cold]
    pub(crate) fn lose(&self, errno: Errno) {
        self.end.store(errno.raw_os_error(), Ordering::Relaxed);
    }

    /// The peer broke the protocol: ends the connection and wakes the reader.
    #[cold]
    pub(crate) fn abandon(&self, why: FrameError) -> End {
        self.end();
        match self.bell.hang_up() {
            Ok(()) => End::Malformed(why),
            Err(errno) => End::Stuck(errno.raw_os_error()),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.load(Ordering::Relaxed) != STANDS
    }

    /// Returns the cause of the end: `by_peer`, unless the program has closed the socket.
    #[cold]
    pub(crate) fn ended(&self, by_peer: End) -> End {
        match self.end.load(Ordering::Relaxed) {
            STANDS | ENDED => by_peer,
            errno => End::Lost(errno),
        }
    }

    /// Refuses the call in a child of fork, which has no part in the connections of its parent.
    #[inline]
    pub(crate) fn check(&self) -> std::result::Result<(), End> {
        if self.owner_process.is_current() { Ok(()) } else { Err(End::Gone) }
    }

    /// Returns the segment, once it has arrived.
    pub(crate) fn segment(&self) -> Option<&Arc<Segment>> {
        self.segment.get()
    }

    /// Returns the words of accesses by this side to the peer's memory; `None` if this side does not access memory
    /// directly, or the segment has not arrived.
    pub(crate) fn accesses(&self) -> Option<&AccessWords> {
        let segment = self.segment().filter(|_| self.is_direct)?;
        Some(segment.access(self.writes))
    }

    /// Receives the segment; `None` if it has not arrived.
    pub(crate) fn receive(&self) -> std::result::Result<Option<&Arc<Segment>>, End> {
        let malformed = |_| End::Malformed(FrameError::Magic);
        let received =
            greeting::receive(self.bell.as_fd()).map_err(|errno| match Heard::failed(errno) {
                Heard::Lost(errno) => End::Lost(errno.raw_os_error()),
                _ => malformed(errno),
            })?;
        let Some(Greeting { id, segment, doorbell }) = received else { return Ok(None) };
        let segment = match segment {
            Some(file) => Some(Segment::open(file.as_fd(), id).map_err(malformed)?),
            None => self.peer.and_then(|peer| self.kept.take(peer, id)),
        };
        let Some(segment) = segment else {
            greeting::send_unknown(self.bell.as_fd()).map_err(malformed)?;
            return Ok(None);
        };
        self.learn_doorbell(doorbell).map_err(malformed)?;
        let segment = self.segment.get_or_init(|| Arc::new(segment));
        self.introduce(segment);
        Ok(Some(segment))
    }

    fn learn_doorbell(&self, sent: Option<SentDoorbell>) -> Result<()> {
        let doorbell = match sent {
            Some((board, number)) => Some(self.boards.of_peer(board.as_fd(), number)?),
            None => None,
        };
        let _ = self.peer_doorbell.set(doorbell);
        Ok(())
    }

    /// Takes the rings that have arrived. The first ring of the passive side may carry its doorbell.
    pub(crate) fn hear(&self) -> Heard {
        if self.peer_doorbell.get().is_some() {
            return self.bell.hear();
        }
        let heard = greeting::receive_reply(self.bell.as_fd()).and_then(|reply| match reply {
            Reply::Nothing => Ok(Heard::Nothing),
            Reply::Rung(sent) => self.learn_doorbell(sent).map(|()| Heard::Rung),
            Reply::Unknown => self.greet_again().map(|()| Heard::Nothing),
        });
        heard.unwrap_or_else(Heard::failed)
    }

    /// The first frame of the peer has arrived; if the peer has a doorbell, it was sent before. Returns true if the
    /// peer rang.
    pub(crate) fn meet(&self) -> bool {
        if self.peer_doorbell.get().is_some() {
            return false;
        }
        let heard = self.hear();
        match heard {
            Heard::End => self.end(),
            Heard::Lost(errno) => self.lose(errno),
            Heard::Nothing | Heard::Rung => {}
        }
        self.peer_doorbell.get_or_init(|| None);
        heard == Heard::Rung
    }

    /// Sends the doorbell of the passive side, once and before its first frame.
    pub(crate) fn give_doorbell(&self) {
        let Some(own) = self.doorbell.as_ref().filter(|_| self.writes == 1) else { return };
        let is_given = greeting::send_doorbell(self.bell.as_fd(), own).is_ok();
        self.is_doorbell_given.store(is_given, Ordering::Relaxed);
    }

    /// Returns the doorbell of this side, if the peer has it.
    pub(crate) fn doorbell(&self) -> Option<Arc<Doorbell>> {
        let is_given = self.is_doorbell_given.load(Ordering::Relaxed);
        self.doorbell.as_ref().filter(|_| is_given).map(|own| Arc::clone(&own.doorbell))
    }

    /// Wakes the peer, which waits for a frame.
    ///
    /// # Errors
    /// The program has closed the socket, or the system refuses to wake the peer and to end the connection.
    #[cold]
    pub(crate) fn ring(&self, wake: Wake) -> std::result::Result<(), End> {
        let has_doorbell = self.ring_doorbell();
        match wake {
            Wake::Nothing => {}
            Wake::Doorbell if has_doorbell => {}
            Wake::Doorbell | Wake::Socket => self.ring_bell()?,
            Wake::Word => self.wake_sleeper(),
        }
        Ok(())
    }

    /// Wakes the thread of the peer that sleeps on the word of the ring that this side writes.
    fn wake_sleeper(&self) {
        if let Some(segment) = self.segment() {
            futex::wake_shared(as_futex(segment.signals(self.writes).wake_ups()));
        }
    }

    /// Wakes the peer through the socket.
    ///
    /// # Errors
    /// As [`ring`](Self::ring); the reader then finds the end of the link.
    pub(crate) fn ring_bell(&self) -> std::result::Result<(), End> {
        self.bell.ring().map_err(|errno| match Heard::failed(errno) {
            Heard::Lost(errno) => {
                self.lose(errno);
                End::Lost(errno.raw_os_error())
            }
            _ => {
                self.end();
                End::Stuck(errno.raw_os_error())
            }
        })
    }

    /// Rings the doorbell of the peer. Returns false if it has none.
    pub(crate) fn ring_doorbell(&self) -> bool {
        let doorbell = self.peer_doorbell.get().and_then(Option::as_ref);
        doorbell.inspect(|doorbell| doorbell.ring()).is_some()
    }

    /// Publishes how the peer can recognise this process, and the address of its region page. The nonce is in this
    /// link, which must not move any more.
    fn introduce(&self, segment: &Segment) {
        if self.is_direct {
            let nonce_address = (&raw const self.nonce).expose_provenance() as u64;
            let owner = Owner { directory: page::directory(), nonce: self.nonce, nonce_address };
            segment.access(1 - self.writes).introduce(owner);
        }
    }

    /// Returns the process of the peer, if it is visible in this PID namespace.
    pub(crate) fn peer_process(&self) -> Option<i32> {
        self.peer.and_then(PeerProcess::identifier)
    }

    /// Shuts this side down; the peer sees the end after the frames in the ring.
    pub(crate) fn shut_down(&self) -> Result<()> {
        self.is_shut.store(true, Ordering::Relaxed);
        self.bell.shut_down()
    }

    /// Returns true if this side was shut down.
    pub(crate) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }

    /// Keeps the segment for the next connection between the same processes, if nothing of this process uses it any more
    /// and the peer can be recognised.
    fn keep_segment(&mut self) {
        let is_known = |peer: &PeerProcess| peer.is_of_same_user && peer.identifier().is_some();
        // A gate whose peer does not end its access has another reference.
        let unused = self.segment.take().and_then(Arc::into_inner);
        let (Some(segment), Some(peer)) = (unused, self.peer.filter(is_known)) else { return };
        match self.qualifier {
            _ if self.is_spread.load(Ordering::Relaxed) => {}
            Some(qualifier) => self.kept.keep_own(OwnSegment { segment, peer, qualifier }),
            None if self.writes == 1 => self.kept.keep(peer, segment),
            // It was not connected.
            None => {}
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.owner_process.is_current() {
            self.keep_segment();
        }
    }
}

pub(crate) fn halves(link: Link) -> Halves {
    let link = Arc::new(link);
    if let Some(segment) = link.segment() {
        link.introduce(segment);
    }
    (Box::new(RingReader::new(Arc::clone(&link))), Box::new(RingWriter::new(link)))
}
