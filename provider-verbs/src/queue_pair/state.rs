//! The parts of a queue pair, and the states of its connection.
//!
//! Locks, in the order in which they may be acquired: `link`; `sender` or `receiver`; the lock of a
//! completion queue. No upcall is made under any of them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use dat_core::Operation;
use dat_core::error::{Error, Result, Subtype};
use dat_core::provider::{ConnectionSink, ConnectionUpcall, Peer, QueuePairLimits, Segment};
use parking_lot::Mutex;

use super::resolution::Datagrams;
use crate::cm;
use crate::completion_queue::{Attachment, Identifiers};
use crate::device::Device;
use crate::domain::Domain;
use crate::errors::wrong_state;
use crate::key::Key;
use crate::shared_receive::Shared;
use crate::verbs::{self, AddressHandle};
use crate::work_queue::WorkQueue;

/// A queue pair.
pub(crate) struct VerbsQp {
    pub(crate) device: Arc<Device>,
    /// Identifies it in events of the device.
    pub(crate) key: u64,
    pub(super) me: Weak<Self>,
    /// Whether it carries datagrams.
    pub(super) datagrams: bool,
    pub(super) link: Mutex<Link>,
    pub(super) sender: Mutex<Sender>,
    pub(super) receiver: Mutex<Receiver>,
}

/// The state of the connection, and the specification of the queue pair.
pub(super) struct Link {
    pub(super) state: State,
    /// Permanently disconnected: it cannot be reset, and nothing is reported.
    pub(super) retired: bool,
    pub(super) domain: Option<Arc<Domain>>,
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) limits: QueuePairLimits,
    pub(super) sink: Arc<dyn ConnectionSink>,
    /// The device's queue pair; `None` while there is no domain.
    pub(super) hardware: Option<Arc<verbs::QueuePair>>,
    /// The additional state of an operational datagram queue pair.
    pub(super) datagrams: Option<Datagrams>,
}

pub(super) enum State {
    Unconnected,
    /// This side requested a connection and waits for the answer.
    Connecting(Attempt),
    /// This side accepted and waits for the other side to complete the connection.
    Accepting(Attempt),
    Connected(Attempt),
    /// The device's queue pair is in the error state; outstanding operations are being flushed.
    Ending(Attempt, End),
    /// The identifier is kept until the other side has learned of the end.
    Disconnected(#[expect(dead_code, reason = "it is only kept")] Option<cm::Id>),
}

/// An attempt to connect, and the connection that it may become.
pub(super) struct Attempt {
    /// The attempt number of the core.
    pub(super) number: u64,
    pub(super) id: cm::Id,
    /// The key of the identifier.
    pub(super) key: Key,
    pub(super) private_data: Vec<u8>,
    pub(super) peer: Peer,
    /// The local port: that of the service point, or that from which the attempt was made.
    pub(super) local_port: Option<u64>,
    /// Something failed before the connection was established.
    pub(super) troubled: bool,
    /// Gracefully disconnected, while requests have not finished.
    pub(super) closing: bool,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Disconnected,
    Broken,
    /// An attempt whose outcome is not reported.
    Silent,
}

impl End {
    pub(super) fn upcall(self) -> Option<ConnectionUpcall<'static>> {
        match self {
            Self::Disconnected => Some(ConnectionUpcall::Disconnected),
            Self::Broken => Some(ConnectionUpcall::Broken),
            Self::Silent => None,
        }
    }
}

/// What happens to a post.
pub(super) enum Mode {
    /// Receives are kept here until there is a connection.
    Early,
    /// It is passed to the device's queue pair.
    Live(Arc<verbs::QueuePair>),
    /// The connection is ending: the post will be flushed after those before it.
    Held,
    /// It is flushed at once.
    Flushed,
}

impl Mode {
    pub(super) const fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }
}

pub(super) struct Sender {
    pub(super) mode: Mode,
    pub(super) work_queue: Arc<WorkQueue>,
    pub(super) attachment: Arc<Attachment>,
    /// The identifiers of its posts, copied from the attachment.
    pub(super) identifiers: Identifiers,
    /// Number of requests posted since the last one whose completion the device reports.
    pub(super) quiet: u32,
    /// Maximum of `quiet`.
    pub(super) most_quiet: u32,
    /// The send flags of a request whose completion the device reports; a read has no fence.
    pub(super) signalled: u32,
    /// As `signalled`, if its data is copied into the request.
    pub(super) signalled_inline: u32,
    /// Number of bytes that the device accepts inline.
    pub(super) inline: u64,
    /// The address handles of outstanding datagrams, with their sequence numbers in the work queue.
    pub(super) handles: RefCell<VecDeque<(u32, Arc<AddressHandle>)>>,
}

pub(super) struct Receiver {
    pub(super) mode: Mode,
    pub(super) work_queue: Arc<WorkQueue>,
    pub(super) attachment: Arc<Attachment>,
    /// The identifiers of its posts, copied from the attachment.
    pub(super) identifiers: Identifiers,
    /// The operation of its receives.
    pub(super) operation: Operation,
    /// Receives that wait for a connection, with their sequence numbers in the work queue.
    pub(super) early: VecDeque<(u32, Vec<Segment>)>,
}

impl State {
    /// The attempt or connection whose identifier has that key.
    pub(super) fn attempt(&mut self, key: u64) -> Option<&mut Attempt> {
        match self {
            Self::Connecting(attempt) | Self::Accepting(attempt) | Self::Connected(attempt)
                if attempt.key.value() == key =>
            {
                Some(attempt)
            }
            _ => None,
        }
    }

    /// The error of a call that the state does not allow.
    pub(super) fn refusal(&self) -> Error {
        wrong_state(match self {
            Self::Unconnected => Subtype::InvalidStateEpUnconnected,
            Self::Connecting(_) => Subtype::InvalidStateEpActconnpending,
            Self::Accepting(_) => Subtype::InvalidStateEpPassconnpending,
            Self::Connected(attempt) if attempt.closing => Subtype::InvalidStateEpDiscpending,
            Self::Connected(_) => Subtype::InvalidStateEpConnected,
            Self::Ending(..) => Subtype::InvalidStateEpDiscpending,
            Self::Disconnected(_) => Subtype::InvalidStateEpDisconnected,
        })
    }
}

impl Link {
    /// The device's queue pair, if the state allows a connection attempt.
    pub(super) fn connectable(&self) -> Result<Arc<verbs::QueuePair>> {
        if self.retired || !matches!(self.state, State::Unconnected) {
            return Err(self.state.refusal());
        }
        let none = || wrong_state(Subtype::InvalidStateEpUnconfigured);
        self.hardware.clone().ok_or_else(none)
    }

    /// The sink, unless nothing is reported any more.
    pub(super) fn listener(&self) -> Option<Arc<dyn ConnectionSink>> {
        (!self.retired).then(|| Arc::clone(&self.sink))
    }
}
