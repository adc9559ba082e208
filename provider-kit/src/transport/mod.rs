//! The transport that a provider supplies: it connects and accepts links.

mod joined_acceptor;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::Instant;

use dat_provider::LocalCause;
use dat_provider::error::Result;
use dat_provider::unsupported;

use crate::handshake::Secret;
use crate::link::{Reader, Writer};
use crate::processors::Processors;
use crate::progress_mode::ProgressMode;

pub use joined_acceptor::JoinedAcceptor;

/// A new link to a peer, on which nothing has been sent.
pub struct Connected {
    /// The half that reads.
    pub reader: Box<dyn Reader>,
    /// The half that writes.
    pub writer: Box<dyn Writer>,
    /// The address of the peer.
    pub address: IpAddr,
    /// The port of the local side.
    pub local_port: u64,
    /// The addresses for datagrams of the two sides; `None` if the transport has no datagrams.
    pub datagrams: Option<DatagramEnds>,
}

/// The addresses at which the two sides of a link exchange datagrams; the ports have no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramEnds {
    /// The address of this side. If it is unspecified, it denotes every address of the machine.
    pub own: SocketAddr,
    /// The address of the peer, of the same family.
    pub peer: SocketAddr,
}

/// The reason why a link could not be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Nothing listens on the qualifier.
    Refused,
    /// The listener took the link and closed it.
    Closed,
    /// The process that listens belongs to another user.
    OtherUser,
    /// There is no route to the address, or no answer from it.
    Unreachable,
    /// A cause on this side; the peer is not involved.
    Local(LocalCause),
}

/// Connects and accepts links. No method blocks.
pub trait Transport: Send + Sync {
    /// Starts to connect a link to the listener of a qualifier.
    ///
    /// # Errors
    /// The reason why the link cannot be connected.
    fn connect(
        &self,
        address: IpAddr,
        qualifier: u64,
    ) -> std::result::Result<Attempt, ConnectError>;

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

    /// Returns true if queue pairs may carry datagrams; every link then has addresses for them.
    fn has_datagrams(&self) -> bool {
        false
    }

    /// The processors on which the thread of the adapter may run.
    fn processors(&self) -> Processors {
        Processors::default()
    }

    /// How the thread of the adapter awaits its work; by default, it sleeps.
    fn progress_mode(&self) -> ProgressMode {
        ProgressMode::default()
    }
}

/// The state of an attempt to connect a link.
pub enum Attempt {
    /// The link is connected.
    Connected(Connected),
    /// The peer has not answered, or its backlog is full. Dropping it ends the attempt.
    Pending(Box<dyn Connector>),
}

/// A link that is being connected.
pub trait Connector: Send {
    /// The local port, as the peer sees it.
    fn local_port(&self) -> u64;

    /// The condition for the next step of the attempt.
    fn awaits(&self) -> ConnectorEvent<'_>;

    /// Continues the attempt. Never blocks.
    ///
    /// # Errors
    /// The reason why the link could not be connected.
    fn advance(self: Box<Self>) -> std::result::Result<Attempt, ConnectError>;
}

/// A condition that a [`Connector`] waits for.
#[derive(Clone, Copy, Debug)]
pub enum ConnectorEvent<'a> {
    /// The descriptor is writable. It is that of the link.
    Writable(BorrowedFd<'a>),
    /// This time.
    Time(Instant),
}

/// A listener; dropping it stops listening.
pub trait Acceptor: Send {
    /// The qualifier that it listens on.
    fn qualifier(&self) -> u64;

    /// The descriptor that is readable (level-triggered) when a link waits to be accepted.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Returns true if the descriptor still denotes the listener: the program may have closed it.
    fn is_there(&self) -> bool;

    /// Accepts the next waiting link, if there is one, without blocking.
    fn accept(&mut self) -> Option<Connected>;
}
