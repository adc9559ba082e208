//! The links of the queue pairs that complete through a completion queue. A poll of an empty completion
//! queue reads them.
//!
//! Up to two links are read by each poll. Of more, each poll reads the two that receive most, the *hot*
//! ones, and those whose [doorbells](crate::doorbell) have rung. Links without a doorbell are watched by
//! an epoll set.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustix::event::{Timespec, epoll};
use slab::Slab;

use crate::doorbell::{Doorbell, Doorbells};
use crate::fork::Guard;

mod hot;

use hot::{HotLinks, Rings};

/// A queue pair whose operations may complete when its link is read.
pub trait PolledLink: Send + Sync {
    /// Reads the link and executes the requests of the peer. The caller holds locks, so no upcall is
    /// made, and another thread drops the queue pair if this is the last reference.
    fn poll(self: Arc<Self>, visit: Visit) -> Found;

    /// Returns the link to the thread of the engine, because the poller is about to sleep. The caller
    /// holds locks, as for [`PolledLink::poll`].
    fn give_back(self: Arc<Self>);

    /// How a poller learns that data has arrived; nothing while there is no link.
    fn signal(self: Arc<Self>) -> Option<Signal>;

    /// Adds the descriptor of the link, if it has one, to an epoll set.
    fn join(self: Arc<Self>, set: BorrowedFd<'_>, key: u64);
}

/// A poll of one link.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// The number of the completion queue.
    pub queue: u32,
    /// Every poll of this completion queue reads the link, until one says otherwise.
    pub is_hot: bool,
}

/// The result of [`PolledLink::poll`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// The next poll must read the link again even if nothing arrives.
    pub again: bool,
    /// Changes when requests arrive or complete, in polls and in the thread.
    pub activity: u32,
}

/// How a poller learns that a link has received data.
#[derive(Clone, Debug)]
pub enum Signal {
    /// The peer rings.
    Doorbell(Arc<Doorbell>),
    /// The descriptor is readable.
    Descriptor,
}

/// The links of one completion queue.
pub struct PolledLinks {
    list: Mutex<List>,
    polls: AtomicU64,
    /// Identifies the completion queue among those of the process.
    number: u32,
    /// A waiter sleeps, so that the poller reads no links.
    is_awaited: AtomicBool,
    /// Whether polls read only some of the links.
    is_selective: AtomicBool,
    /// Number of links that the poller reads.
    lent: AtomicU32,
    /// Links that another completion queue made hot, and whether there are any.
    suggested: Mutex<Vec<Weak<dyn PolledLink>>>,
    has_suggested: AtomicBool,
}

#[derive(Default)]
struct List {
    all: Slab<Entry>,
    /// Links that the next polls read in any case.
    again: VecDeque<usize>,
    /// Links of which nothing says when data has arrived. Each poll reads them.
    blind: Vec<usize>,
    doorbells: Doorbells,
    hot: HotLinks,
    rings: Rings,
    /// Polls in a row that read only links known to be active.
    skipped: u32,
    /// The epoll set of the links without doorbells, created before descriptors may be scarce.
    set: Option<(OwnedFd, Guard)>,
    /// Whether such a link was added to the set.
    is_set_used: bool,
    /// With this many entries, those of dropped queue pairs are removed.
    tidy_threshold: usize,
}

struct Entry {
    link: Weak<dyn PolledLink>,
    doorbell: Option<Arc<Doorbell>>,
    /// It is in `again`.
    is_queued: bool,
    /// How often its doorbell rang lately.
    rings: u8,
}

/// Maximum number of links that are all read by each poll.
const MAX_UNSELECTED: usize = 2;
/// Maximum number of polls in a row that read only active links.
const MAX_SKIPPED: u32 = 4;
/// Maximum number of links that one poll reads besides the hot ones.
const MAX_PER_POLL: usize = 16;

impl Default for PolledLinks {
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            list: Mutex::default(),
            polls: AtomicU64::new(0),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_awaited: AtomicBool::new(false),
            is_selective: AtomicBool::new(false),
            lent: AtomicU32::new(0),
            suggested: Mutex::default(),
            has_suggested: AtomicBool::new(false),
        }
    }
}

impl PolledLinks {
    /// Adds a queue pair.
    pub fn add(&self, link: Weak<dyn PolledLink>) {
        let mut list = self.list.lock();
        list.tidy();
        if list.all.iter().any(|(_, one)| Weak::ptr_eq(&one.link, &link)) {
            return;
        }
        list.all.insert(Entry { link, doorbell: None, is_queued: false, rings: 0 });
        if list.all.len() > MAX_UNSELECTED && !self.is_selective() {
            self.is_selective.store(true, Ordering::Relaxed);
            list.create_set();
            let keys: Vec<usize> = list.all.iter().map(|(key, _)| key).collect();
            for key in keys {
                list.watch(key);
                // The next poll reads it, so that it notices the change.
                list.read_again(key);
            }
        }
    }

    /// The number of the completion queue, for [`Visit`].
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether polls read only the hot links, and those that have received data.
    pub fn is_selective(&self) -> bool {
        self.is_selective.load(Ordering::Relaxed)
    }

    /// A queue pair has a new link.
    pub fn linked(&self, link: &Weak<dyn PolledLink>) {
        if !self.is_selective() {
            return;
        }
        let mut list = self.list.lock();
        let found = list.all.iter().find(|(_, one)| Weak::ptr_eq(&one.link, link));
        if let Some((key, _)) = found {
            list.watch(key);
        }
    }

