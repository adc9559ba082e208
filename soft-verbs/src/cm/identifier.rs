//! Identifiers: their life, and what they know.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dat_sync::{Condvar, Mutex};

use super::event::{Event, EventKind, Parameters, Queued};
use super::link::Link;
use super::listener::Seat;
use super::message::{Ece, Message, Rejection, Terms, reason};
use super::multicast::Membership;
use super::options::Options;
use super::socket::Socket;
use super::state::{Input, State, Step};
use super::{EventChannel, PortSpace};
use crate::error::{Error, Result};
use crate::queue_pair::{QueuePair, QueuePairType};

/// An identifier (`rdma_cm_id`): the state of a connection, or of a service.
pub struct Identifier {
    space: PortSpace,
    qp_type: QueuePairType,
    user: AtomicU64,
    pub(super) inner: Mutex<Inner>,
    /// Notified when the last event is acknowledged.
    acknowledged: Condvar,
}

/// The mutable state of an identifier. A thread that needs several locks takes this one before that of a queue pair, a
/// channel or a link.
pub(super) struct Inner {
    pub(super) state: State,
    pub(super) channel: Arc<EventChannel>,
    pub(super) options: Options,
    pub(super) local: Option<SocketAddr>,
    pub(super) peer: Option<SocketAddr>,
    /// The port of the active side, or one that may be shared.
    pub(super) reserved: Option<Socket>,
    pub(super) listener: Option<Seat>,
    pub(super) link: Option<Arc<Link>>,
    pub(super) queue_pair: Option<Arc<QueuePair>>,
    /// Until when a peer without a listener is asked again.
    pub(super) asks_until: Option<Instant>,
    /// The terms that this side has sent.
    pub(super) own: Terms,
    /// The terms that the peer has sent.
    pub(super) theirs: Option<Terms>,
    pub(super) groups: Vec<Membership>,
    /// Number of requests that may wait for the program.
    pub(super) backlog: usize,
    /// Number of requests that wait for it.
    pub(super) waiting: usize,
    /// Number of events that were taken and not acknowledged.
    unacknowledged: usize,
}

impl Identifier {
    /// Creates an identifier, whose events are reported on the channel (rdma_create_id(3)). `user` identifies it for the
    /// program.
    #[must_use]
    pub fn new(
        channel: &Arc<EventChannel>,
        user: u64,
        space: PortSpace,
        qp_type: QueuePairType,
    ) -> Arc<Self> {
        let inner = Inner {
            state: State::Idle,
            channel: Arc::clone(channel),
            options: Options::default(),
            local: None,
            peer: None,
            reserved: None,
            listener: None,
            link: None,
            queue_pair: None,
            asks_until: None,
            own: Terms::default(),
            theirs: None,
            groups: Vec::new(),
            backlog: 0,
            waiting: 0,
            unacknowledged: 0,
        };
        Arc::new(Self {
            space,
            qp_type,
            user: AtomicU64::new(user),
            inner: Mutex::new(inner),
            acknowledged: Condvar::new(),
        })
    }

    /// Its port space.
    #[must_use]
    pub const fn space(&self) -> PortSpace {
        self.space
    }

    /// The type of its queue pair.
    #[must_use]
    pub const fn qp_type(&self) -> QueuePairType {
        self.qp_type
    }

    /// Returns true if it looks up services of datagrams rather than connects.
    #[must_use]
    pub fn is_datagram(&self) -> bool {
        self.qp_type == QueuePairType::Ud
    }

    /// The value that identifies it for the program.
    #[must_use]
    pub fn user(&self) -> u64 {
        self.user.load(Ordering::Acquire)
    }

    /// Changes it.
    pub fn set_user(&self, user: u64) {
        self.user.store(user, Ordering::Release);
    }

    /// The channel that reports its events.
    #[must_use]
    pub fn channel(&self) -> Arc<EventChannel> {
        Arc::clone(&self.inner.lock().channel)
    }

