//! What a queue pair consists of, and the states of its connection.

use std::sync::Arc;

use dat_core::error::{Error, Result, Subtype};
use dat_core::provider::{ConnectionSink, ConnectionUpcall, Epochs, Service};
use dat_sync::{SlabArc, SlabWeak};

use parking_lot::Mutex;

use super::ReceiveWakeup;
use super::post::Post;
use super::receive::Direction;
use crate::completion_target::CompletionTarget;
use crate::credits::QueueCredits;
use crate::domain::{DomainUser, Membership};
use crate::errors::wrong_state;
use crate::fabric::Host;
use crate::shared_receive::Resume;
use crate::sync::BiasedLock;

/// A queue pair. Its locks are taken in the order of the fields, and each has cache lines of its
/// own, for they are of different threads; what a post needs is in the first line or two of each.
/// It begins at a cache line, as what is hot does.
#[repr(C)]
pub(crate) struct Endpoint {
    pub(crate) sq: BiasedLock<Sq>,
    pub(crate) host: Arc<Host>,
    pub(super) me: SlabWeak<Endpoint>,
    /// The current or last peer, under whose `rq` the requests of this side execute.
    pub(super) peer: Mutex<SlabWeak<Endpoint>>,
    /// What windows confined to this queue pair know it by; never 0.
    pub(super) number: u32,
    /// To the end of the line.
    pub(super) rest: [u8; 12],
    /// Used only by the poster of receives.
    pub(super) receiver: Receiver,
    pub(crate) rq: Direction,
}

/// Lines of one lock are not those of another, and all together are nine with the counts.
#[cfg(all(target_pointer_width = "64", not(all(test, loom))))]
const _: () = {
    assert!(std::mem::offset_of!(Endpoint, receiver) == 4 * 64);
    assert!(std::mem::offset_of!(Endpoint, rq) == 6 * 64);
    assert!(size_of::<Endpoint>() + 8 <= 9 * 64);
};

/// Where receives are posted.
#[repr(C)]
pub(super) struct Receiver {
    pub(super) wakeup: ReceiveWakeup,
    pub(super) post: BiasedLock<Post>,
}

/// The state of the connection, and what requests need, in the order of its use.
#[repr(C)]
pub(crate) struct Sq {
    pub(crate) state: State,
    pub(super) room: QueueCredits,
    pub(crate) requests: Requester,
    /// Retired for good: nothing leads back.
    pub(crate) retired: bool,
    pub(crate) service: Service,
    /// Segments of one request.
    pub(super) stride: u32,
    pub(crate) sink: Arc<dyn ConnectionSink>,
    /// Memberships of the domains whose memory is copied for this queue pair: the domain of the queue
    /// pair, and the domain of its shared receive queue.
    pub(super) memberships: [Option<Membership>; 2],
}

/// On whose behalf requests execute, in the order of its use.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Requester {
    pub(super) outlet: CompletionTarget,
    pub(super) epochs: Arc<Epochs>,
    /// 0 while there is none, which no memory belongs to.
    pub(crate) domain: u32,
    /// The number of the queue pair.
    pub(super) number: u32,
}

pub(crate) enum State {
    Unconnected,
    /// Waits for the answer to its request.
    Connecting {
        link: u64,
        attempt: u64,
        port: u64,
    },
    Connected(Connection),
    Disconnected,
}

/// One side of a connection, from the moment that it is accepted.
pub(crate) struct Connection {
    /// The number of the connection, which both sides and no other connection have.
    pub(crate) link: u64,
    pub(crate) attempt: u64,
    pub(crate) peer: SlabArc<Endpoint>,
    pub(crate) announced: Announced,
    /// How it ended, when that came before `Established` was reported.
    pub(crate) ended: Option<End>,
    /// Disconnected gracefully, and requests still wait.
    pub(super) closing: bool,
}

impl Connection {
    pub(crate) fn new(link: u64, attempt: u64, peer: &SlabArc<Endpoint>) -> Self {
        Self {
            link,
            attempt,
            peer: SlabArc::clone(peer),
            announced: Announced::Pending,
            ended: None,
            closing: false,
        }
    }
}

/// Whether `Established` was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Pending,
    Running,
    Done,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Disconnected,
    Broken,
}

impl From<End> for ConnectionUpcall<'_> {
    fn from(end: End) -> Self {
        match end {
            End::Disconnected => Self::Disconnected,
            End::Broken => Self::Broken,
        }
    }
}

impl State {
    /// The connection of that number, if it is established.
    pub(crate) fn connection(&mut self, link: u64) -> Option<&mut Connection> {
        match self {
            Self::Connected(connection) if connection.link == link => Some(connection),
            _ => None,
        }
    }

    /// The error of a call that the state does not allow.
    pub(crate) fn refusal(&self) -> Error {
        wrong_state(match self {
            Self::Unconnected => Subtype::InvalidStateEpUnconnected,
            Self::Connecting { .. } => Subtype::InvalidStateEpActconnpending,
            Self::Connected(connection) if connection.closing => Subtype::InvalidStateEpDiscpending,
            Self::Connected(_) => Subtype::InvalidStateEpConnected,
            Self::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }
}

impl Sq {
    /// Refuses unless a connection can begin.
    pub(crate) fn check_connectable(&self) -> Result<()> {
        if self.retired || !matches!(self.state, State::Unconnected) {
            return Err(self.state.refusal());
        }
        if self.requests.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }
}

impl Endpoint {
    /// Reports an event, unless the queue pair was retired.
    pub(crate) fn tell(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        let sq = self.sq.lock();
        let sink = (!sq.retired).then(|| Arc::clone(&sq.sink));
        drop(sq);
        if let Some(sink) = sink {
            sink.connection_event(attempt, event);
        }
    }

    /// Records the peer before anything is copied for it.
    pub(crate) fn set_peer(&self, peer: Option<&SlabArc<Self>>) {
        *self.peer.lock() = peer.map(SlabArc::downgrade).unwrap_or_default();
    }

    /// Passes through the locks under which memory of its domains may be copied, after a heavy
    /// fence: requests of this side are posted under its `sq` or executed later under the `rq` of the
    /// peer, and requests of the peer under the `rq` of this side.
    pub(crate) fn wait_for_copies(&self) {
        self.sq.pass();
        self.rq.pass();
        let peer = self.peer.lock().upgrade();
        if let Some(peer) = peer {
            peer.rq.pass();
        }
    }

    /// As [`wait_for_copies`](Self::wait_for_copies) without the fence, unless one of the locks is biased to another
    /// thread; whether it was enough.
    pub(crate) fn wait_for_copies_without_fence(&self) -> bool {
        let peer = self.peer.lock().upgrade();
        self.sq.pass_without_fence()
            && self.rq.pass_without_fence()
            && peer.is_none_or(|peer| peer.rq.pass_without_fence())
    }
}

/// A queue pair as domains and shared receive queues know it.
pub(super) struct Me(pub(super) SlabWeak<Endpoint>);

impl DomainUser for Me {
    fn wait_for_copies(&self) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.wait_for_copies();
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        self.0.upgrade().is_none_or(|endpoint| endpoint.wait_for_copies_without_fence())
    }
}

impl Resume for Me {
    fn resume(&self) {
        if let Some(endpoint) = self.0.upgrade() {
            endpoint.resume();
        }
    }
}
