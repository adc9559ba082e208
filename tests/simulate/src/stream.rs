//! A link like TCP: two sockets, between which the simulated network moves the bytes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dat_core::provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::link::End;
use dat_provider_kit::stream_link::{Stream, halves};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};

use crate::network::Halves;

/// Most bytes that a direction of the network moves at a time.
const PORTION: usize = 64 << 10;

/// The end of a process.
struct SocketStream {
    socket: OwnedFd,
    /// Number of bytes that it has read.
    read: Arc<AtomicU64>,
    /// The peer's machine is gone.
    is_cut: Arc<AtomicBool>,
}

/// A connection, as the network has it.
pub(crate) struct Carrier {
    ends: [OwnedFd; 2],
    /// For each direction: the bytes that are taken from the sender and not delivered, and whether its end is.
    moving: [Vec<u8>; 2],
    is_shut: [bool; 2],
    /// For each end: the bytes that were delivered to it, and that it has read.
    delivered: [u64; 2],
    read: [Arc<AtomicU64>; 2],
    is_cut: Arc<AtomicBool>,
}

impl Drop for SocketStream {
    fn drop(&mut self) {
        self.read.store(u64::MAX, Ordering::Relaxed);
    }
}

fn socket_pair() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .expect("descriptors")
}

/// The halves of both ends of a new connection, and the network between them. Each socket holds about `capacity` bytes.
pub(crate) fn connect(capacity: usize) -> ([Halves; 2], Carrier) {
    let is_cut = Arc::new(AtomicBool::new(false));
    let read: [Arc<AtomicU64>; 2] = Default::default();
    let end = |read: &Arc<AtomicU64>| {
        let (near, far) = socket_pair();
        for socket in [&near, &far] {
            rustix::net::sockopt::set_socket_send_buffer_size(socket, capacity).expect("a socket");
        }
        let (read, is_cut) = (Arc::clone(read), Arc::clone(&is_cut));
        (halves(&Arc::new(SocketStream { socket: near, read, is_cut })), far)
    };
    let ((one, near), (other, far)) = (end(&read[0]), end(&read[1]));
    let network = Carrier {
        ends: [near, far],
        moving: Default::default(),
        is_shut: [false; 2],
        delivered: [0; 2],
        read,
        is_cut,
    };
    ([one, other], network)
}

impl Stream for SocketStream {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(End::Lost(Errno::CONNRESET.raw_os_error()));
        }
        let mut all = Vec::new();
        bytes::gather(from, 0, &mut all).map_err(|_| End::Inaccessible)?;
        match rustix::net::send(&self.socket, &all, SendFlags::NOSIGNAL) {
            Ok(count) => Ok(count),
            Err(Errno::AGAIN) => Ok(0),
            Err(errno) => Err(End::Lost(errno.raw_os_error())),
        }
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let mut buffer = vec![0; bytes::total(into)];
        match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, 0)) if !buffer.is_empty() => {
                Err(if self.is_cut.load(Ordering::Relaxed) { End::Gone } else { End::Closed })
            }
            Ok((_, count)) => {
                bytes::scatter(&buffer[..count], into).map_err(|_| End::Inaccessible)?;
                self.read.fetch_add(count as u64, Ordering::Relaxed);
                Ok(Some(count))
            }
            Err(Errno::AGAIN) => Ok(None),
            Err(_) => Err(End::Gone),
        }
    }

    fn shut_down(&self) -> Result<(), End> {
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

impl Carrier {
    /// Moves up to `most` bytes in a direction. Returns whether anything moved.
    pub(crate) fn deliver(&mut self, direction: usize, most: usize) -> bool {
        let [from, to] = [&self.ends[direction], &self.ends[1 - direction]];
        let moving = &mut self.moving[direction];
        let mut has_moved = false;
        if moving.is_empty() && !self.is_shut[direction] {
            let mut buffer = vec![0; PORTION];
            match rustix::net::recv(from, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, count)) => {
                    moving.extend(&buffer[..count]);
                    has_moved = true;
                    if count == 0 {
                        self.is_shut[direction] = true;
                        let _ = rustix::net::shutdown(to, Shutdown::Write);
                    }
                }
                Err(Errno::AGAIN) => {}
                Err(_) => self.is_shut[direction] = true,
            }
        }
        let count = moving.len().min(most);
        if count > 0 {
            match rustix::net::send(to, &moving[..count], SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    moving.drain(..sent);
                    self.delivered[1 - direction] += sent as u64;
                    has_moved = true;
                }
                Err(Errno::AGAIN) => {}
                // The receiver has closed its end.
                Err(_) => moving.clear(),
            }
        }
        has_moved
    }

    /// If the receiver of a direction has not read all that was delivered: how much it has.
    pub(crate) fn unread(&self, direction: usize) -> Option<u64> {
        let to = 1 - direction;
        let read = self.read[to].load(Ordering::Relaxed);
        let is_cut = self.is_cut.load(Ordering::Relaxed);
        (!is_cut && self.delivered[to] > read).then_some(read)
    }

    pub(crate) fn describe(&self) -> String {
        let moving = self.moving.each_ref().map(Vec::len);
        let unread = [0, 1].map(|one| self.unread(one));
        let Self { is_shut, delivered, .. } = self;
        format!("moving {moving:?}, shut {is_shut:?}, delivered {delivered:?}, unread {unread:?}")
    }

    /// Ends both directions at once, as the loss of a machine does when it is noticed.
    pub(crate) fn cut(&mut self) {
        self.is_cut.store(true, Ordering::Relaxed);
        self.is_shut = [true; 2];
        self.moving.iter_mut().for_each(Vec::clear);
        self.ends.iter().for_each(|end| _ = rustix::net::shutdown(end, Shutdown::Both));
    }
}
