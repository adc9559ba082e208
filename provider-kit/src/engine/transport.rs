//! The transport that a provider supplies: it connects and accepts links.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use dat_provider::error::Result;
use dat_provider::unsupported;

use crate::handshake::Secret;
use crate::link::{Reader, Writer};
use crate::processors::Processors;

/// A new link to a peer, on which nothing was sent.
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
    /// Nothing listens on the qualifier, or the backlog of the listener is full.
    Refused,
    /// There is no route to the address.
    Unreachable,
    /// The address did not answer in time.
    TimedOut,
}

/// Connects and accepts links.
pub trait Transport: Send + Sync {
    /// Reserves a local port to connect from, without blocking.
    ///
    /// # Errors
    /// Why no port is available.
    fn dial(&self) -> std::result::Result<Box<dyn Dial>, ConnectFailure>;

    /// As [`dial`](Self::dial), from the address that leads to a peer, if the transport has several.
    ///
    /// # Errors
    /// Why no port is available.
    fn dial_towards(&self, _peer: IpAddr) -> std::result::Result<Box<dyn Dial>, ConnectFailure> {
        self.dial()
    }

    /// Listens on a qualifier, or on one that the transport chooses.
    ///
    /// # Errors
    /// As [`Adapter::listen`](dat_provider::Adapter::listen).
    fn listen(&self, qualifier: Option<u64>) -> Result<Box<dyn Acceptor>>;

    /// Listens on a qualifier at only one of its addresses; unsupported by default.
    ///
    /// # Errors
    /// As [`Adapter::listen_at`](dat_provider::Adapter::listen_at).
    fn listen_at(&self, _address: IpAddr, _qualifier: u64) -> Result<Box<dyn Acceptor>> {
        Err(unsupported("listener at one of several addresses"))
    }

    /// The secret that both sides of a connection must share; by default, none.
    fn secret(&self) -> Option<Secret> {
        None
    }

    /// The processors on which the thread of the adapter may run.
    fn processors(&self) -> Processors {
        Processors::default()
    }
}

/// The result of [`Dial::connect_at_once`].
pub enum Attempt {
    /// The link is connected, or why it is not.
    Ended(std::result::Result<Connected, ConnectFailure>),
    /// [`Dial::connect`] of this port connects the link, and may block.
    Blocks(Box<dyn Dial>),
}

/// A local port from which a link will be connected.
pub trait Dial: Send {
    /// The local port, as the peer sees it.
    fn local_port(&self) -> u64;

    /// As [`connect`](Self::connect), unless the peer may take long to answer. The caller of the engine waits
    /// for the end of this call.
    fn connect_at_once(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> Attempt;

    /// Connects a link to the listener of a qualifier. It may block until the time-out expires.
    ///
    /// # Errors
    /// Why the link could not be connected.
    fn connect(
        self: Box<Self>,
        address: IpAddr,
        qualifier: u64,
        timeout: Duration,
    ) -> std::result::Result<Connected, ConnectFailure>;
}

/// A listener; dropping it stops listening.
pub trait Acceptor: Send {
    /// The qualifier that it listens on.
    fn qualifier(&self) -> u64;

    /// The descriptor that is readable (level-triggered) when a link waits to be accepted.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Accepts the next waiting link, if there is one, without blocking.
    fn accept(&mut self) -> Option<Connected>;
}