    /// Its address, if it is bound (rdma_get_local_addr(3)).
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.inner.lock().local
    }

    /// The address of its peer, if it is resolved (rdma_get_peer_addr(3)).
    #[must_use]
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.inner.lock().peer
    }

    /// Returns true if it is bound to the device: to an address, and not to a port alone.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        self.local_address().is_some_and(|local| !local.ip().is_unspecified())
    }

    /// Returns true if its route is resolved (rdma_resolve_route(3)), or if it has a connection. An identifier for datagrams
    /// loses its route when it looks up a service.
    #[must_use]
    pub fn has_route(&self) -> bool {
        match self.inner.lock().state {
            State::RouteResolved => true,
            State::Idle | State::Bound | State::AddressResolved | State::Listening => false,
            _ => !self.is_datagram(),
        }
    }

    pub(super) fn is_listening(&self) -> bool {
        self.inner.lock().state == State::Listening
    }

    /// The options of the vendor of the peer (rdma_get_remote_ece(3)).
    #[must_use]
    pub fn remote_ece(&self) -> Ece {
        self.inner.lock().theirs.as_ref().map(|terms| terms.ece).unwrap_or_default()
    }

    /// Moves it and its events to another channel (rdma_migrate_id(3)). Waits until its events are acknowledged.
    pub fn migrate(&self, channel: &Arc<EventChannel>) {
        let mut inner = self.inner.lock();
        while inner.unacknowledged > 0 {
            self.acknowledged.wait(&mut inner);
        }
        if Arc::ptr_eq(&inner.channel, channel) {
            return;
        }
        let before = std::mem::replace(&mut inner.channel, Arc::clone(channel));
        before.extract(self).into_iter().for_each(|event| channel.push(event));
    }

    /// Destroys it (rdma_destroy_id(3)): a request is rejected, a connection ends. Waits until its events are
    /// acknowledged.
    ///
    /// # Errors
    /// `EINVAL` if it is destroyed already.
    pub fn destroy(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        let before = inner.state;
        inner.step(Input::Destroy, "destroy the identifier")?;
        let channel = Arc::clone(&inner.channel);
        inner.tear_down(before);
        drop(inner);
        // Requests that the program has not taken are destroyed, and thereby rejected.
        channel.remove(self);
        let mut inner = self.inner.lock();
        while inner.unacknowledged > 0 {
            self.acknowledged.wait(&mut inner);
        }
        Ok(())
    }

    /// An event was acknowledged.
    pub(super) fn acknowledge(&self) {
        let mut inner = self.inner.lock();
        inner.unacknowledged = inner.unacknowledged.saturating_sub(1);
        if inner.unacknowledged == 0 {
            self.acknowledged.notify_all();
        }
    }

    /// Reports an event. The caller holds the lock, so that it arrives on the current channel.
    pub(super) fn report(
        self: &Arc<Self>,
        inner: &Inner,
        kind: EventKind,
        status: i32,
        parameters: Parameters,
    ) {
        let target = Arc::downgrade(self);
        inner.channel.push(Queued { kind, status, parameters, target, request: None });
    }

    /// Makes an event of a queued one, which the program takes; `None` if it is obsolete.
    pub(super) fn complete(self: &Arc<Self>, queued: Queued) -> Option<Event> {
        let Queued { mut kind, mut status, parameters, request, .. } = queued;
        let mut inner = self.inner.lock();
        if inner.state == State::Destroyed {
            return None;
        }
        match kind {
            EventKind::ConnectRequest => inner.waiting = inner.waiting.saturating_sub(1),
            EventKind::ConnectResponse => (kind, status) = self.finish(&mut inner)?,
            EventKind::MulticastJoin => (kind, status) = inner.attach_group(&parameters)?,
            _ => {}
        }
        inner.unacknowledged += 1;
        drop(inner);
        Some(Event { kind, status, parameters, target: Arc::clone(self), request })
    }
}

impl Inner {
    /// Changes the state for a call; whether anything is to be done.
    ///
    /// # Errors
    /// `EINVAL` if the state does not allow the call.
    pub(super) fn step(&mut self, input: Input, what: &str) -> Result<bool> {
        match self.state.step(input) {
            Step::To(next, _) => {
                self.state = next;
                Ok(true)
            }
            Step::Ignore => Ok(false),
            Step::Refuse => Err(self.refusal(what)),
        }
    }

    /// The error of a call that the state does not allow.
    pub(super) fn refusal(&self, what: &str) -> Error {
        Error::invalid(format!("cannot {what}: the identifier is in the state {:?}", self.state))
    }

    /// Sends a message to the peer, if there is a link.
    pub(super) fn send(&self, message: &Message) {
        if let Some(link) = &self.link {
            link.send(message);
        }
    }

    /// Ends the link.
    pub(super) fn unlink(&mut self) {
        if let Some(link) = self.link.take() {
            link.close();
        }
    }

    /// Gives up everything, with a last message to the peer.
    fn tear_down(&mut self, before: State) {
        let reject = |reason| Some(Message::Reject(Rejection { reason, private_data: Vec::new() }));
        let last = match before {
            State::Connecting => reject(reason::TIMED_OUT),
            State::Answered | State::Requested => reject(reason::CONSUMER),
            State::Accepted | State::Connected => Some(Message::Disconnect),
            State::Left => Some(Message::Disconnected),
            _ => None,
        };
        if let Some(message) = last {
            self.send(&message);
        }
        self.unlink();
        if let Some(seat) = self.listener.take() {
            seat.leave();
        }
        self.reserved = None;
        self.leave_all_groups();
        self.queue_pair = None;
    }
}

impl Drop for Identifier {
    fn drop(&mut self) {
        let mut inner = self.inner.lock();
        let before = std::mem::replace(&mut inner.state, State::Destroyed);
        if before != State::Destroyed {
            inner.tear_down(before);
            let channel = Arc::clone(&inner.channel);
            drop(inner);
            channel.remove(self);
        }
    }
}

impl std::fmt::Debug for Identifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.inner.lock().state;
        write!(f, "Identifier({}, {:?}, {state:?})", self.user(), self.space)
    }
}
