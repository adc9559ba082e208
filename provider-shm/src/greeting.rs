//! The first packets on a connected socket. The active side sends the descriptors of the segment and of its doorbells;
//! the passive side sends the descriptor of its doorbells. If the passive side has [kept](crate::kept_segments) the
//! segment, its descriptor is not sent, unless the passive side answers that it does not know the segment.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use dat_provider_kit::fork::Private;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use crate::bell::RING;
use crate::boards::OwnDoorbell;

/// The start of the packet; the last byte is the version of the segment's layout.
const MAGIC: [u8; 8] = *b"dat-shm\x07";
/// What follows: whether the segment is sent, or was kept; and its number.
const SENT: u8 = 0;
const KEPT: u8 = 1;
const ID: usize = size_of::<u64>();
/// The answer to a greeting with a kept segment that the passive side does not know.
const UNKNOWN: [u8; 1] = [2];
/// Size of the number of the doorbell, which is at the end if there is a doorbell.
const NUMBER: usize = size_of::<u32>();
/// Maximum size of a packet.
const LONGEST: usize = MAGIC.len() + 1 + ID + NUMBER;
/// Additional descriptors are received too, so that they can be closed.
const MOST: usize = 4;

/// A board of doorbells, and the number of one of them.
pub(crate) type SentDoorbell = (Private<OwnedFd>, u32);

/// The contents of the active side's packet.
pub(crate) struct Greeting {
    /// The number of the segment.
    pub(crate) id: u64,
    /// The file of the segment; `None` if the passive side has kept the segment.
    pub(crate) segment: Option<Private<OwnedFd>>,
    pub(crate) doorbell: Option<SentDoorbell>,
}

/// The first packet of the passive side.
pub(crate) enum Reply {
    /// It has not arrived.
    Nothing,
    /// A ring, with the doorbell of the peer if it has one.
    Rung(Option<SentDoorbell>),
    /// The peer does not know the segment.
    Unknown,
}

/// Sends the number of a segment, its descriptor unless the peer has kept it, and a doorbell.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    id: u64,
    segment: Option<BorrowedFd<'_>>,
    doorbell: Option<&OwnDoorbell>,
) -> Result<()> {
    let kind = [if segment.is_some() { SENT } else { KEPT }];
    let (id, number) = (id.to_le_bytes(), doorbell.map(|own| own.doorbell.number().to_le_bytes()));
    let board = doorbell.map(|own| own.file().ok_or(Errno::BADF)).transpose()?;
    let number = number.as_ref().map_or(&[][..], |number| number);
    let descriptors: Vec<_> = segment.into_iter().chain(board).collect();
    send_packet(socket, &[&MAGIC, &kind, &id, number], &descriptors)
}

/// Answers that this side does not know the segment that the peer has named.
pub(crate) fn send_unknown(socket: BorrowedFd<'_>) -> Result<()> {
    send_packet(socket, &[&UNKNOWN], &[])
}

/// Sends a ring with a doorbell.
pub(crate) fn send_doorbell(socket: BorrowedFd<'_>, own: &OwnDoorbell) -> Result<()> {
    let number = own.doorbell.number().to_le_bytes();
    send_packet(socket, &[&[RING], &number], &[own.file().ok_or(Errno::BADF)?])
}

fn send_packet(
    socket: BorrowedFd<'_>,
    parts: &[&[u8]],
    descriptors: &[BorrowedFd<'_>],
) -> Result<()> {
    send_any(socket, &parts.concat(), descriptors)
}

/// Sends a packet with up to [`MOST`] descriptors.
pub(crate) fn send_any(
    socket: BorrowedFd<'_>,
    packet: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let is_sent =
        descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(descriptors));
    if !is_sent {
        return Err(Errno::NOBUFS);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(packet)], &mut control, flags).map(drop)
}

