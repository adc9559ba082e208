//! A connected socket as a stream of bytes.
#![allow(unsafe_code, reason = "sendmsg and recvmsg take registered memory by address")]

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_provider::CompletionDescriptor;
use dat_provider::mem::Span;
use dat_provider_kit::link::{End, LinkReport, Liveness};
use dat_provider_kit::stream_link::Stream;
use socket2::{SockAddr, SockRef, TcpKeepalive};

use crate::connect;
use crate::patience::{self, Patience};
use crate::tcp_info::TcpInfo;

/// The congestion control of connections within this machine. Every kernel has it, and permits it to all.
const LOCAL_CONGESTION_CONTROL: &[u8] = b"reno";

/// Maximum number of spans of one call: more than a head and the segments of a post.
const MAX_SPANS: usize = 64;

/// A connected socket that does not block.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: connect::Socket,
    patience: Patience,
}

impl Socket {
    /// Takes over a connected socket. A peer that cannot be reached counts as lost after `timeout`.
    pub(crate) fn new(socket: connect::Socket, timeout: Duration) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        prepare(&socket, timeout)?;
        Ok(Self { socket, patience: Patience::new(timeout) })
    }

    /// The end of the connection, which is another one if the peer is lost.
    #[cold]
    fn end(&self, end: End) -> End {
        if self.patience.is_over() { End::Lost(libc::ETIMEDOUT) } else { end }
    }
}

/// Sets what every connection has. While nothing is in flight, keepalive asks the peer for a sign of life;
/// otherwise TCP does. `TCP_USER_TIMEOUT` is not used: it would end the connection to a stopped process.
fn prepare(socket: &socket2::Socket, timeout: Duration) -> io::Result<()> {
    const PROBES: u32 = 5;
    let second = Duration::from_secs(1);
    let keepalive = TcpKeepalive::new()
        .with_time((timeout / 3).max(second))
        .with_interval((timeout * 2 / 15).max(second))
        .with_retries(PROBES);
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&keepalive)?;
    patience::limit_pauses(&socket, timeout);
    if is_local(&socket) {
        // Only a matter of speed.
        let _ = socket.set_tcp_congestion(LOCAL_CONGESTION_CONTROL);
    }
    Ok(())
}

/// Returns true if both ends are on this machine. No link can be congested there, and a congestion control such as
/// BBR, which paces by what it estimates, makes long messages take up to three times as long.
fn is_local(socket: &socket2::Socket) -> bool {
    let ip = |address: io::Result<SockAddr>| Some(address.ok()?.as_socket()?.ip());
    let own = ip(socket.local_addr());
    own.is_some() && own == ip(socket.peer_addr())
}

/// The spans of one call, as the system takes them.
struct Vectors([MaybeUninit<libc::iovec>; MAX_SPANS]);

impl Vectors {
    #[inline]
    const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MAX_SPANS])
    }

    /// Fills the vectors; returns a message header that refers to them.
    #[inline]
    fn fill(&mut self, spans: &[Span]) -> libc::msghdr {
        for (vector, span) in self.0.iter_mut().zip(spans) {
            vector.write(vector_of(span));
        }
        // SAFETY: all zeros is a valid msghdr.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = self.0.as_mut_ptr().cast();
        header.msg_iovlen = spans.len().min(MAX_SPANS) as _;
        header
    }
}

#[inline]
fn vector_of(span: &Span) -> libc::iovec {
    let length = span.len();
    let base = span.pointer(span.address(), length as u64).unwrap_or(std::ptr::null_mut());
    libc::iovec { iov_base: base.cast(), iov_len: length }
}

