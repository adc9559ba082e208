//! The socket of a connection: it wakes the peer, and says when the peer has ended.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use dat_provider_kit::fork::Private;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

/// How many rings are taken in one call; what is left keeps the descriptor readable.
const AT_ONCE: usize = 8;

/// The first byte of a ring.
pub(crate) const RING: u8 = 1;

/// A connected socket of packets.
#[derive(Debug)]
pub(crate) struct Bell {
    socket: Private<OwnedFd>,
}

/// What the peer has signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    Rung,
    /// The peer rings no more: it closed the connection, or its process ended.
    End,
    /// The program has closed the socket.
    Lost(Errno),
}

impl Heard {
    /// What the error of a call on the socket says.
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

    /// Rings. A peer that has not read earlier rings is woken by those; one that is gone is
    /// found by the reader. If the system refuses to ring, the connection ends, because the peer would sleep forever.
    ///
    /// # Errors
    /// The program has closed the socket.
    #[cold]
    pub(crate) fn ring(&self) -> Result<(), Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match rustix::net::send(&self.socket, &[RING], flags) {
                Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => return Ok(()),
                Err(errno) if matches!(Heard::failed(errno), Heard::Lost(_)) => return Err(errno),
                Err(_) => {
                    self.hang_up();
                    return Ok(());
                }
            }
        }
    }

    /// Takes the rings that came.
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
    pub(crate) fn hang_up(&self) {
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
    }

    /// Closes this direction; the peer sees the end.
    pub(crate) fn shut_down(&self) {
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
