//! The socket of a connection, which wakes the peer and reports the peer's end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use dat_provider_kit::fork::Private;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

/// Number of rings taken by one call; if more are left, the descriptor stays readable.
const AT_ONCE: usize = 8;

/// The first byte of a ring.
pub(crate) const RING: u8 = 1;

/// A connected packet socket.
#[derive(Debug)]
pub(crate) struct Bell {
    socket: Private<OwnedFd>,
}

/// The signals received from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    Rung,
    /// The peer will not ring again: it closed the connection, or its process ended.
    End,
    /// The program has closed the socket.
    Lost(Errno),
}

impl Heard {
    /// Interprets the error of a call on the socket.
    pub(crate) fn failed(errno: Errno) -> Self {
        match errno {
            Errno::BADF | Errno::NOTSOCK => Self::Lost(errno),
            _ => Self::End,
        }
    }
}

impl Bell {
    pub(crate) fn new(socket: Private<OwnedFd>) -> Self {
        Self { socket }
    }

    /// Rings. If the peer has not read earlier rings, those wake it; if it is gone, the reader detects that. If the
    /// system refuses to ring, the connection ends, because the peer would sleep forever.
    ///
    /// # Errors
    /// The program has closed the socket; or the system has refused to end the connection too.
    #[cold]
    pub(crate) fn ring(&self) -> Result<(), Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match rustix::net::send(&self.socket, &[RING], flags) {
                Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => return Ok(()),
                Err(errno) if matches!(Heard::failed(errno), Heard::Lost(_)) => return Err(errno),
                Err(errno) => return self.hang_up().map_err(|_| errno),
            }
        }
    }

    /// Takes the rings that have arrived.
    #[cold]
    pub(crate) fn hear(&self) -> Heard {
        let mut heard = Heard::Nothing;
        let mut packet = [0; 8];
        for _ in 0..AT_ONCE {
            match rustix::net::recv(&self.socket, &mut packet[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Heard::End,
                Ok(_) => heard = Heard::Rung,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return heard,
                Err(errno) => return Heard::failed(errno),
            }
        }
        heard
    }

    /// Ends the connection for both sides.
    ///
    /// # Errors
    /// The program has closed the socket, or the system refuses: the peer notices the end once the socket is closed.
    pub(crate) fn hang_up(&self) -> Result<(), Errno> {
        rustix::net::shutdown(&self.socket, Shutdown::Both)
    }

    /// Shuts down this direction; the peer sees the end.
    ///
    /// # Errors
    /// As [`hang_up`](Self::hang_up).
    pub(crate) fn shut_down(&self) -> Result<(), Errno> {
        rustix::net::shutdown(&self.socket, Shutdown::Write)
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