    /// Makes the next poll add a link to the hot ones.
    pub fn suggest(&self, link: Weak<dyn PolledLink>) {
        self.suggested.lock().push(link);
        self.has_suggested.store(true, Ordering::Release);
    }

    /// Reads the links. Returns whether there are any.
    pub fn poll(&self) -> bool {
        let mut list = self.list.lock();
        if list.all.is_empty() {
            return false;
        }
        let count = self.polls.load(Ordering::Relaxed);
        self.polls.store(count.wrapping_add(1), Ordering::Relaxed);
        if self.is_selective() {
            if self.has_suggested.load(Ordering::Acquire) {
                self.take_suggested(&mut list);
            }
            list.poll(self.number);
        } else {
            let visit = Visit { queue: self.number, is_hot: true };
            for (_, Entry { link, .. }) in &list.all {
                if let Some(link) = link.upgrade() {
                    link.poll(visit);
                }
            }
        }
        true
    }

    #[cold]
    fn take_suggested(&self, list: &mut List) {
        self.has_suggested.store(false, Ordering::Relaxed);
        let suggested = std::mem::take(&mut *self.suggested.lock());
        for link in suggested {
            list.heat(&link);
        }
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
            let links = list.all.iter().filter_map(|(_, one)| one.link.upgrade());
            links.for_each(PolledLink::give_back);
        }
    }
}

impl List {
    fn tidy(&mut self) {
        if self.all.len() < self.tidy_threshold {
            return;
        }
        let doorbells = &mut self.doorbells;
        self.all.retain(|_, one| {
            let is_live = one.link.strong_count() > 0;
            if let Some(doorbell) = one.doorbell.as_ref().filter(|_| !is_live) {
                doorbells.remove(doorbell);
            }
            is_live
        });
        let is_live = |key: &usize| self.all.contains(*key);
        self.again.retain(is_live);
        self.blind.retain(is_live);
        self.tidy_threshold = (self.all.len() * 2).max(MAX_PER_POLL);
    }

    /// Learns from the link of an entry how it says that data has arrived.
    fn watch(&mut self, key: usize) {
        let Some(entry) = self.all.get_mut(key) else { return };
        let Some(signal) = entry.link.upgrade().map(PolledLink::signal) else { return };
        if let Some(old) = entry.doorbell.take() {
            self.doorbells.remove(&old);
        }
        match signal {
            None => {}
            Some(Signal::Doorbell(doorbell)) => {
                self.doorbells.insert(&doorbell, key);
                entry.doorbell = Some(doorbell);
            }
            Some(Signal::Descriptor) => {
                match (entry.link.upgrade(), &self.set) {
                    (Some(link), Some((set, _))) => link.join(set.as_fd(), key as u64),
                    _ => self.blind.push(key),
                }
                self.is_set_used = true;
            }
        }
    }

    /// Creates the set. Without it, polls read the links without doorbells one by one.
    #[cold]
    fn create_set(&mut self) {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC).ok();
        self.set = set.map(|set| (Guard::new(set.as_fd()), set)).map(|(guard, set)| (set, guard));
    }

    fn read_again(&mut self, key: usize) {
        queue(&mut self.all, &mut self.again, key);
    }

    /// Adds a link to the hot ones, or reads it so that it learns that it is none.
    fn heat(&mut self, link: &Weak<dyn PolledLink>) {
        let found = self.all.iter().find(|(_, one)| Weak::ptr_eq(&one.link, link));
        if let Some((key, _)) = found {
            self.hot.add(key, link);
            self.read_again(key);
        }
    }

    fn poll(&mut self, number: u32) {
        let (is_active, cooled) = self.hot.poll(number);
        if let Some(cooled) = cooled {
            self.read_again(cooled);
        }
        // A completion is likely to be there. The others have their turn soon.
        self.skipped += 1;
        if !is_active || self.skipped > MAX_SKIPPED {
            self.skipped = 0;
            self.collect();
        }
        let Self { all, again, hot, .. } = self;
        for _ in 0..again.len().min(MAX_PER_POLL) {
            let Some(key) = again.pop_front() else { return };
            let Some(entry) = all.get_mut(key) else { continue };
            entry.is_queued = false;
            let visit = Visit { queue: number, is_hot: hot.contains(key) };
            if entry.link.upgrade().is_some_and(|link| link.poll(visit).again) {
                queue(all, again, key);
            }
        }
    }

    /// Queues the links that have received data.
    fn collect(&mut self) {
        let Self { all, again, blind, doorbells, hot, set, is_set_used, rings, .. } = self;
        doorbells.take(|key| {
            queue(all, again, key);
            if all.get_mut(key).is_some_and(|entry| rings.is_often(entry)) {
                hot.toggle(key, &all[key].link);
            }
        });
        rings.age(all);
        blind.iter().for_each(|key| queue(all, again, *key));
        if let Some((set, _)) = set.as_ref().filter(|_| *is_set_used) {
            let mut events = [const { MaybeUninit::uninit() }; MAX_PER_POLL];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if let Ok((events, _)) = epoll::wait(set, &mut events, Some(&now)) {
                events.iter().for_each(|event| queue(all, again, event.data.u64() as usize));
            }
        }
    }
}

/// Makes a poll read a link.
fn queue(all: &mut Slab<Entry>, again: &mut VecDeque<usize>, key: usize) {
    let Some(entry) = all.get_mut(key) else { return };
    if !std::mem::replace(&mut entry.is_queued, true) {
        again.push_back(key);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
