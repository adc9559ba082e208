//! Which thread reads the link of a queue pair: that of the engine, or the pollers of the completion
//! queues, to which the engine lends it while they poll.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};

use super::conn::Conn;
use super::core::Job;
use super::pair::{Inner, Pair};
use super::side::Side;
use crate::completion_queue::Cq;
use crate::polled_links::PolledLink;
use crate::upcalls::Upcalls;

/// For how long a link is not lent after a request of the peer had to wait for a poll.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// What the thread does about a link at which something arrived.
pub(super) enum Lease {
    /// It waits for more.
    Kept,
    /// It goes on at once: more was received than it read.
    Again,
    /// It leaves the link to a poller, and looks whether that one polls.
    Lent,
}

impl Side {
    /// The completion queues, each once.
    pub(super) fn queues(&self) -> impl Iterator<Item = &Arc<Cq>> {
        let (one, other) = (self.requests.queue(), self.receives.outlet.queue());
        std::iter::once(one).chain((!Arc::ptr_eq(one, other)).then_some(other))
    }

    /// How often they were polled, modulo 2^64.
    fn polls(&self) -> u64 {
        self.queues().fold(0, |sum, queue| sum.wrapping_add(queue.links.polls()))
    }
}

impl Conn {
    /// What the thread waits for.
    fn interest(&self) -> EventFlags {
        let arrivals =
            if self.lent || self.failed.is_some() { EventFlags::empty() } else { EventFlags::IN };
        let room = if self.full && !self.dead { self.room } else { EventFlags::empty() };
        arrivals | room
    }

    /// Tells the link whether a thread waits for its descriptor: that of the engine, or a poller
    /// that asks many links only when they are readable.
    fn arm(&mut self, side: &Side) {
        let armed = !self.lent || self.full || side.queues().any(|queue| queue.links.watches());
        if std::mem::replace(&mut self.armed, armed) != armed {
            self.more |= self.reader.as_mut().is_some_and(|reader| reader.arm(armed));
        }
    }

    /// Lends the link, if pollers read it now. Returns whether it is lent.
    fn lend(&mut self, side: &Side) -> bool {
        let polls = side.polls();
        let is_polled = std::mem::replace(&mut self.polls, polls) != polls;
        if !is_polled || self.kept_until.is_some_and(|until| Instant::now() < until) {
            return false;
        }
        let refused = side.queues().position(|queue| !queue.links.lend());
        if let Some(refused) = refused {
            side.queues().take(refused).for_each(|queue| queue.links.take_back());
            return false;
        }
        self.lent = true;
        true
    }

    /// A poller stopped. If a request of the peer had to wait for it, it polls too rarely.
    fn distrust(&mut self, is_late: bool) {
        if is_late {
            self.kept_for = (self.kept_for * 2).clamp(SHORTEST, LONGEST);
            self.kept_until = Some(Instant::now() + self.kept_for);
        } else {
            self.kept_for = Duration::ZERO;
        }
    }

    fn take_back(&mut self, side: &Side) {
        if std::mem::take(&mut self.lent) {
            side.queues().for_each(|queue| queue.links.take_back());
        }
    }
}

impl Pair {
    /// Has the thread wait for the link of a connection. Returns whether it is there.
    pub(super) fn watch(&self, token: u64) -> bool {
        let mut inner = self.inner.lock();
        let Some(conn) = inner.conn.as_mut().filter(|conn| conn.token == token) else {
            return false;
        };
        conn.watched = Some(EventFlags::IN);
        let is_there = conn.reader.as_ref().and_then(|reader| {
            let descriptor = reader.descriptor()?;
            Some(self.core.watch(descriptor, token, EventFlags::IN))
        });
        self.attend(&mut inner);
        drop(inner);
        self.inner_queues().iter().for_each(|queue| queue.links.linked(&self.source()));
        is_there.is_some()
    }

    /// Has the thread wait for what the connection needs now, and go on with what it has.
    pub(super) fn attend(&self, inner: &mut Inner) {
        let Inner { conn: Some(conn), side, .. } = inner else { return };
        conn.arm(side);
        let interest = conn.interest();
        if conn.watched.is_some_and(|watched| watched != interest) {
            conn.watched = Some(interest);
            let reader = conn.reader.as_ref();
            if let Some(descriptor) = reader.and_then(|reader| reader.descriptor()) {
                self.core.watch(descriptor, conn.token, interest);
            }
        }
        if conn.more && !conn.lent && !std::mem::replace(&mut conn.listed, true) {
            self.core.ask(Job::Look(Weak::clone(&self.me)));
        }
    }

