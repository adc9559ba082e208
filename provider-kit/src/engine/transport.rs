//! What a provider adds to the engine: links that are connected or accepted.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use dat_provider::error::Result;

use crate::handshake::Secret;
use crate::link::{Reader, Writer};

/// A link to a peer that has carried nothing yet.
pub struct Connected {
    /// The half that reads.
    pub reader: Box<dyn Reader>,
    /// The half that writes.
    pub writer: Box<dyn Writer>,
    /// The address of the peer.
    pub address: IpAddr,
    /// The port of the local side.
    pub local_port: u64,
}

/// Why a link could not be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// Nothing listens there, or its backlog is full.
    Refused,
    /// There is no way to the address.
    Unreachable,
    /// Nothing answered in time.
    TimedOut,
}

/// Makes links.
pub trait Transport: Send + Sync {
    /// Takes a local port to connect from. It does not block.
    ///
    /// # Errors
    /// Why there is none.
    fn dial(&self) -> std::result::Result<Box<dyn Dial>, ConnectFailure>;

    /// Listens on a qualifier, or on one of the transport's choice.
    ///
    /// # Errors
    /// As [`Adapter::listen`](dat_provider::Adapter::listen).
    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>>;

    /// What both sides of a connection must have; by default, nothing.
    fn secret(&self) -> Option<Secret> {
        None
    }
}

/// A local port from which a link will be connected.
pub trait Dial: Send {
    /// The local port; the peer sees it.
    fn local_port(&self) -> u64;

    /// Connects a link to what listens on a qualifier. It may block for as long as the time-out.
    ///
    /// # Errors
    /// Why there is no link.
    fn connect(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> std::result::Result<Connected, ConnectFailure>;
}

/// Something that listens until it is dropped.
pub trait Acceptor: Send {
    /// The qualifier that it listens on.
    fn qualifier(&self) -> u64;

    /// The descriptor that is readable (level-triggered) when a link waits to be accepted.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The next link that waits, if any. It does not block.
    fn accept(&mut self) -> Option<Connected>;
}
