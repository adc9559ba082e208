//! The first packet on a connected socket: it carries the descriptor of the segment.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::io::{Errno, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// What the packet says; the last byte is the version of the segment's layout.
const MAGIC: [u8; 8] = *b"dat-shm\x02";
/// Descriptors beyond the first are received, so that they can be closed.
const MOST: usize = 4;

/// Sends the descriptor of a segment.
pub(crate) fn send(socket: BorrowedFd<'_>, segment: BorrowedFd<'_>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [segment];
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(Errno::NOBUFS);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(&MAGIC)], &mut control, flags).map(drop)
}

/// Receives the descriptor of the peer's segment; nothing if the packet has not come yet.
///
/// # Errors
/// The peer closed the socket, or its packet is another one.
pub(crate) fn receive(socket: BorrowedFd<'_>) -> Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut packet = [0; MAGIC.len() + 1];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut places = [IoSliceMut::new(&mut packet)];
    let length = match rustix::net::recvmsg(socket, &mut places, &mut control, flags) {
        Ok(received) => received.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut descriptors: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    match descriptors.pop() {
        Some(segment) if descriptors.is_empty() && packet[..length] == MAGIC => Ok(Some(segment)),
        _ => Err(Errno::PROTO),
    }
}

/// The process that connected, or that listens; nothing if it is outside of this PID namespace.
pub(crate) fn peer_process(socket: impl AsFd) -> Option<i32> {
    getsockopt(&socket, PeerCredentials).ok().map(|peer| peer.pid()).filter(|pid| *pid > 0)
}

/// Whether the peer's process belongs to this user or to root.
pub(crate) fn is_same_user(socket: impl AsFd) -> bool {
    let own = rustix::process::geteuid().as_raw();
    // Not `socket_peercred` of rustix, which cannot represent the process identifier 0: that of a peer
    // outside of this PID namespace.
    getsockopt(&socket, PeerCredentials).is_ok_and(|peer| [own, 0].contains(&peer.uid()))
}
