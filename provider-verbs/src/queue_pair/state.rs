//! What a queue pair consists of, and the states of its connection.
//!
//! Locks, in the order in which they may be taken: `link`; `sender` or `receiver`; that of a
//! completion queue. No upcall is made under any of them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, Subtype};
use dat_core::provider::{ConnectionSink, ConnectionUpcall, Peer, QueuePairLimits, Segment};
use parking_lot::Mutex;

use super::resolve::Datagrams;
use crate::cm;
use crate::completion_queue::Attachment;
use crate::device::Device;
use crate::domain::Domain;
use crate::errors::wrong_state;
use crate::ledger::Ledger;
use crate::shared_receive::Shared;
use crate::verbs::{self, AddressHandle};

pub(crate) struct Endpoint {
    pub(crate) device: Arc<Device>,
    /// Names it in events of the device's.
    pub(crate) key: u64,
    pub(super) me: Weak<Self>,
    /// Whether it carries datagrams.
    pub(super) datagrams: bool,
    pub(super) link: Mutex<Link>,
    pub(super) sender: Mutex<Sender>,
    pub(super) receiver: Mutex<Receiver>,
}

/// The state of the connection, and what the queue pair was made from.
pub(super) struct Link {
    pub(super) state: State,
    /// For good: nothing leads back, and nobody hears of anything.
    pub(super) retired: bool,
    pub(super) domain: Option<Arc<Domain>>,
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) limits: QueuePairLimits,
    pub(super) sink: Arc<dyn ConnectionSink>,
    /// The device's own; nothing while there is no domain.
    pub(super) hardware: Option<Arc<verbs::QueuePair>>,
    /// What one for datagrams has once it is alive.
    pub(super) datagrams: Option<Datagrams>,
}

pub(super) enum State {
    Unconnected,
    /// This side asked and waits for the answer.
    Connecting(Attempt),
    /// This side accepted and waits for the other to complete it.
    Accepting(Attempt),
    Connected(Attempt),
    /// The device's queue pair is in error; what is outstanding is being flushed.
    Ending(Attempt, End),
    /// The identifier stays until the other side has heard of the end.
    Disconnected(#[expect(dead_code, reason = "it is only kept")] Option<cm::Id>),
}

/// An attempt to connect, and the connection that it may become.
pub(super) struct Attempt {
    /// The core's number of it.
    pub(super) number: u64,
    pub(super) id: cm::Id,
    /// The key of the identifier.
    pub(super) key: Key,
    pub(super) private_data: Vec<u8>,
    pub(super) peer: Peer,
    /// The local port: that of the service point, or that the attempt is made from.
    pub(super) local_port: Option<u64>,
    /// Something failed before the connection stood.
    pub(super) troubled: bool,
    /// Disconnected gracefully, and requests are not finished.
    pub(super) closing: bool,
}

/// A key of the engine's, forgotten when dropped.
pub(crate) struct Key {
    device: Arc<Device>,
    pub(super) value: u64,
}

impl Key {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), value: device.engine.fresh_key() }
    }

    pub(crate) fn value(&self) -> u64 {
        self.value
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.device.engine.forget(self.value);
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Disconnected,
    Broken,
    /// An attempt that nobody hears of any more.
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

/// What becomes of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Receives wait here until there is a connection.
    Early,
    /// It goes to the device.
    Live,
    /// The connection ends: it will be flushed after those before it.
    Held,
    /// It is flushed at once.
    Flushed,
}

pub(super) struct Sender {
    pub(super) mode: Mode,
    pub(super) hardware: Option<Arc<verbs::QueuePair>>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) attachment: Arc<Attachment>,
    /// Requests posted since the last whose completion the device tells of.
    pub(super) quiet: u32,
    /// How many of them there may be.
    pub(super) most_quiet: u32,
    /// How a request is posted whose completion the device tells of; a read has no fence.
    pub(super) signalled: u32,
    /// How many bytes the device takes with the request itself.
    pub(super) inline: u64,
    /// The address handles of datagrams that are outstanding, with their numbers in the ledger.
    pub(super) handles: RefCell<VecDeque<(u32, Arc<AddressHandle>)>>,
}

pub(super) struct Receiver {
    pub(super) mode: Mode,
    pub(super) hardware: Option<Arc<verbs::QueuePair>>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) attachment: Arc<Attachment>,
    /// Receives that wait for a connection, with their numbers in the ledger.
    pub(super) early: VecDeque<(u32, Vec<Segment>)>,
}

impl State {
    /// The attempt, or the connection, whose identifier has that key.
    pub(super) fn attempt(&mut self, key: u64) -> Option<&mut Attempt> {
        match self {
            Self::Connecting(attempt) | Self::Accepting(attempt) | Self::Connected(attempt)
                if attempt.key.value == key =>
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
    /// The device's queue pair, when a connection can begin.
    pub(super) fn connectable(&self) -> Result<Arc<verbs::QueuePair>> {
        if self.retired || !matches!(self.state, State::Unconnected) {
            return Err(self.state.refusal());
        }
        let none = || wrong_state(Subtype::InvalidStateEpUnconfigured);
        self.hardware.clone().ok_or_else(none)
    }

    /// The sink, unless nobody is to hear of anything.
    pub(super) fn listener(&self) -> Option<Arc<dyn ConnectionSink>> {
        (!self.retired).then(|| Arc::clone(&self.sink))
    }
}
