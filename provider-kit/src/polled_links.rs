//! The links of the queue pairs that complete through a completion queue. A poll of an empty completion
//! queue reads them.
//!
//! Up to two links are read one by one. More are watched by an epoll set, and only those are read where
//! data has arrived.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::event::{Timespec, epoll};
use slab::Slab;

use crate::fork::Guard;

/// A queue pair whose operations may complete when its link is read.
pub trait PolledLink: Send + Sync {
    /// Reads the link and executes the requests of the peer. Returns whether the next poll must read it
    /// again even if nothing arrives. The caller holds locks, so no upcall is made, and another thread
    /// drops the queue pair if this is the last reference.
    fn poll(self: Arc<Self>) -> bool;

    /// Returns the link to the thread of the engine, because the poller is about to sleep. The caller
    /// holds locks, as for [`PolledLink::poll`].
    fn give_back(self: Arc<Self>);

    /// Adds the descriptor of the link, if it has one, to an epoll set.
    fn join(self: Arc<Self>, set: BorrowedFd<'_>, key: u64);
}

/// The links of one completion queue.
#[derive(Default)]
pub struct PolledLinks {
    list: Mutex<List>,
    polls: AtomicU64,
    /// A waiter sleeps, so that the poller reads no links.
    is_awaited: AtomicBool,
    /// Whether there is an epoll set.
    watches: AtomicBool,
    /// Number of links that the poller reads.
    lent: AtomicU32,
}

#[derive(Default)]
struct List {
    all: Slab<Weak<dyn PolledLink>>,
    /// Links that the next poll reads in any case.
    again: Vec<usize>,
    /// The epoll set of all links, once there are more than [`MAX_UNWATCHED`].
    set: Option<(OwnedFd, Guard)>,
    /// With this many entries, those of dropped queue pairs are removed.
    tidy_threshold: usize,
}

/// Maximum number of links that are read one by one.
const MAX_UNWATCHED: usize = 2;
/// Maximum number of links that one poll reads from the set.
const MAX_PER_POLL: usize = 16;

impl PolledLinks {
    /// Adds a queue pair.
    pub fn add(&self, link: Weak<dyn PolledLink>) {
        let mut list = self.list.lock();
        list.tidy();
        if list.all.iter().any(|(_, one)| Weak::ptr_eq(one, &link)) {
            return;
        }
        list.all.insert(link);
        if list.all.len() > MAX_UNWATCHED && list.set.is_none() {
            list.make_set();
            self.watches.store(list.set.is_some(), Ordering::Relaxed);
        }
    }

    /// Whether polls read only the links whose descriptors are readable.
    pub fn watches(&self) -> bool {
        self.watches.load(Ordering::Relaxed)
    }

    /// A queue pair has a new link.
    pub fn linked(&self, link: &Weak<dyn PolledLink>) {
        let list = self.list.lock();
        let Some((set, _)) = &list.set else { return };
        let found = list.all.iter().find(|(_, one)| Weak::ptr_eq(one, link));
        if let Some((key, link)) = found.and_then(|(key, one)| Some((key, one.upgrade()?))) {
            link.join(set.as_fd(), key as u64);
        }
    }

    /// Reads the links. Returns whether there are any.
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

    /// Number of polls that have read links, modulo 2^64.
    #[must_use]
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Lends one more link to the poller. Returns false, without lending it, while a waiter sleeps.
    #[must_use]
    pub fn lend(&self) -> bool {
        // Stored before the check; `await_completions` stores and checks in the other order.
        self.lent.fetch_add(1, Ordering::SeqCst);
        let is_lent = !self.is_awaited.load(Ordering::SeqCst);
        if !is_lent {
            self.take_back();
        }
        is_lent
    }

    /// Takes a link back from the poller.
    pub fn take_back(&self) {
        self.lent.fetch_sub(1, Ordering::SeqCst);
    }

    /// A waiter is about to sleep, or has woken up. Before it sleeps, all links return to the thread of
    /// the engine.
    pub fn await_completions(&self, is_awaited: bool) {
        self.is_awaited.store(is_awaited, Ordering::SeqCst);
        if is_awaited && self.lent.load(Ordering::SeqCst) > 0 {
            let list = self.list.lock();
            list.all.iter().filter_map(|(_, link)| link.upgrade()).for_each(PolledLink::give_back);
        }
    }
}

impl List {
    fn tidy(&mut self) {
        if self.all.len() >= self.tidy_threshold {
            self.all.retain(|_, link| link.strong_count() > 0);
            self.tidy_threshold = (self.all.len() * 2).max(MAX_PER_POLL);
        }
    }

    /// Creates the set. If that fails, all links are read one by one.
    #[cold]
    fn make_set(&mut self) {
        let Ok(set) = epoll::create(epoll::CreateFlags::CLOEXEC) else { return };
        let guard = Guard::new(set.as_fd());
        for (key, link) in &self.all {
            if let Some(link) = link.upgrade() {
                link.join(set.as_fd(), key as u64);
            }
        }
        self.set = Some((set, guard));
        // The next poll reads every link, so that each notices the set.
        self.again = self.all.iter().map(|(key, _)| key).collect();
    }

    fn poll(&mut self) {
        let Self { all, again, set, .. } = self;
        let Some((set, _)) = set else {
            all.iter().filter_map(|(_, link)| link.upgrade()).for_each(|link| {
                link.poll();
            });
            return;
        };
        let read = |key: usize, again: &mut Vec<usize>| {
            let link = all.get(key).and_then(Weak::upgrade);
            if link.is_some_and(PolledLink::poll) && !again.contains(&key) {
                again.push(key);
            }
        };
        for _ in 0..again.len().min(MAX_PER_POLL) {
            let key = again.swap_remove(0);
            read(key, again);
        }
        let mut events = [const { std::mem::MaybeUninit::uninit() }; MAX_PER_POLL];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&*set, &mut events, Some(&now)) else { return };
        for event in &*events {
            read(event.data.u64() as usize, again);
        }
    }
}
