//! Queue pairs: the state of the connection, and what is posted.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::status::DtoStatus;
use dat_provider::{
    BindRequest, ConnectRequest, ConnectionSink, ConnectionUpcall, Failure, Outstanding, Peer,
    QueuePair, QueuePairSpec, ReceiveRequest, Request,
};
use parking_lot::{Mutex, MutexGuard};

use super::conn::{Conn, Ending, Established, How, Side, Stage};
use super::connect::{self, Incoming};
use super::core::{Core, Job};
use super::receives::{Receives, SharedReceives};
use super::transport::Connected;
use super::work::Item;
use crate::completion_queue::{Source, find};
use crate::credits::Room;
use crate::domain::{self, Membership, User};
use crate::errors::{foreign, no_room, wrong_state};
use crate::frame::Reason;
use crate::outlet::{Outlet, Upcalls};
use crate::receive_ring::Posted;
use crate::regions;
use crate::ring::Ring;
use crate::shared_receive::{self, Resume};
use crate::window::Bind;

/// How long a call waits for acknowledgements that are due.
const MOMENT: Duration = Duration::from_millis(2);

/// A queue pair. Its lock is taken before all others of this crate.
pub(super) struct Pair {
    pub(super) me: Weak<Self>,
    pub(super) core: Arc<Core>,
    pub(super) inner: Mutex<Inner>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Unconnected,
    /// A link is being connected, or waits for the answer.
    Connecting,
    /// Accepted, or established.
    Connected,
    Disconnected,
}

pub(super) struct Inner {
    pub(super) phase: Phase,
    pub(super) attempt: u64,
    /// Tells one connection from the next.
    pub(super) serial: u64,
    /// The local port of the latest attempt.
    port: u64,
    pub(super) conn: Option<Box<Conn>>,
    pub(super) side: Side,
    /// Disconnected gracefully, and requests are still outstanding.
    closing: bool,
    retired: bool,
    sink: Arc<dyn ConnectionSink>,
    memberships: [Option<Membership>; 2],
    events: VecDeque<(u64, Event)>,
    /// A thread makes the upcalls of the events.
    delivering: bool,
}

/// An event to report.
pub(super) enum Event {
    Established(Established),
    PeerRejected(Vec<u8>),
    NonPeerRejected,
    Unreachable,
    TimedOut,
    AcceptFailed,
    Disconnected,
    Broken,
}

/// A queue pair as domains and shared receive queues know it.
struct Me(Weak<Pair>);

impl User for Me {
    fn settle(&self) {
        if let Some(pair) = self.0.upgrade() {
            drop(pair.inner.lock());
        }
    }

    fn settle_without_fence(&self) -> bool {
        self.settle();
        true
    }
}

impl Resume for Me {
    fn resume(&self) {
        let Some(pair) = self.0.upgrade() else { return };
        pair.work(|inner, _| {
            if let Some(shared) = &mut inner.side.receives.shared {
                shared.stalled = false;
            }
        });
    }
}

impl Source for Pair {
    fn poll(self: Arc<Self>) {
        self.read();
        let core = Arc::clone(&self.core);
        if let Some(last) = Arc::into_inner(self) {
            core.ask(Job::Drop(Box::new(last)));
        }
    }
}

impl Pair {
    /// Reads what came, for a poller.
    fn read(&self) {
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        let Inner { conn: Some(conn), side, .. } = &mut *inner else { return };
        if conn.ending.is_some() {
            return;
        }
        conn.read(side, &mut upcalls);
        if inner.go_on(&self.core, &mut upcalls) {
            self.list(&mut inner);
        }
        self.leave(inner, upcalls);
    }
}

/// A queue pair as the core holds it.
pub(super) struct Handle(pub(super) Arc<Pair>);

