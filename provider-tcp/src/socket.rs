//! A connected socket as a stream of bytes.
#![allow(unsafe_code, reason = "sendmsg and recvmsg take registered memory by address")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use dat_provider::mem::Span;
use dat_provider_kit::link::End;
use dat_provider_kit::stream_link::Stream;
use socket2::{SockRef, TcpKeepalive};

/// The most spans of one call: a head and the segments of a post are far fewer.
const MOST_SPANS: usize = 64;

/// A connected socket that does not block.
#[derive(Debug)]
pub(crate) struct Socket(socket2::Socket);

impl Socket {
    /// Takes over a connected socket. A peer that cannot be reached is given up after `timeout`.
    pub(crate) fn new(socket: socket2::Socket, timeout: Duration) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        prepare(&socket, timeout)?;
        Ok(Self(socket))
    }
}

/// Sets what every connection has. `TCP_USER_TIMEOUT` covers sent data that is not acknowledged,
/// keepalive covers silence.
fn prepare(socket: &socket2::Socket, timeout: Duration) -> io::Result<()> {
    const PROBES: u32 = 5;
    let second = Duration::from_secs(1);
    let keepalive = TcpKeepalive::new()
        .with_time((timeout / 3).max(second))
        .with_interval((timeout * 2 / 15).max(second))
        .with_retries(PROBES);
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(timeout))?;
    socket.set_tcp_keepalive(&keepalive)
}

/// The spans as the system takes them, and their number.
fn vectors(spans: &[Span]) -> ([libc::iovec; MOST_SPANS], usize) {
    let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut vectors = [nothing; MOST_SPANS];
    let mut count = 0;
    for (vector, span) in vectors.iter_mut().zip(spans) {
        let length = span.len();
        let base = span.pointer(span.address(), length as u64).unwrap_or(std::ptr::null_mut());
        *vector = libc::iovec { iov_base: base.cast(), iov_len: length };
        count += 1;
    }
    (vectors, count)
}

/// Makes a call until it is not interrupted. Nothing if it would block.
///
/// The calls are raw: the functions of libc can be cancelled, and a consumer's thread makes them.
fn moved(mut call: impl FnMut() -> libc::c_long) -> Result<Option<usize>, End> {
    loop {
        if let Ok(length) = usize::try_from(call()) {
            return Ok(Some(length));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().unwrap_or(0) {
            libc::EINTR => {}
            libc::EAGAIN | libc::ENOBUFS => return Ok(None),
            libc::EPIPE | libc::ECONNRESET => return Err(End::Gone),
            errno => return Err(End::Lost(errno)),
        }
    }
}

impl Stream for Socket {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        let (mut vectors, count) = vectors(from);
        // SAFETY: all zeros is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = count as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let written = moved(|| {
            let fd = self.0.as_raw_fd();
            // SAFETY: the vectors live on, and the makers of the spans answer for the memory.
            unsafe { libc::syscall(libc::SYS_sendmsg, fd, &raw const message, flags) }
        })?;
        Ok(written.unwrap_or(0))
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let (mut vectors, count) = vectors(into);
        // SAFETY: all zeros is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = count as _;
        let came = moved(|| {
            let fd = self.0.as_raw_fd();
            // SAFETY: the vectors live on, and the makers of the spans answer for the memory.
            unsafe { libc::syscall(libc::SYS_recvmsg, fd, &raw mut message, libc::MSG_DONTWAIT) }
        })?;
        match came {
            Some(0) if into.iter().any(|span| !span.is_empty()) => Err(End::Closed),
            came => Ok(came),
        }
    }

    fn shut_down(&self) -> Result<(), End> {
        match self.0.shutdown(std::net::Shutdown::Write) {
            Err(error) if error.raw_os_error() != Some(libc::ENOTCONN) => {
                Err(End::Lost(error.raw_os_error().unwrap_or(0)))
            }
            _ => Ok(()),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}
