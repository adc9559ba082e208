//! Listening on a port.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::engine::{Acceptor, Connected};
use dat_provider_kit::qualifier;
use dat_provider_kit::stream_link::halves;

use crate::connect::bound;
use crate::socket::Socket;

/// Connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;

/// A listening socket.
pub(crate) struct PortListener {
    socket: socket2::Socket,
    qualifier: u64,
    timeout: Duration,
    /// A descriptor in reserve: where none is free, it is closed to refuse a connection, which
    /// would otherwise keep the listener readable.
    reserve: Option<File>,
}

impl PortListener {
    /// Listens on the port of a qualifier, or on one that the system chooses.
    pub(crate) fn new(address: IpAddr, wanted: Option<u64>, timeout: Duration) -> Result<Self> {
        if wanted == Some(0) {
            return Err(Error::new(ReturnType::ConnQualUnavailable, Subtype::NoSubtype)
                .because("connection qualifier 0 is not a port"));
        }
        let refused = |call: &'static str| {
            move |error: io::Error| {
                qualifier::refused(call, error.raw_os_error().unwrap_or(0), wanted)
            }
        };
        let port = wanted.map_or(0, qualifier::to_port);
        let socket = bound(address, port).map_err(refused("bind"))?;
        socket.listen(BACKLOG).map_err(refused("listen"))?;
        socket.set_nonblocking(true).map_err(refused("fcntl"))?;
        let own = socket.local_addr().map_err(refused("getsockname"))?;
        let chosen = own.as_socket().map_or(port, |own| own.port());
        let qualifier = wanted.unwrap_or_else(|| u64::from(chosen));
        Ok(Self { socket, qualifier, timeout, reserve: reserve() })
    }

    /// Closes the oldest waiting connection with the descriptor in reserve.
    fn refuse_one(&mut self) {
        drop(self.reserve.take());
        drop(self.socket.accept());
        self.reserve = reserve();
    }
}

fn reserve() -> Option<File> {
    File::open("/dev/null").ok()
}

impl Acceptor for PortListener {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn accept(&mut self) -> Option<Connected> {
        loop {
            let (socket, peer) = match self.socket.accept() {
                Ok(accepted) => accepted,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE) => {
                        self.refuse_one();
                        return None;
                    }
                    // The connection ended before it was accepted; another one may wait.
                    Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO) => continue,
                    _ => return None,
                },
            };
            let address = peer.as_socket()?.ip();
            if let Ok(connected) = connected(socket, address, self.timeout) {
                return Some(connected);
            }
        }
    }
}

/// The link of a connected socket.
pub(crate) fn connected(
    socket: socket2::Socket,
    address: IpAddr,
    timeout: Duration,
) -> io::Result<Connected> {
    let own = socket.local_addr()?.as_socket();
    let local_port = own.map_or(0, |own| u64::from(own.port()));
    let (reader, writer) = halves(&Arc::new(Socket::new(socket, timeout)?));
    Ok(Connected { reader, writer, address, local_port })
}