    /// Reads what came, for the thread, or lends the link.
    pub(super) fn progress(&self) -> Lease {
        let Some(inner) = self.inner.try_lock() else {
            // A poller that polls without a pause would keep the thread out.
            self.offers_link.store(true, Ordering::Relaxed);
            std::thread::yield_now();
            return Lease::Lent;
        };
        let mut lease = Lease::Kept;
        self.work_under(inner, |inner, upcalls| {
            let Inner { conn: Some(conn), side, .. } = inner else { return };
            conn.listed = false;
            if conn.ending.is_some() {
                return;
            }
            if !conn.lent && conn.is_open() && conn.lend(side) {
                lease = Lease::Lent;
                return;
            }
            conn.read(side, upcalls);
            if conn.more {
                conn.listed = true;
                lease = Lease::Again;
            }
        });
        lease
    }

    /// Takes the link back if its pollers have not polled since the last look. Returns whether it
    /// is lent still.
    pub(super) fn stays_lent(&self) -> bool {
        // A poller is inside.
        let Some(inner) = self.inner.try_lock() else { return true };
        self.work_under(inner, |inner, upcalls| {
            self.offers_link.store(false, Ordering::Relaxed);
            let Inner { conn: Some(conn), side, .. } = inner else { return false };
            if !conn.lent {
                return false;
            }
            let polls = side.polls();
            if std::mem::replace(&mut conn.polls, polls) != polls {
                return true;
            }
            conn.take_back(side);
            if conn.ending.is_none() {
                let executed = conn.executed;
                conn.read(side, upcalls);
                conn.distrust(executed != conn.executed);
            }
            false
        })
    }

    /// Adds it to the sources of its completion queues.
    pub(super) fn complete_at(&self) {
        self.inner_queues().iter().for_each(|queue| queue.links.add(self.source()));
    }

    fn inner_queues(&self) -> Vec<Arc<Cq>> {
        self.inner.lock().side.queues().map(Arc::clone).collect()
    }

    fn source(&self) -> Weak<dyn PolledLink> {
        let me: Weak<Self> = Weak::clone(&self.me);
        me
    }

    /// Drops a reference that a poller used. The last one is dropped by the thread.
    fn let_go(self: Arc<Self>) {
        let core = Arc::clone(&self.core);
        if let Some(last) = Arc::into_inner(self) {
            core.ask(Job::Drop(Box::new(last)));
        }
    }

    fn poll_once(&self) -> bool {
        if !self.core.origin.is_here() {
            return false;
        }
        let mut inner = self.inner.lock();
        let mut upcalls = Upcalls::default();
        let Inner { conn: Some(conn), side, .. } = &mut *inner else { return false };
        if conn.ending.is_some() {
            return false;
        }
        if self.offers_link.load(Ordering::Relaxed) && !conn.lent && conn.is_open() {
            self.offers_link.store(false, Ordering::Relaxed);
            conn.lend(side);
        }
        let told = (conn.executed, conn.peer_done);
        conn.read(side, &mut upcalls);
        // A reply of the consumer may carry the acknowledgement.
        let is_idle = (conn.executed, conn.peer_done) == told;
        inner.go_on(&self.core, &mut upcalls, is_idle);
        self.attend(&mut inner);
        let again = inner.conn.as_ref().is_some_and(|conn| conn.more || conn.owes());
        self.leave(inner, upcalls);
        again
    }
}

impl PolledLink for Pair {
    fn poll(self: Arc<Self>) -> bool {
        let again = self.poll_once();
        self.let_go();
        again
    }

    fn give_back(self: Arc<Self>) {
        if self.core.origin.is_here() {
            let mut inner = self.inner.lock();
            let inner_now = &mut *inner;
            if let Some(conn) = inner_now.conn.as_mut().filter(|conn| conn.lent) {
                conn.take_back(&inner_now.side);
                conn.acknowledge(false);
                self.attend(inner_now);
            }
            drop(inner);
        }
        self.let_go();
    }

    fn join(self: Arc<Self>, set: BorrowedFd<'_>, key: u64) {
        let inner = self.inner.lock();
        let reader = inner.conn.as_ref().and_then(|conn| conn.reader.as_ref());
        if let Some(descriptor) = reader.and_then(|reader| reader.descriptor()) {
            let data = epoll::EventData::new_u64(key);
            let _ = epoll::add(set, descriptor, data, EventFlags::IN);
        }
        drop(inner);
        self.let_go();
    }
}