pub(super) fn create(core: &Arc<Core>, spec: &QueuePairSpec) -> Result<Handle> {
    let number = regions::serial();
    let mut failed = None;
    let me = Arc::new_cyclic(|me: &Weak<Pair>| {
        let mut inner = Inner {
            phase: Phase::Unconnected,
            attempt: 0,
            serial: 0,
            port: 0,
            conn: None,
            side: nowhere(number),
            closing: false,
            retired: false,
            sink: Arc::clone(&spec.sink),
            memberships: [None, None],
            events: VecDeque::new(),
            delivering: false,
        };
        failed = inner.set(spec, me).err();
        Pair { me: Weak::clone(me), core: Arc::clone(core), inner: Mutex::new(inner) }
    });
    match failed {
        Some(error) => Err(error),
        None => {
            me.complete_at(spec)?;
            Ok(Handle(me))
        }
    }
}

/// The side of a queue pair without a specification.
fn nowhere(number: u32) -> Side {
    let outlet = || {
        let queue = find(None, Subtype::NoSubtype).unwrap_or_else(|_| unreachable!());
        let place = queue.attach();
        (Outlet::new(0, queue, place.source()), place)
    };
    let ((requests, _), (receives, _)) = (outlet(), outlet());
    Side {
        requests,
        room: Room::new(0),
        receives: Receives {
            ring: Ring::new(0, 0),
            room: Room::new(0),
            outlet: receives,
            shared: None,
            domain: 0,
        },
        domain: 0,
        number,
    }
}

