//! Queue pairs: the state of the connection, and what is posted.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::{ConnectionSink, Peer, QueuePairSpec};
use parking_lot::{Mutex, MutexGuard};

use super::conn::{Conn, Ending, How, Side, Stage};
use super::connect::{self, Incoming};
use super::core::{Core, Job};
use super::event::Event;
use super::handle::Handle;
use super::receives::{Receives, SharedReceives};
use super::transport::Connected;
use super::work::Item;
use crate::completion_queue::{Source, find};
use crate::credits::Room;
use crate::domain::{self, Membership, User};
use crate::errors::{no_room, wrong_state};
use crate::frame::Reason;
use crate::outlet::{Outlet, Upcalls};
use crate::regions;
use crate::ring::Ring;
use crate::shared_receive::{self, Resume};

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
    pub(super) port: u64,
    pub(super) conn: Option<Box<Conn>>,
    pub(super) side: Side,
    /// Disconnected gracefully, and requests are still outstanding.
    pub(super) closing: bool,
    pub(super) retired: bool,
    pub(super) sink: Arc<dyn ConnectionSink>,
    pub(super) memberships: [Option<Membership>; 2],
    pub(super) events: VecDeque<(u64, Event)>,
    /// A thread makes the upcalls of the events.
    pub(super) delivering: bool,
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
    pub(super) fn set(&mut self, spec: &QueuePairSpec, me: &Weak<Pair>) -> Result<()> {
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

    pub(super) fn refusal(&self) -> Error {
        wrong_state(match self.phase {
            Phase::Unconnected => Subtype::InvalidStateEpUnconnected,
            Phase::Connecting => Subtype::InvalidStateEpActconnpending,
            Phase::Connected if self.closing => Subtype::InvalidStateEpDiscpending,
            Phase::Connected => Subtype::InvalidStateEpConnected,
            Phase::Disconnected => Subtype::InvalidStateEpDisconnected,
        })
    }

    pub(super) fn check_connectable(&self) -> Result<()> {
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
    pub(super) fn read_until(
        &mut self,
        core: &Core,
        upcalls: &mut Upcalls,
        holds: fn(&mut Self) -> bool,
    ) {
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
    pub(super) fn has_suppressed(&self) -> bool {
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
    pub(super) fn finish(&mut self, ending: Ending, core: &Core, upcalls: &mut Upcalls) {
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
    pub(super) fn leave(&self, inner: MutexGuard<'_, Inner>, upcalls: Upcalls) {
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
    pub(super) fn complete_at(&self, spec: &QueuePairSpec) -> Result<()> {
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

    pub(super) fn post(&self, item: impl FnOnce(&Inner) -> Result<Item>) -> Result<()> {
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
