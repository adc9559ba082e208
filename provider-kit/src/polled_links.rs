//! The queue pairs that complete at a completion queue and reach their peers through links: a poll
//! that finds nothing to take reads those links.
//!
//! Few links are asked one by one; more are watched by a set (epoll), and only those are read at
//! which something arrived.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::event::{Timespec, epoll};
use slab::Slab;

use crate::fork::Guard;

/// A queue pair that can complete more when its link is read.
pub trait PolledLink: Send + Sync {
    /// Executes what came from the peer. Returns whether the next poll is to ask again although
    /// nothing arrives. No upcall is made, and if this is the last reference, the queue pair is
    /// dropped elsewhere: the caller holds locks.
    fn poll(self: Arc<Self>) -> bool;

    /// Gives the link back to the thread of the engine: the poller is going to sleep. As for
    /// [`PolledLink::poll`], the caller holds locks.
    fn give_back(self: Arc<Self>);

    /// Adds the descriptor of its link, if it has one, to a set.
    fn join(self: Arc<Self>, set: BorrowedFd<'_>, key: u64);
}

/// The queue pairs of one completion queue.
#[derive(Default)]
pub struct PolledLinks {
    list: Mutex<List>,
    polls: AtomicU64,
    is_awaited: AtomicBool,
    /// There is a set.
    watches: AtomicBool,
    lent: AtomicU32,
}

#[derive(Default)]
struct List {
    all: Slab<Weak<dyn PolledLink>>,
    /// PolledLinks that the next poll asks in any case.
    again: Vec<usize>,
    /// The set that watches all links, once there are several.
    set: Option<(OwnedFd, Guard)>,
    /// With this many entries, those that are gone are removed.
    patience: usize,
}

/// Up to this many links are asked one by one.
const FEW: usize = 2;
/// At most this many links are read in one poll.
const AT_ONCE: usize = 16;

impl PolledLinks {
    /// Adds a queue pair.
    pub fn add(&self, source: Weak<dyn PolledLink>) {
        let mut list = self.list.lock();
        list.tidy();
        if list.all.iter().any(|(_, one)| Weak::ptr_eq(one, &source)) {
            return;
        }
        list.all.insert(source);
        if list.all.len() > FEW && list.set.is_none() {
            list.make_set();
            self.watches.store(list.set.is_some(), Ordering::Relaxed);
        }
    }

    /// Whether the poller asks only the links whose descriptors are readable.
    pub fn watches(&self) -> bool {
        self.watches.load(Ordering::Relaxed)
    }

    /// A queue pair has a new link.
    pub fn linked(&self, source: &Weak<dyn PolledLink>) {
        let list = self.list.lock();
        let Some((set, _)) = &list.set else { return };
        let found = list.all.iter().find(|(_, one)| Weak::ptr_eq(one, source));
        if let Some((key, source)) = found.and_then(|(key, one)| Some((key, one.upgrade()?))) {
            source.join(set.as_fd(), key as u64);
        }
    }

    /// Has the queue pairs read their links. Returns whether there are any.
    pub fn poll(&self) -> bool {
        let mut list = self.list.lock();
        if list.all.is_empty() {
            return false;
        }
        let count = self.polls.load(Ordering::Relaxed);
        self.polls.store(count.wrapping_add(1), Ordering::Relaxed);
        list.poll();
        true
    }

    /// How often the poller has read the links, modulo 2^64.
    #[must_use]
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Lends the poller one more link. Returns whether the poller reads it: it does not while a
    /// waiter sleeps.
    #[must_use]
    pub fn lend(&self) -> bool {
        // Before the check, as the poller looks in the other order.
        self.lent.fetch_add(1, Ordering::SeqCst);
        let reads = !self.is_awaited.load(Ordering::SeqCst);
        if !reads {
            self.take_back();
        }
        reads
    }

    /// The poller reads one link less.
    pub fn take_back(&self) {
        self.lent.fetch_sub(1, Ordering::SeqCst);
    }

    /// A waiter is going to sleep, or has awoken. Before it sleeps, the thread of the engine gets
    /// all links back.
    pub fn await_completions(&self, is_awaited: bool) {
        self.is_awaited.store(is_awaited, Ordering::SeqCst);
        if is_awaited && self.lent.load(Ordering::SeqCst) > 0 {
            let list = self.list.lock();
            list.all
                .iter()
                .filter_map(|(_, source)| source.upgrade())
                .for_each(PolledLink::give_back);
        }
    }
}

impl List {
    fn tidy(&mut self) {
        if self.all.len() >= self.patience {
            self.all.retain(|_, source| source.strong_count() > 0);
            self.patience = (self.all.len() * 2).max(AT_ONCE);
        }
    }

    /// Without a set, all links are asked one by one.
    #[cold]
    fn make_set(&mut self) {
        let Ok(set) = epoll::create(epoll::CreateFlags::CLOEXEC) else { return };
        let guard = Guard::new(set.as_fd());
        for (key, source) in &self.all {
            if let Some(source) = source.upgrade() {
                source.join(set.as_fd(), key as u64);
            }
        }
        self.set = Some((set, guard));
        // Links learn of it when they are asked for the next time.
        self.again = self.all.iter().map(|(key, _)| key).collect();
    }

    fn poll(&mut self) {
        let Self { all, again, set, .. } = self;
        let Some((set, _)) = set else {
            all.iter().filter_map(|(_, source)| source.upgrade()).for_each(|source| {
                source.poll();
            });
            return;
        };
        let ask = |key: usize, again: &mut Vec<usize>| {
            let source = all.get(key).and_then(Weak::upgrade);
            if source.is_some_and(PolledLink::poll) && !again.contains(&key) {
                again.push(key);
            }
        };
        for _ in 0..again.len().min(AT_ONCE) {
            let key = again.swap_remove(0);
            ask(key, again);
        }
        let mut events = [const { std::mem::MaybeUninit::uninit() }; AT_ONCE];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&*set, &mut events, Some(&now)) else { return };
        for event in &*events {
            ask(event.data.u64() as usize, again);
        }
    }
}
