//! The first packets on a connected socket. The active side sends the descriptors of the segment and of its doorbells;
//! the passive side sends the descriptor of its doorbells.

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
const MAGIC: [u8; 8] = *b"dat-shm\x04";
/// Size of the number of the doorbell, which follows the magic or the byte of a ring if there is a doorbell.
const NUMBER: usize = size_of::<u32>();
/// Additional descriptors are received too, so that they can be closed.
const MOST: usize = 4;

/// A board of doorbells, and the number of one of them.
pub(crate) type SentDoorbell = (Private<OwnedFd>, u32);

/// The contents of the active side's packet.
pub(crate) struct Greeting {
    pub(crate) segment: Private<OwnedFd>,
    pub(crate) doorbell: Option<SentDoorbell>,
}

/// Sends the descriptor of a segment, and a doorbell.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    segment: BorrowedFd<'_>,
    doorbell: Option<&OwnDoorbell>,
) -> Result<()> {
    match doorbell {
        None => send_packet(socket, &[&MAGIC], &[segment]),
        Some(own) => {
            let number = own.doorbell.number().to_le_bytes();
            let board = own.file().ok_or(Errno::BADF)?;
            send_packet(socket, &[&MAGIC, &number], &[segment, board])
        }
    }
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
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
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
    let segment = descriptors.next().ok_or(Errno::PROTO)?;
    let doorbell = doorbell(rest, descriptors)?;
    Ok(Some(Greeting { segment, doorbell }))
}

/// Receives the first ring of the peer, and its doorbell if it has one; `None` if it has not rung yet.
///
/// # Errors
/// The peer closed the socket, or sent a different packet.
pub(crate) fn receive_doorbell(socket: BorrowedFd<'_>) -> Result<Option<Option<SentDoorbell>>> {
    let Some(Packet { bytes, length, descriptors }) = receive_packet(socket)? else {
        return Ok(None);
    };
    let number = bytes[..length].strip_prefix(&[RING]).ok_or(Errno::PROTO)?;
    doorbell(number, descriptors.into_iter()).map(Some)
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
    bytes: [u8; MAGIC.len() + NUMBER + 1],
    length: usize,
    descriptors: Vec<Private<OwnedFd>>,
}

/// Receives a packet, if there is one.
fn receive_packet(socket: BorrowedFd<'_>) -> Result<Option<Packet>> {
    let mut bytes = [0; MAGIC.len() + NUMBER + 1];
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

/// Returns the process that connected, or that listens; `None` if it is outside of this PID namespace.
pub(crate) fn peer_process(socket: impl AsFd) -> Option<i32> {
    getsockopt(&socket, PeerCredentials).ok().map(|peer| peer.pid()).filter(|pid| *pid > 0)
}

/// Returns true if the peer's process belongs to this user or to root.
pub(crate) fn is_same_user(socket: impl AsFd) -> bool {
    let own = rustix::process::geteuid().as_raw();
    // Not `socket_peercred` of rustix, which cannot represent the process identifier 0: that of a peer
    // outside of this PID namespace.
    getsockopt(&socket, PeerCredentials).is_ok_and(|peer| [own, 0].contains(&peer.uid()))
}