impl Inner {
    /// Takes over a specification.
    fn set(&mut self, spec: &QueuePairSpec, me: &Weak<Pair>) -> Result<()> {
        for (used, max) in [
            (self.side.room.used(), spec.limits.max_requests),
            (self.side.receives.room.used(), spec.limits.max_receives),
        ] {
            if used > max {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!(
                        "{used} operations are outstanding, more than the new limit of {max}"
                    )));
            }
        }
        let own = spec.domain.as_ref().map(|domain| domain::find(&**domain)).transpose()?;
        let shared = match &spec.shared_receives {
            Some(queue) => Some(shared_receive::find(&**queue)?),
            None => None,
        };
        let out = find(spec.request_queue.as_deref(), Subtype::InvalidHandleEvdRequest)?;
        let back = find(spec.receive_queue.as_deref(), Subtype::InvalidHandleEvdRecv)?;
        let id = own.as_ref().map_or(0, |domain| domain.id);
        let other = shared.as_ref().filter(|queue| queue.domain.id != id);
        let other = other.map(|queue| Arc::clone(&queue.domain));
        let enter = |domain| Membership::new(&domain, Arc::new(Me(Weak::clone(me))));
        let memberships = [own.map(enter), other.map(enter)];
        let side = &mut self.side;
        let place = out.attach();
        let end = side.requests.queue().position();
        side.requests = Outlet::new(spec.tag, out, place.source());
        side.room.resize(spec.limits.max_requests);
        let mut over = side.room.leave_by(place, end);
        let receives = &mut side.receives;
        let end = receives.outlet.queue().position();
        let limits = &spec.limits;
        if let Some(queue) = shared {
            let source = queue.enter(&back);
            receives.outlet = Outlet::new(spec.tag, Arc::clone(&back), source);
            receives.ring = Ring::new(0, 0);
            receives.room.resize(0);
            let me = Arc::new(Me(Weak::clone(me)));
            receives.shared = Some(SharedReceives { queue, completions: back, stalled: false, me });
        } else {
            let place = back.attach();
            receives.outlet = Outlet::new(spec.tag, back, place.source());
            receives.ring.relay(limits.max_receives, limits.max_receive_segments);
            receives.room.resize(limits.max_receives);
            over.extend(receives.room.leave_by(place, end));
            receives.shared = None;
        }
        receives.domain = id;
        side.domain = id;
        self.sink = Arc::clone(&spec.sink);
        self.memberships = memberships;
        drop(over);
        Ok(())
    }

    fn refusal(&self) -> Error {
        wrong_state(match self.phase {
            Phase::Unconnected => Subtype::InvalidStateEpUnconnected,
            Phase::Connecting => Subtype::InvalidStateEpActconnpending,
            Phase::Connected if self.closing => Subtype::InvalidStateEpDiscpending,
            Phase::Connected => Subtype::InvalidStateEpConnected,
            Phase::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }

    fn check_connectable(&self) -> Result<()> {
        if self.retired || self.phase != Phase::Unconnected {
            return Err(self.refusal());
        }
        if self.side.domain == 0 {
            return Err(wrong_state(Subtype::InvalidStateEpUnconfigured));
        }
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        if !self.retired {
            self.events.push_back((self.attempt, event));
        }
    }

    /// Reads what came, unless the connection ends.
    fn read(&mut self, core: &Core, upcalls: &mut Upcalls) {
        let Some(conn) = &mut self.conn else { return };
        if conn.ending.is_none() {
            conn.read(&mut self.side, upcalls);
            self.go_on(core, upcalls);
        }
    }

    /// Reads until a condition holds, for a moment: what the peer executes at once is acknowledged
    /// by then.
    fn read_until(&mut self, core: &Core, upcalls: &mut Upcalls, holds: fn(&mut Self) -> bool) {
        let until = Instant::now() + MOMENT;
        loop {
            self.read(core, upcalls);
            if self.conn.is_none() || holds(self) || Instant::now() >= until {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Whether suppressed requests take room, which no poll of the consumer's gives back.
    fn has_suppressed(&self) -> bool {
        let mut work = self.conn.iter().flat_map(|conn| &conn.work);
        work.any(|item| item.flags.contains(CompletionFlags::SUPPRESS))
    }

    /// Goes on with the connection: writes, completes, ends. Returns whether the thread has to go
    /// on soon: the link is full, or frames are left that were received already.
    fn go_on(&mut self, core: &Core, upcalls: &mut Upcalls) -> bool {
        let Some(conn) = &mut self.conn else { return false };
        if conn.ending.is_none() {
            conn.pump(&mut self.side, upcalls);
        }
        if let Some(established) = conn.established.take() {
            self.phase = Phase::Connected;
            self.tell(Event::Established(established));
        }
        let Some(conn) = &mut self.conn else { return false };
        if self.closing && conn.work.is_empty() {
            conn.end(How::Disconnected, Some(Reason::Graceful));
        }
        match conn.ending.take() {
            Some(ending) => {
                self.finish(ending, core, upcalls);
                false
            }
            None => !conn.dead && (conn.full || conn.more),
        }
    }

    /// Ends the connection.
    fn finish(&mut self, ending: Ending, core: &Core, upcalls: &mut Upcalls) {
        let Some(mut conn) = self.conn.take() else { return };
        conn.complete(&mut self.side, upcalls);
        conn.flush(None, &mut self.side, upcalls);
        self.side.receives.flush(upcalls);
        self.phase = Phase::Disconnected;
        self.closing = false;
        let event = match (conn.stage, ending.how) {
            (Stage::Answer, How::Rejected(private_data)) => Event::PeerRejected(private_data),
            (Stage::Answer, _) => Event::NonPeerRejected,
            (Stage::Ready, _) => Event::AcceptFailed,
            (Stage::Open, How::Broken) => Event::Broken,
            (Stage::Open, _) => Event::Disconnected,
        };
        self.tell(event);
        core.linger(*conn, ending.tell);
    }
}

impl Pair {
    /// Releases the lock and leaves upcalls and events to the thread.
    fn leave(&self, inner: MutexGuard<'_, Inner>, upcalls: Upcalls) {
        let events = !inner.events.is_empty();
        drop(inner);
        if events || !upcalls.is_empty() {
            self.core.ask(Job::Deliver(Weak::clone(&self.me), upcalls));
        }
    }

    /// Takes note of the local port of an attempt.
    pub(super) fn dials(&self, serial: u64, port: u64) {
        let mut inner = self.inner.lock();
        if inner.serial == serial {
            inner.port = port;
        }
    }

    /// Has the pollers of its completion queues read its link.
    fn complete_at(&self, spec: &QueuePairSpec) -> Result<()> {
        for (queue, subtype) in [
            (&spec.request_queue, Subtype::InvalidHandleEvdRequest),
            (&spec.receive_queue, Subtype::InvalidHandleEvdRecv),
        ] {
            if queue.is_some() {
                let me: Weak<Self> = Weak::clone(&self.me);
                find(queue.as_deref(), subtype)?.add_source(me);
            }
        }
        Ok(())
    }
}

impl Pair {
    /// Does something under the lock and goes on with the connection; then makes the upcalls.
    pub(super) fn work<T>(&self, act: impl FnOnce(&mut Inner, &mut Upcalls) -> T) -> T {
        self.work_under(self.inner.lock(), act)
    }

    fn work_under<T>(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        act: impl FnOnce(&mut Inner, &mut Upcalls) -> T,
    ) -> T {
        let mut upcalls = Upcalls::default();
        let result = act(&mut inner, &mut upcalls);
        let waits = inner.go_on(&self.core, &mut upcalls);
        if waits {
            self.list(&mut inner);
        }
        let events = !inner.events.is_empty();
        drop(inner);
        upcalls.deliver();
        if events {
            self.deliver();
        }
        result
    }

    /// Has the thread look at it soon.
    fn list(&self, inner: &mut Inner) {
        if let Some(conn) = &mut inner.conn {
            if !std::mem::replace(&mut conn.listed, true) {
                self.core.ask(Job::Look(Weak::clone(&self.me)));
            }
        }
    }

    /// Reads what came, for the thread. Returns whether it has to try again, because another thread
    /// is inside, which may wait for what this thread does for other queue pairs.
    pub(super) fn progress(&self) -> bool {
        let Some(inner) = self.inner.try_lock() else { return true };
        self.work_under(inner, |inner, upcalls| {
            let Some(conn) = &mut inner.conn else { return };
            conn.listed = false;
            if conn.ending.is_none() {
                conn.read(&mut inner.side, upcalls);
            }
        });
        false
    }

    /// Makes the upcalls of the events, in order; one thread at a time does so.
    pub(super) fn deliver(&self) {
        let mut inner = self.inner.lock();
        if inner.delivering {
            return;
        }
        inner.delivering = true;
        while let Some((attempt, event)) = inner.events.pop_front() {
            let sink = Arc::clone(&inner.sink);
            drop(inner);
            event.report(attempt, &*sink);
            inner = self.inner.lock();
        }
        inner.delivering = false;
    }

    /// The link of an attempt was connected, or not.
    pub(super) fn linked(
        &self,
        serial: u64,
        link: std::result::Result<(Connected, Peer, Vec<u8>, u64), Event>,
    ) {
        let mut watch = None;
        self.work(|inner, upcalls| {
            if inner.serial != serial || inner.phase != Phase::Connecting {
                return;
            }
            match link {
                Ok((link, peer, private_data, qualifier)) => {
                    let token = self.core.token();
                    let Connected { reader, writer, local_port, .. } = link;
                    let posted = inner.side.receives.ring.count();
                    let mut conn = Conn::new(
                        Stage::Answer,
                        (reader, writer),
                        token,
                        (peer, local_port),
                        posted,
                    );
                    let shared = inner.side.receives.shared.is_some();
                    connect::hello(&mut conn, qualifier, shared, private_data);
                    inner.conn = Some(Box::new(conn));
                    watch = Some(token);
                }
                Err(event) => {
                    inner.phase = Phase::Disconnected;
                    inner.side.receives.flush(upcalls);
                    inner.tell(event);
                }
            }
        });
        if let Some(token) = watch {
            self.core.ask(Job::Watch(token, Weak::clone(&self.me)));
        }
    }

    /// Accepts a request for a connection.
    pub(super) fn accept(
        &self,
        attempt: u64,
        private_data: &[u8],
        take: impl FnOnce() -> Result<Incoming>,
    ) -> Result<()> {
        let token = self.core.token();
        self.work(|inner, _| {
            inner.check_connectable()?;
            let incoming = take()?;
            inner.serial += 1;
            inner.attempt = attempt;
            inner.phase = Phase::Connected;
            let posted = inner.side.receives.ring.count();
            let shared = inner.side.receives.shared.is_some();
            inner.conn = Some(Box::new(incoming.accepted(token, posted, shared, private_data)));
            Ok(())
        })?;
        self.core.ask(Job::Watch(token, Weak::clone(&self.me)));
        Ok(())
    }

    fn post(&self, item: impl FnOnce(&Inner) -> Result<Item>) -> Result<()> {
        self.work(|inner, upcalls| {
            match inner.phase {
                Phase::Connected if !inner.closing && !inner.retired => {}
                Phase::Disconnected => {}
                _ => return Err(inner.refusal()),
            }
            if !inner.side.room.is_there() {
                // What the peer has acknowledged may make room.
                inner.read(&self.core, upcalls);
                if inner.has_suppressed() {
                    inner.read_until(&self.core, upcalls, |inner| inner.side.room.is_there());
                }
            }
            if !inner.side.room.take() {
                return Err(no_room());
            }
            let item = match item(inner) {
                Ok(item) => item,
                Err(error) => {
                    inner.side.room.undo();
                    return Err(error);
                }
            };
            match &mut inner.conn {
                Some(conn) if conn.ending.is_none() => {
                    conn.work.push_back(item);
                    conn.pump(&mut inner.side, upcalls);
                    if conn.ending.is_none() && conn.waits_for_credit() {
                        conn.read(&mut inner.side, upcalls);
                    }
                }
                _ => inner.side.finish(&item, DtoStatus::Flushed, upcalls),
            }
            Ok(())
        })
    }
}

impl QueuePair for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.work(|inner, upcalls| {
            let receives = &mut inner.side.receives;
            if receives.shared.is_some() {
                return Err(wrong_state(Subtype::InvalidStateSrqInUse)
                    .because("the queue pair uses a shared receive queue"));
            }
            if !receives.room.take() {
                return Err(no_room());
            }
            if receives.ring.push(Posted::new(receive), receive.segments).is_err() {
                receives.room.undo();
                return Err(no_room());
            }
            if inner.phase == Phase::Disconnected {
                receives.flush(upcalls);
            } else if let Some(conn) = &mut inner.conn {
                conn.posted = conn.posted.wrapping_add(1);
            }
            Ok(())
        })
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.0.post(|_| Ok(Item::new(request)))
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        let mut key = 0;
        self.0.post(|inner| {
            let made = Bind::new(bind, inner.side.number)?;
            key = made.key();
            Ok(Item::bind(made, bind.cookie, bind.flags))
        })?;
        Ok(key)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        let serial = {
            let mut inner = self.0.inner.lock();
            inner.check_connectable()?;
            inner.serial += 1;
            inner.attempt = request.attempt;
            inner.phase = Phase::Connecting;
            inner.serial
        };
        connect::start(&self.0, serial, request);
        Ok(())
    }

    fn connecting_port(&self) -> Option<u64> {
        let inner = self.0.inner.lock();
        matches!(inner.phase, Phase::Connecting).then_some(inner.port)
    }

    fn disconnect(&self, how: Close) {
        self.0.work(|inner, upcalls| {
            // What came before the end is not lost.
            if inner.conn.as_ref().is_some_and(|conn| conn.stage == Stage::Open) {
                inner.read_until(&self.0.core, upcalls, |inner| {
                    inner
                        .conn
                        .as_ref()
                        .is_none_or(|conn| conn.work.len() != conn.sent || conn.work.is_empty())
                });
            }
            let attempt = matches!(inner.phase, Phase::Connecting)
                || inner.conn.as_ref().is_some_and(|conn| conn.stage != Stage::Open);
            match &mut inner.conn {
                _ if !matches!(inner.phase, Phase::Connecting | Phase::Connected) => {}
                Some(conn) if !attempt && how == Close::Graceful && !conn.work.is_empty() => {
                    inner.closing = true;
                }
                Some(conn) => {
                    let reason = match how {
                        Close::Graceful => Reason::Graceful,
                        Close::Abrupt => Reason::Abrupt,
                    };
                    let ending = Ending { how: How::Disconnected, tell: Some(reason) };
                    conn.ending = None;
                    let before = inner.events.len();
                    inner.finish(ending, &self.0.core, upcalls);
                    if attempt {
                        inner.events.truncate(before);
                    }
                }
                None => {
                    inner.phase = Phase::Disconnected;
                    inner.side.receives.flush(upcalls);
                }
            }
        });
    }

    fn reset(&self) -> Result<()> {
        let mut inner = self.0.inner.lock();
        if inner.retired || inner.phase != Phase::Disconnected {
            return Err(inner.refusal());
        }
        inner.phase = Phase::Unconnected;
        inner.side.requests.begin_anew();
        inner.side.receives.outlet.begin_anew();
        Ok(())
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        let mut inner = self.0.inner.lock();
        if inner.retired || inner.phase != Phase::Unconnected {
            return Err(inner.refusal());
        }
        inner.set(&spec, &self.0.me)?;
        drop(inner);
        self.0.complete_at(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        let mut upcalls = Upcalls::default();
        let mut inner = self.0.inner.lock();
        if inner.has_suppressed() {
            // Nothing else tells the consumer that they are over.
            inner.read_until(&self.0.core, &mut upcalls, |inner| !inner.has_suppressed());
        }
        let requests = inner.conn.as_ref().map_or(0, |conn| conn.work.len());
        let taken = inner.conn.as_ref().map_or(0, |conn| u32::from(conn.buffer.is_some()));
        let outstanding = Outstanding {
            receives: inner.side.receives.ring.count() + taken,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
        };
        self.0.leave(inner, upcalls);
        outstanding
    }

    fn failure(&self) -> Option<Failure> {
        let inner = self.0.inner.lock();
        inner.side.requests.failure().or_else(|| inner.side.receives.outlet.failure())
    }

    fn retire(&self) {
        self.0.work(|inner, upcalls| {
            inner.retired = true;
            inner.events.clear();
            let ending = Ending { how: How::Disconnected, tell: Some(Reason::Abrupt) };
            inner.finish(ending, &self.0.core, upcalls);
            inner.phase = Phase::Disconnected;
            inner.side.receives.flush(upcalls);
        });
    }
}

impl Event {
    fn report(&self, attempt: u64, sink: &dyn ConnectionSink) {
        let upcall = match self {
            Self::Established(Established { private_data, peer, local_port }) => {
                ConnectionUpcall::Established { private_data, peer: *peer, local_port: *local_port }
            }
            Self::PeerRejected(private_data) => ConnectionUpcall::PeerRejected { private_data },
            Self::NonPeerRejected => ConnectionUpcall::NonPeerRejected,
            Self::Unreachable => ConnectionUpcall::Unreachable,
            Self::TimedOut => ConnectionUpcall::TimedOut,
            Self::AcceptFailed => ConnectionUpcall::AcceptFailed,
            Self::Disconnected => ConnectionUpcall::Disconnected,
            Self::Broken => ConnectionUpcall::Broken,
        };
        sink.connection_event(attempt, upcall);
    }
}

/// The queue pair behind one of the contract.
pub(super) fn of(queue_pair: &dyn QueuePair) -> Result<Arc<Pair>> {
    match queue_pair.as_any().downcast_ref::<Handle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign("queue pair", Subtype::InvalidHandleEp)),
    }
}
