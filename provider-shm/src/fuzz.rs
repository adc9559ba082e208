//! A link with a hostile peer, for the fuzz target of this crate.
#![allow(unsafe_code, reason = "the peer writes the segment by address")]

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use dat_provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::fork::Private;
use dat_provider_kit::link::{Reader, Writer};
use rustix::io::Result;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::boards::{Boards, OwnDoorbell};
use crate::greeting::{self, PeerProcess};
use crate::link::{Link, LinkOptions, halves};
use crate::segment::Segment;

pub use crate::ring::PIECE;

/// A link and the other end of its socket and of its memory.
pub struct HostileLink {
    /// The half of the link that reads.
    pub reader: Box<dyn Reader>,
    /// The half that writes.
    pub writer: Box<dyn Writer>,
    peer: Private<OwnedFd>,
    segment: Segment,
    file: Private<OwnedFd>,
    doorbell: Option<OwnDoorbell>,
}

impl HostileLink {
    /// Creates the active side, which reads direction 1, or the passive one, which reads direction 0 once the peer
    /// has [greeted](Self::greet) it.
    ///
    /// # Errors
    /// The system has no memory or no descriptors.
    pub fn new(is_active: bool) -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = || socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (socket, peer) = Private::create_with(pair)?;
        let peer = Private::create(|| Ok::<_, rustix::io::Errno>(peer))?;
        let (segment, file) = Segment::create()?;
        // The peer is this process, whose memory must not be accessible at addresses that it chooses.
        let boards = Arc::new(Boards::new());
        let doorbell = boards.doorbell();
        let (is_direct, kept) = (false, Arc::default());
        let options = LinkOptions { is_direct, boards: Arc::new(Boards::new()), kept };
        let process = PeerProcess::of(&socket);
        let (reader, writer) = if is_active {
            let mapped = Segment::open(file.as_fd(), segment.id())?;
            let link = Link::active(socket, mapped, false, process, &options);
            link.greet(Some(file.as_fd()))?;
            halves(link)
        } else {
            Link::passive(socket, process, &options)
        };
        Ok(Self { reader, writer, peer, segment, file, doorbell })
    }

    /// Writes bytes into the segment as the peer, from an offset that is taken modulo its length.
    pub fn write(&self, at: usize, from: &[u8]) {
        let (base, length) = self.segment.all();
        let at = at % length;
        let Some(to) = NonNull::new(base.wrapping_add(at)) else { return };
        // SAFETY: inside the mapping, which outlives the call.
        let _ = bytes::scatter(from, &[unsafe { Span::new(to, length - at) }]);
    }

    /// The offset in the segment of the ring that the link reads.
    #[must_use]
    pub fn ring(&self, direction: usize) -> usize {
        self.segment.ring(direction).addr() - self.segment.all().0.addr()
    }

    /// Sends the segment as an active peer does.
    ///
    /// # Errors
    /// The socket takes no packet.
    pub fn greet(&self) -> Result<()> {
        greeting::send(self.peer.as_fd(), self.segment.id(), Some(self.file.as_fd()), None)
    }

    /// Sends a packet on the socket as the peer, with up to three descriptors: the segment, the doorbells, the socket.
    pub fn send(&self, packet: &[u8], descriptors: usize) {
        let board = self.doorbell.as_ref().and_then(OwnDoorbell::file);
        let all = [self.file.as_fd(), board.unwrap_or(self.file.as_fd()), self.peer.as_fd()];
        let _ = greeting::send_any(self.peer.as_fd(), packet, &all[..descriptors.min(all.len())]);
    }

    /// Closes the peer's side of the socket.
    pub fn hang_up(&self) {
        let _ = rustix::net::shutdown(&self.peer, rustix::net::Shutdown::Both);
    }
}

impl std::fmt::Debug for HostileLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostileLink").finish_non_exhaustive()
    }
}