/// Makes a call until it is not interrupted. Nothing if it would block.
///
/// The calls are raw: the functions of libc can be cancelled, and a consumer's thread makes them.
fn transfer(mut call: impl FnMut() -> libc::c_long) -> Result<Option<usize>, End> {
    loop {
        if let Ok(length) = usize::try_from(call()) {
            return Ok(Some(length));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().unwrap_or(0) {
            libc::EINTR => {}
            libc::EAGAIN | libc::ENOBUFS => return Ok(None),
            libc::EPIPE | libc::ECONNRESET => return Err(End::Gone),
            libc::EFAULT => return Err(End::Inaccessible),
            errno => return Err(End::Lost(errno)),
        }
    }
}

impl Socket {
    /// The peer would wait forever for bytes that the system has refused to take, and so would the reader, which
    /// finds the end of the link.
    #[cold]
    fn cannot_write(&self, end: End) -> End {
        match end {
            End::Lost(errno) if ![libc::EBADF, libc::ENOTSOCK].contains(&errno) => {
                let is_shut = match self.socket.shutdown(Shutdown::Both) {
                    Ok(()) => true,
                    // The system has reset the connection, which the reader finds.
                    Err(error) => error.raw_os_error() == Some(libc::ENOTCONN),
                };
                if is_shut { end } else { End::Stuck(errno) }
            }
            end => end,
        }
    }
}

impl Stream for Socket {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        let fd = self.socket.as_raw_fd();
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let written = if let [span] = from {
            // Cheaper than sendmsg for the system.
            let libc::iovec { iov_base, iov_len } = vector_of(span);
            let no_address = std::ptr::null::<libc::sockaddr>();
            // SAFETY: the caller keeps the memory of the span alive.
            transfer(|| unsafe {
                libc::syscall(libc::SYS_sendto, fd, iov_base, iov_len, flags, no_address, 0)
            })
        } else {
            let mut vectors = Vectors::new();
            let header = vectors.fill(from);
            // SAFETY: the vectors outlive the call, and the caller keeps the memory of the spans alive.
            transfer(|| unsafe { libc::syscall(libc::SYS_sendmsg, fd, &raw const header, flags) })
        };
        match written {
            Ok(written) => Ok(written.unwrap_or(0)),
            Err(end) => Err(self.cannot_write(end)),
        }
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let fd = self.socket.as_raw_fd();
        let read = if let [span] = into {
            // The common case, and cheaper than recvmsg for the system.
            let libc::iovec { iov_base, iov_len } = vector_of(span);
            let no_address = std::ptr::null_mut::<libc::sockaddr>();
            let no_length = std::ptr::null_mut::<libc::socklen_t>();
            let flags = libc::MSG_DONTWAIT;
            // SAFETY: the caller keeps the memory of the span alive.
            transfer(|| unsafe {
                libc::syscall(
                    libc::SYS_recvfrom,
                    fd,
                    iov_base,
                    iov_len,
                    flags,
                    no_address,
                    no_length,
                )
            })
        } else {
            let mut vectors = Vectors::new();
            let mut header = vectors.fill(into);
            // SAFETY: the vectors outlive the call, and the caller keeps the memory of the spans alive.
            transfer(|| unsafe {
                libc::syscall(libc::SYS_recvmsg, fd, &raw mut header, libc::MSG_DONTWAIT)
            })
        };
        match read {
            Ok(Some(0)) if into.iter().any(|span| !span.is_empty()) => Err(self.end(End::Closed)),
            read => read.map_err(|end| self.end(end)),
        }
    }

    fn shut_down(&self) -> Result<(), End> {
        match self.socket.shutdown(Shutdown::Write) {
            Err(error) if error.raw_os_error() != Some(libc::ENOTCONN) => {
                Err(End::Lost(error.raw_os_error().unwrap_or(0)))
            }
            _ => Ok(()),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn waiter_descriptor(self: &Arc<Self>) -> Option<CompletionDescriptor> {
        let descriptor: CompletionDescriptor = Arc::clone(self) as _;
        Some(descriptor)
    }

    fn report(&self) -> LinkReport {
        let info = TcpInfo::of(&self.socket);
        LinkReport {
            written: info.acknowledged(),
            read: info.received(),
            is_unread: info.is_backed_up(),
            ..LinkReport::of("tcp")
        }
    }

    fn liveness(self: &Arc<Self>) -> Option<Weak<dyn Liveness>> {
        let weak: Weak<Self> = Arc::downgrade(self);
        Some(weak)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Liveness for Socket {
    fn interval(&self) -> Duration {
        self.patience.interval()
    }

    fn check(&self) {
        if self.patience.ends(&self.socket) {
            // Closing it shall not wait for what the peer will never take.
            let _ = self.socket.set_linger(Some(Duration::ZERO));
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_within_the_machine_are_not_paced() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (far, _) = listener.accept().expect("it is connected");
        for stream in [near, far] {
            let socket = connect::Socket::create(|| io::Result::Ok(stream.into()));
            let socket = Socket::new(socket.expect("it exists"), Duration::from_secs(10));
            let socket = socket.expect("connected");
            let control = socket.socket.tcp_congestion().expect("a TCP socket");
            assert!(control.starts_with(LOCAL_CONGESTION_CONTROL), "{control:?}");
        }
    }

    #[test]
    fn other_connections_have_the_congestion_control_of_the_system() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        // The addresses differ, as those of two machines do.
        let socket = super::super::listener::bound(([127, 0, 0, 2], 0).into()).expect("a port");
        let system = socket.tcp_congestion().expect("a TCP socket");
        socket.connect(&listener.local_addr().expect("bound").into()).expect("it listens");
        let socket = Socket::new(socket, Duration::from_secs(10)).expect("connected");
        assert_eq!(socket.socket.tcp_congestion().expect("a TCP socket"), system);
    }
}
