//! The part of the contract for software that offers verbs. `for_verbs` of each object leads to it. A provider for DAT
//! implements nothing of this, and calls
//! [`QueuePairSpec::check_needed_by_dat`](crate::QueuePairSpec::check_needed_by_dat).

use std::net::{IpAddr, SocketAddr};

use crate::error::Result;
use crate::flags::Privileges;
use crate::{RemoteAddress, unsupported};

mod memory;
mod only_dat;

pub use memory::{VerbsDomain, VerbsRegion, VerbsWindow};
pub(crate) use only_dat::OnlyDat;

/// The part of the specification of a queue pair for verbs. The default is what DAT needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerbsOptions {
    /// The policy for its receives when a connection is lost. Providers may have only the default, and refuse the
    /// others with `DAT_MODEL_NOT_SUPPORTED`.
    pub losses: LossPolicy,
    /// For a queue pair that carries datagrams: where it receives them. `None` if peers resolve its address, as with
    /// DAT; the provider then chooses port and key. With a binding, the [prefix](crate::DATAGRAM_PREFIX) of a received
    /// datagram is the global route header of RoCE v2, and its completion has the [port of the
    /// sender](crate::Completion::datagram_port).
    pub binding: Option<DatagramBinding>,
}

/// The policy for outstanding operations when a connection or an attempt ends that the owner of the queue pair did not
/// [disconnect](crate::QueuePair::disconnect).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LossPolicy {
    /// It is flushed, as DAT demands.
    #[default]
    Flush,
    /// It stays, and more can be posted: the queue pair is lost, and not disconnected, as with verbs, where the sender
    /// repeats what is not answered. It is flushed by [`QueuePair::disconnect`](crate::QueuePair::disconnect), also
    /// before any connection, [`QueuePair::reset`](crate::QueuePair::reset) or
    /// [`QueuePair::shutdown`](crate::QueuePair::shutdown), and [`VerbsQueuePair::give_up`] ends the repetition.
    ///
    /// A lost queue pair without outstanding requests can also be connected, or accept a request, as an unconnected
    /// one; the new connection then uses the receives. The same applies to a receive of a shared queue that an
    /// incomplete message has taken.
    ///
    /// If this side has caused the end, its requests are flushed all the same. Over an unreliable connection they all
    /// succeed, because nothing reports a loss to the sender.
    Keep,
}

/// Why this side has broken a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakCause {
    /// A request of this side has failed.
    Request,
    /// A request of the peer names memory that the peer may not access.
    Access,
    /// A request of the peer is an operation that the queue pair does not grant; see
    /// [`VerbsQueuePair::set_peer_privileges`].
    Operation,
    /// There was no receive for a message of the peer.
    NoReceive,
    /// The receive of a message was too short, or its memory not accessible; it has completed with the reason.
    Receive,
}

/// The port and key with which a queue pair receives datagrams, if its owner announces them to the peers: they make a
/// [`RemoteAddress`] of them with [`VerbsAdapter::remote_address`], and resolve nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramBinding {
    /// The UDP port, at every address of the machine; 0 if the system chooses one.
    pub port: u16,
    /// The key that datagrams must have (Q_Key). [`VerbsQueuePair::set_datagram_key`] changes it.
    pub key: u64,
}

/// A queue pair, as verbs need it. Each method has a default, for providers that have only what DAT needs.
pub trait VerbsQueuePair {
    /// The UDP port of a queue pair with a [`DatagramBinding`]; nothing for another one (the default).
    fn datagram_port(&self) -> Option<u16> {
        None
    }

    /// Changes the key of a queue pair with a [`DatagramBinding`]. Datagrams that arrive later must have it.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` for another queue pair (the default).
    fn set_datagram_key(&self, _key: u64) -> Result<()> {
        Err(unsupported("datagrams whose address is not resolved"))
    }

    /// Grants the peer of a connection these remote operations and no others, whatever its regions and windows permit,
    /// until the next call and also in later connections. Without a call all are granted, as with DAT. An operation
    /// that is not granted ends a reliable connection: it completes with `DAT_DTO_ERR_REMOTE_RESPONDER`, and the reason
    /// of this side is [`BreakCause::Operation`]. On an unreliable connection it is dropped.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has only what DAT needs (the default).
    fn set_peer_privileges(&self, _granted: Privileges) -> Result<()> {
        Err(unsupported("queue pairs that grant their peer only some operations"))
    }

    /// Why this side has broken the latest connection; known once that was reported as
    /// [`Broken`](crate::ConnectionUpcall::Broken). `None` if the peer or the link has ended it, or if the provider
    /// does not record it (the default).
    fn break_cause(&self) -> Option<BreakCause> {
        None
    }

    /// Limits the time for which a request waits for a receive of the peer, in this connection and later ones, or not,
    /// as with DAT. If it is limited, [`receive_awaited`](crate::ConnectionSink::receive_awaited) reports the start of
    /// the wait, and the owner of the queue pair calls [`end_receive_wait`](Self::end_receive_wait) when the time is
    /// over.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has only what DAT needs (the default).
    fn limit_receive_wait(&self, _is_limited: bool) -> Result<()> {
        Err(unsupported("requests that wait for a receive for a limited time"))
    }

    /// The time is over for the request of the latest [`receive_awaited`](crate::ConnectionSink::receive_awaited). If
    /// the peer has no receive for it now, it fails with
    /// [`ReceiverNotReady`](crate::status::DtoStatus::ReceiverNotReady). If it does not wait any more, nothing happens,
    /// except that a wait of a later request may be reported then (the default does nothing).
    fn end_receive_wait(&self) {}

    /// Makes a queue pair with a [`DatagramBinding`] receive also what is sent to a multicast group, at the network
    /// interface that has the address `at`; if that is unspecified, at every interface. Nothing changes if it is a
    /// member already.
    ///
    /// # Errors
    /// The error of the system, for example if no interface has the address; `DAT_MODEL_NOT_SUPPORTED` for another
    /// queue pair (the default).
    fn join_group(&self, _group: IpAddr, _at: IpAddr) -> Result<()> {
        Err(unsupported("multicast groups"))
    }

    /// Reverts [`join_group`](Self::join_group).
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not a member there; as for `join_group`.
    fn leave_group(&self, _group: IpAddr, _at: IpAddr) -> Result<()> {
        Err(unsupported("multicast groups"))
    }

    /// The owner of a queue pair with [`LossPolicy::Keep`] waits no longer for a peer that is lost, or for a
    /// connection: the oldest outstanding request completes with
    /// [`DtoStatus::Transport`](crate::status::DtoStatus::Transport), and the other requests are flushed, also later
    /// ones. If no request is outstanding, an attempt ends without an event, and requests can be posted, which stay
    /// until the next call. With a connection, and by default, nothing happens.
    fn give_up(&self) {}
}

/// An adapter, as verbs need it.
pub trait VerbsAdapter {
    /// The address of a queue pair with a [`DatagramBinding`] that receives at the port of `to`
    /// and has this key; or of all members of a multicast group, whose port means nothing. Only queue pairs with a
    /// binding send to it, from the address `from` of this machine, or one that the system chooses.
    ///
    /// # Errors
    /// `DAT_MODEL_NOT_SUPPORTED` if the provider has no such queue pairs (the default).
    fn remote_address(
        &self,
        _from: Option<IpAddr>,
        _to: SocketAddr,
        _key: u64,
    ) -> Result<RemoteAddress> {
        Err(unsupported("datagrams whose address is not resolved"))
    }
}

impl VerbsQueuePair for OnlyDat {}

impl VerbsAdapter for OnlyDat {}