/// Receives the segment of the peer; `None` if the packet has not arrived.
///
/// # Errors
/// The peer closed the socket, or sent a different packet.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> Result<Option<Greeting>> {
    let Some(Packet { bytes, length, descriptors }) = receive_packet(socket)? else {
        return Ok(None);
    };
    let rest = bytes[..length].strip_prefix(&MAGIC).ok_or(Errno::PROTO)?;
    let mut descriptors = descriptors.into_iter();
    let (kind, rest) = rest.split_first().ok_or(Errno::PROTO)?;
    let (id, number) = rest.split_first_chunk::<ID>().ok_or(Errno::PROTO)?;
    let segment = match *kind {
        SENT => Some(descriptors.next().ok_or(Errno::PROTO)?),
        KEPT => None,
        _ => return Err(Errno::PROTO),
    };
    let doorbell = doorbell(number, descriptors)?;
    Ok(Some(Greeting { id: u64::from_le_bytes(*id), segment, doorbell }))
}

/// Receives the first packet of the passive side.
///
/// # Errors
/// The peer closed the socket, or sent a different packet.
pub(crate) fn receive_reply(socket: BorrowedFd<'_>) -> Result<Reply> {
    let Some(Packet { bytes, length, descriptors }) = receive_packet(socket)? else {
        return Ok(Reply::Nothing);
    };
    let packet = &bytes[..length];
    if packet == UNKNOWN && descriptors.is_empty() {
        return Ok(Reply::Unknown);
    }
    let number = packet.strip_prefix(&[RING]).ok_or(Errno::PROTO)?;
    doorbell(number, descriptors.into_iter()).map(Reply::Rung)
}

/// Decodes the doorbell from bytes and descriptors.
fn doorbell(
    number: &[u8],
    mut descriptors: impl Iterator<Item = Private<OwnedFd>>,
) -> Result<Option<SentDoorbell>> {
    let (board, more) = (descriptors.next(), descriptors.next());
    match (board, number.try_into()) {
        (None, _) if number.is_empty() => Ok(None),
        (Some(board), Ok(number)) if more.is_none() => {
            Ok(Some((board, u32::from_le_bytes(number))))
        }
        _ => Err(Errno::PROTO),
    }
}

/// A packet and its descriptors.
struct Packet {
    bytes: [u8; LONGEST + 1],
    length: usize,
    descriptors: Vec<Private<OwnedFd>>,
}

/// Receives a packet, if there is one.
fn receive_packet(socket: BorrowedFd<'_>) -> Result<Option<Packet>> {
    let mut bytes = [0; LONGEST + 1];
    // A child of fork must not keep the peer's descriptors open.
    match Private::create_all(|| receive_bytes(socket, &mut bytes)) {
        Ok((descriptors, length)) => Ok(Some(Packet { bytes, length, descriptors })),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Receives the bytes and descriptors of a packet; returns the descriptors and the number of bytes.
fn receive_bytes(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<(Vec<OwnedFd>, usize)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut places = [IoSliceMut::new(bytes)];
    let length = rustix::net::recvmsg(socket, &mut places, &mut control, flags)?.bytes;
    let descriptors = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    Ok((descriptors, length))
}

/// The process that connected, or that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerProcess {
    /// Its identifier; 0 if it is outside of this PID namespace.
    pub(crate) process: i32,
    pub(crate) user: u32,
    /// True if it belongs to this user or to root.
    pub(crate) is_of_same_user: bool,
}

impl PeerProcess {
    /// The process at the other end of a socket; `None` if the program has closed the socket.
    pub(crate) fn of(socket: impl AsFd) -> Option<Self> {
        // Not `socket_peercred` of rustix, which cannot represent the process identifier 0.
        let peer = getsockopt(&socket, PeerCredentials).ok()?;
        let (process, user) = (peer.pid(), peer.uid());
        let is_of_same_user = [rustix::process::geteuid().as_raw(), 0].contains(&user);
        Some(Self { process, user, is_of_same_user })
    }

    /// Its identifier, if it is visible in this PID namespace.
    pub(crate) fn identifier(self) -> Option<i32> {
        Some(self.process).filter(|process| *process > 0)
    }
}
