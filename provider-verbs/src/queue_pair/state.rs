//! The parts of a queue pair, and the states of its connection.
//!
//! Locks, in the order in which they may be acquired: `link`; `sender` or `receiver`; the lock of a
//! completion queue. No upcall is made under any of them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::status::Operation;
use dat_provider::{ConnectionSink, ConnectionUpcall, Peer, QueuePairLimits, Segment};
use dat_provider_kit::errors::wrong_state;
use dat_sync::Mutex;

use super::last_look::LastLook;
use super::resolution::Datagrams;
use crate::cm;
use crate::completion_queue::{Attachment, Queue};
use crate::device::Device;
use crate::domain::Domain;
use crate::engine::QueueEvents;
use crate::key::Key;
use crate::shared_receive::Shared;
use crate::verbs::{self, AddressHandle, Poster, SingleSgeReceive, SingleSgeRequest, WorkRequest};
use crate::work_queue::{Posts, Record, WorkQueue};

/// A queue pair.
pub(crate) struct VerbsQp {
    pub(crate) device: Arc<Device>,
    /// Identifies it in events of the device.
    pub(crate) key: u64,
    pub(super) me: Weak<Self>,
    /// True if it carries datagrams.
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
    /// The identifier is kept until the other side is notified of the end.
    Disconnected(#[expect(dead_code, reason = "it is only kept")] Option<cm::CmId>),
}

/// An attempt to connect, and the connection that it may become.
pub(super) struct Attempt {
    /// The attempt number of the core.
    pub(super) number: u64,
    pub(super) id: cm::CmId,
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

/// The fate of a post.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Receives are kept here until there is a connection.
    Early,
    /// It is passed to the device's queue pair.
    Live,
    /// The connection is ending: the post will be flushed after those before it.
    Held,
    /// It is flushed at once.
    Flushed,
}

/// The fields that senders and receivers have in common. The fields that a post on the fast path uses come
/// first.
#[repr(C)]
pub(super) struct PostQueue<W: WorkRequest> {
    pub(super) posts: Posts,
    /// Attached to the device's queue pair in the mode [`Mode::Live`].
    pub(super) poster: Poster<W>,
    mode: Mode,
    pub(super) attachment: Arc<Attachment>,
}

#[repr(C)]
pub(super) struct Sender {
    /// The send flags of a request whose completion the device reports; a read has no fence.
    pub(super) signalled: u32,
    /// As `signalled`, if its data is copied into the request.
    pub(super) signalled_inline: u32,
    /// Number of bytes that the device accepts inline.
    pub(super) inline: u64,
    /// Number of requests posted since the last one whose completion the device reports.
    pub(super) quiet: u32,
    /// Maximum of `quiet`.
    pub(super) most_quiet: u32,
    pub(super) queue: PostQueue<SingleSgeRequest>,
    /// The address handles of outstanding datagrams, with their sequence numbers in the work queue.
    pub(super) handles: RefCell<VecDeque<(u32, Arc<AddressHandle>)>>,
    pub(super) last_look: LastLook,
}

#[repr(C)]
pub(super) struct Receiver {
    /// The operation of its receives.
    pub(super) operation: Operation,
    pub(super) queue: PostQueue<SingleSgeReceive>,
    /// Receives that wait for a connection, with their sequence numbers in the work queue.
    pub(super) early: VecDeque<(u32, Vec<Segment>)>,
}

impl<W: WorkRequest> PostQueue<W> {
    /// A queue in the mode [`Mode::Early`].
    pub(super) fn new(posts: Posts, attachment: Attachment) -> Self {
        let poster = Poster::new(attachment.low_half());
        Self { posts, poster, mode: Mode::Early, attachment: Arc::new(attachment) }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// The queue pair that gets the posts, in the mode [`Mode::Live`].
    pub(super) fn hardware(&self) -> Option<&Arc<verbs::QueuePair>> {
        self.poster.attached()
    }

    /// Passes posts to that queue pair of the device from now on.
    pub(super) fn go_live(&mut self, hardware: &Arc<verbs::QueuePair>) {
        self.mode = Mode::Live;
        self.poster.attach(Some(hardware));
        self.posts.set_open(true);
    }

    /// Keeps posts from the device from now on.
    pub(super) fn leave(&mut self, mode: Mode) {
        self.mode = mode;
        self.poster.attach(None);
        self.posts.set_open(false);
    }

    /// Keeps posts until those before them are flushed, if they are not flushed at once already.
    pub(super) fn hold(&mut self) {
        if self.mode != Mode::Flushed {
            self.leave(Mode::Held);
        }
    }

    /// Records a post; returns its sequence number if there is a free entry.
    pub(super) fn write(&mut self, record: &Record) -> Option<u32> {
        self.posts.write(record).or_else(|| self.write_after_all(record))
    }

    /// Records a post after completions were collected: suppressed ones, and those that are never
    /// polled, have then returned their queue credits.
    #[cold]
    #[inline(never)]
    fn write_after_all(&mut self, record: &Record) -> Option<u32> {
        self.attachment.queue.collect_quietly();
        self.posts.write(record)
    }

    /// The queue that flushes the posts, if they are flushed at once; for use without the lock.
    pub(super) fn to_flush(&self) -> Option<Completing> {
        (self.mode == Mode::Flushed).then(|| self.completing())
    }

    /// The queue that completes the posts, for use without the lock.
    pub(super) fn completing(&self) -> Completing {
        Completing {
            queue: Arc::clone(&self.attachment.queue),
            work_queue: Arc::clone(&self.posts.work_queue),
            end: self.posts.next_number(),
        }
    }
}

/// The objects that complete the posts of a sender or a receiver.
pub(super) struct Completing {
    pub(super) queue: Arc<Queue>,
    pub(super) work_queue: Arc<WorkQueue>,
    /// The sequence number after the last post.
    pub(super) end: u32,
}

impl Completing {
    /// Flushes all outstanding posts.
    pub(super) fn flush(&self) {
        self.queue.flush(&self.work_queue);
    }

    /// Returns true if all of its posts have completed.
    pub(super) fn is_done(&self) -> bool {
        self.work_queue.has_reached(self.end)
    }
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
