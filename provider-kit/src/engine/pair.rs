//! Cq pairs: the state of the connection, and what is posted.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_provider::error::{Error, Result, Subtype};
use dat_provider::flags::CompletionFlags;
use dat_provider::status::DtoStatus;
use dat_provider::{ConnectionSink, Peer, QueuePairSpec};
use parking_lot::{Mutex, MutexGuard};

use super::conn::{Conn, Ending, How, Stage};
use super::connect::{self, Incoming};
use super::core::{Core, Job};
use super::event::Event;
use super::handle::Handle;
use super::side::Side;
use super::specification::nowhere;
use super::transport::Connected;
use super::work::Item;
use crate::domain::{DomainUser, Membership};
use crate::errors::{no_credit, wrong_state};
use crate::frame::Reason;
use crate::regions;
use crate::shared_receive::Resume;
use crate::upcalls::Upcalls;

/// How long a call waits for acknowledgements that are due.
const MOMENT: Duration = Duration::from_millis(2);

/// A queue pair. Its lock is taken before all others of this crate.
pub(super) struct Pair {
    pub(super) me: Weak<Self>,
    pub(super) core: Arc<Core>,
    pub(super) inner: Mutex<Inner>,
    /// The thread found the lock taken: a poller that has it is to borrow the link.
    pub(super) offers_link: AtomicBool,
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
pub(super) struct Me(pub(super) Weak<Pair>);

impl DomainUser for Me {
    fn wait_for_copies(&self) {
        if let Some(pair) = self.0.upgrade() {
            drop(pair.inner.lock());
        }
    }

    fn wait_for_copies_without_fence(&self) -> bool {
        self.wait_for_copies();
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

pub(super) fn create(core: &Arc<Core>, spec: &QueuePairSpec) -> Result<Handle> {
    let number = regions::queue_pair_id();
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
        failed = inner.set(spec, me).map(drop).err();
        Pair {
            me: Weak::clone(me),
            core: Arc::clone(core),
            inner: Mutex::new(inner),
            offers_link: AtomicBool::new(false),
        }
    });
    match failed {
        Some(error) => Err(error),
        None => {
            me.complete_at();
            Ok(Handle(me))
        }
    }
}

impl Inner {
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

    /// Whether suppressed requests take room, which no poll of the consumer's gives back.
    pub(super) fn has_suppressed(&self) -> bool {
        let mut work = self.conn.iter().flat_map(|conn| &conn.work);
        work.any(|item| item.flags.contains(CompletionFlags::SUPPRESS))
    }

    /// Goes on with the connection: writes, completes, ends. While a poller reads the link, the peer
    /// learns from the next frame what was executed, or when a poll finds nothing (`is_idle`).
    pub(super) fn go_on(&mut self, core: &Core, upcalls: &mut Upcalls, is_idle: bool) {
        let Some(conn) = &mut self.conn else { return };
        if conn.ending.is_none() {
            conn.pump(&mut self.side, upcalls);
        }
        if let Some(established) = conn.established.take() {
            self.phase = Phase::Connected;
            self.tell(Event::Established(established));
        }
        let Some(conn) = &mut self.conn else { return };
        if self.closing && conn.work.is_empty() {
            conn.end(How::Disconnected, Some(Reason::Graceful));
        }
        match conn.ending.take() {
            Some(ending) => self.finish(ending, core, upcalls),
            None => conn.acknowledge(conn.lent && !is_idle),
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
        if std::mem::take(&mut conn.lent) {
            self.side.queues().for_each(|queue| queue.links.take_back());
        }
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
}

impl Pair {
    /// Does something under the lock and goes on with the connection; then makes the upcalls.
    pub(super) fn work<T>(&self, act: impl FnOnce(&mut Inner, &mut Upcalls) -> T) -> T {
        self.work_under(self.inner.lock(), act)
    }

    pub(super) fn work_under<T>(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        act: impl FnOnce(&mut Inner, &mut Upcalls) -> T,
    ) -> T {
        let mut upcalls = Upcalls::default();
        let result = act(&mut inner, &mut upcalls);
        inner.go_on(&self.core, &mut upcalls, false);
        self.attend(&mut inner);
        let events = !inner.events.is_empty();
        drop(inner);
        upcalls.deliver();
        if events {
            self.deliver();
        }
        result
    }

    /// Reads what came, until a condition holds, for a moment at most: what the peer executes at
    /// once is acknowledged by then. The lock is released between reads.
    pub(super) fn read_until(&self, holds: impl Fn(&mut Inner) -> bool) {
        let until = Instant::now() + MOMENT;
        loop {
            let is_over = self.work(|inner, upcalls| {
                if inner.conn.is_none() || holds(inner) {
                    return true;
                }
                let Inner { conn: Some(conn), side, .. } = inner else { return true };
                if conn.ending.is_none() {
                    conn.read(side, upcalls);
                }
                false
            });
            if is_over || Instant::now() >= until {
                return;
            }
            std::thread::yield_now();
        }
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
                    let side = inner.side.introduce(private_data);
                    let halves = (reader, writer);
                    let way = (peer, local_port);
                    let mut conn = Conn::new(Stage::Answer, halves, token, way, side.posted);
                    let secret = self.core.transport.secret();
                    if connect::hello(&mut conn, qualifier, side, secret).is_err() {
                        conn.end(How::Refused, None);
                    }
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
            let side = inner.side.introduce(private_data.to_vec());
            inner.conn = Some(Box::new(incoming.accepted(token, &side)));
            Ok(())
        })?;
        self.core.ask(Job::Watch(token, Weak::clone(&self.me)));
        Ok(())
    }

    /// Posts a request.
    pub(super) fn post(&self, item: impl Fn(&Inner) -> Result<Item>) -> Result<()> {
        self.core.origin.check()?;
        match self.try_post(&item) {
            Posting::Done(result) => return result,
            Posting::Full { is_suppressed: false } => {}
            // Nothing that the consumer polls makes room.
            Posting::Full { .. } => self.read_until(|inner| inner.side.room.is_available()),
        }
        match self.try_post(&item) {
            Posting::Done(result) => result,
            Posting::Full { .. } => Err(no_credit()),
        }
    }

    fn try_post(&self, item: impl Fn(&Inner) -> Result<Item>) -> Posting {
        self.work(|inner, upcalls| {
            match inner.phase {
                Phase::Connected if !inner.closing && !inner.retired => {}
                Phase::Disconnected => {}
                _ => return Posting::Done(Err(inner.refusal())),
            }
            if !inner.side.room.try_take() {
                // What the peer has acknowledged may make room.
                if let Some(conn) = inner.conn.as_mut().filter(|conn| conn.ending.is_none()) {
                    conn.read(&mut inner.side, upcalls);
                }
                return Posting::Full { is_suppressed: inner.has_suppressed() };
            }
            let item = match item(inner) {
                Ok(item) => item,
                Err(error) => {
                    inner.side.room.give_back();
                    return Posting::Done(Err(error));
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
            Posting::Done(Ok(()))
        })
    }
}

/// What became of a post.
enum Posting {
    Done(Result<()>),
    /// There is no credit; whether requests hold it whose completions are not reported.
    Full {
        is_suppressed: bool,
    },
}
