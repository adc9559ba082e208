//! What the objects of an adapter share.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dat_provider::ListenSink;
use dat_provider::error::Result;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, epoll, eventfd};

use super::conn::Conn;
use super::connect::no_thread;
use super::linger::Lingering;
use super::pair::Pair;
use super::thread::Thread;
use super::transport::{Acceptor, Transport};
use crate::fork::{Guard, Origin};
use crate::frame::{Body, Frame, Reason};
use crate::link::Reader;
use crate::upcalls::Upcalls;

/// What the objects of an adapter own together. Its end is the end of the thread.
pub(super) struct Core(Arc<Shared>);

/// What the objects and the thread share.
pub(super) struct Shared {
    pub(super) transport: Box<dyn Transport>,
    pub(super) origin: Origin,
    jobs: Mutex<Vec<Job>>,
    is_rung: AtomicBool,
    is_closed: AtomicBool,
    tokens: AtomicU64,
    _guards: [Guard; 2],
    bell: OwnedFd,
    /// What the thread waits on.
    pub(super) set: OwnedFd,
}

/// What the thread is asked to do.
pub(super) enum Job {
    /// Watch the link of a queue pair.
    Watch(u64, Weak<Pair>),
    /// Go on with a queue pair: frames are left that were received already.
    Look(Weak<Pair>),
    /// Make upcalls that a poller could not make.
    Deliver(Weak<Pair>, Upcalls),
    /// Drop a queue pair, which a poller could not do under its locks.
    Drop(Box<Pair>),
    /// Accept what a listener hears.
    Listen(Arc<Door>),
    Linger(u64, Lingering),
    Forget(u64),
}

/// A listener as the thread knows it.
pub(super) struct Door {
    pub(super) token: u64,
    pub(super) qualifier: u64,
    pub(super) open: Mutex<Option<Open>>,
}

/// What an open listener has.
pub(super) type Open = (Box<dyn Acceptor>, Arc<dyn ListenSink>);

/// What the bell is known by.
pub(super) const BELL: u64 = 0;

impl Core {
    /// Starts the thread, which ends with the core.
    pub(super) fn start(transport: Box<dyn Transport>) -> Result<Arc<Self>> {
        let failed = |errno: rustix::io::Errno| no_thread(&errno.into());
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let set = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let shared = Arc::new(Shared {
            transport,
            origin: Origin::here(),
            jobs: Mutex::default(),
            is_rung: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            tokens: AtomicU64::new(BELL + 1),
            _guards: [Guard::new(bell.as_fd()), Guard::new(set.as_fd())],
            bell,
            set,
        });
        shared.watch(shared.bell.as_fd(), BELL, epoll::EventFlags::IN);
        let core = Arc::new(Self(Arc::clone(&shared)));
        let thread = Thread::new(shared, Arc::downgrade(&core));
        std::thread::Builder::new()
            .name("dat-progress".to_owned())
            .spawn(move || thread.run())
            .map_err(|error| no_thread(&error))?;
        Ok(core)
    }
}

impl Deref for Core {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        self.ring();
    }
}

impl Shared {
    pub(super) fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks the thread. A child of `fork` has none.
    pub(super) fn ask(&self, job: Job) {
        if self.origin.is_here() {
            self.jobs.lock().push(job);
            self.ring();
        }
    }

    fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// What the thread was asked since the last call.
    pub(super) fn jobs(&self) -> Vec<Job> {
        if self.is_rung.load(Ordering::Relaxed) {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
            self.is_rung.store(false, Ordering::Release);
        }
        std::mem::take(&mut *self.jobs.lock())
    }

    /// Whether all objects are gone: nothing more is asked.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire) && self.jobs.lock().is_empty()
    }

    /// Has the thread wait for a descriptor, or changes what for.
    pub(super) fn watch(
        &self,
        descriptor: BorrowedFd<'_>,
        token: u64,
        interest: epoll::EventFlags,
    ) -> bool {
        let data = epoll::EventData::new_u64(token);
        match epoll::add(&self.set, descriptor, data, interest) {
            Err(rustix::io::Errno::EXIST) => {
                epoll::modify(&self.set, descriptor, data, interest).is_ok()
            }
            added => added.is_ok(),
        }
    }

    /// Has the thread wait for a link no longer.
    pub(super) fn forget_link(&self, reader: &dyn Reader) {
        if let Some(descriptor) = reader.descriptor() {
            let _ = epoll::delete(&self.set, descriptor);
        }
    }

    /// Tells the peer of the end and closes the link when it has heard of it.
    pub(super) fn linger(&self, mut conn: Conn, tell: Option<Reason>) {
        let last = tell.map(|reason| Body::End { reason });
        let last = last.filter(|body| !conn.write(*body, &[])).filter(|_| !conn.dead);
        let token = conn.token;
        let Conn { reader: Some(reader), writer, executed, posted, .. } = conn else { return };
        let last = last.map(|body| Frame { done: executed, posted, ..Frame::new(body) });
        let mut lingering = Lingering::new(reader, writer, last);
        if lingering.advance() {
            self.ask(Job::Linger(token, lingering));
        } else {
            self.forget_link(&*lingering.reader);
            self.ask(Job::Forget(token));
        }
    }
}
