//! The links of the queue pairs that complete through a completion queue. A poll of an empty completion
//! queue reads them.
//!
//! Each poll reads up to two links. If there are more, it reads the two busiest, the *hot* links, and those whose
//! [doorbells](crate::doorbell) have rung. An epoll set watches links without a doorbell.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dat_provider::SleepTarget;
use dat_sync::Mutex;

use crate::doorbell::Doorbell;
use crate::sync::BiasedLock;

mod hot;
pub(crate) mod leases;
mod list;
#[cfg(test)]
pub(crate) mod quiet_link;

use leases::Leases;
use list::List;

/// A queue pair whose operations may complete when its link is read. The caller of each method holds the
/// lock of the list, so no method makes an upcall.
pub trait PolledLink: Send + Sync {
    /// Reads the link and executes the requests of the peer.
    fn poll(&self, info: PollInfo) -> PollOutcome;

    /// Returns the link to the thread of the engine, because the poller is about to sleep or does not poll any more.
    fn give_back(&self);

    /// A waiter is about to sleep. Returns the descriptor or a word of the link if the waiter may sleep on it and then
    /// read the link, for whose data no other thread is woken until [`end_sleep`](Self::end_sleep). `is_again` is true
    /// if the same waiter had such an object for its last sleep.
    fn begin_sleep(&self, _is_again: bool) -> Option<SleepTarget> {
        None
    }

    /// The waiter sleeps no more on the link. The caller need not hold the lock of the list.
    fn end_sleep(&self) {}

    /// How a poller detects data on the link; `None` while there is no link.
    fn signal(&self) -> Option<Signal>;

    /// Adds the descriptor of the link, if it has one, to an epoll set. Returns false if the system refuses.
    fn join(&self, set: BorrowedFd<'_>, key: u64) -> bool;
}

/// A poll of one link.
#[derive(Clone, Copy, Debug)]
pub struct PollInfo {
    /// The number of the completion queue.
    pub queue: u32,
    /// Every poll of this completion queue reads the link, until one says otherwise.
    pub is_hot: bool,
}

/// The result of [`PolledLink::poll`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PollOutcome {
    /// The next poll must read the link again even if nothing arrives.
    pub again: bool,
    /// Changes when requests arrive or complete, in polls and in the thread.
    pub activity: u32,
    /// True if something may have completed.
    pub is_active: bool,
}

/// The result of [`PolledLinks::poll_for_driver`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverPoll {
    /// A link is lent to polls.
    pub(crate) is_lent: bool,
    /// True if something has arrived over a lent link.
    pub(crate) has_found: bool,
}

/// How a poller detects data on a link.
#[derive(Clone, Debug)]
pub enum Signal {
    /// The peer rings.
    Doorbell(Arc<Doorbell>),
    /// The descriptor is readable.
    Descriptor,
}

/// The links of one completion queue.
pub struct PolledLinks {
    /// The poller usually takes this lock, in every poll.
    list: BiasedLock<List>,
    polls: AtomicU64,
    /// Identifies the completion queue among those of the process.
    number: u32,
    /// True if polls read only some of the links.
    is_selective: AtomicBool,
    leases: Leases,
    /// Links that another completion queue made hot, and whether there are any.
    hot_requests: Mutex<Vec<Weak<dyn PolledLink>>>,
    has_hot_requests: AtomicBool,
}

/// Maximum number of links that are all read by each poll.
const MAX_UNSELECTED: usize = 2;

impl Default for PolledLinks {
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            list: BiasedLock::new(List::default()),
            polls: AtomicU64::new(0),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_selective: AtomicBool::new(false),
            leases: Leases::new(),
            hot_requests: Mutex::default(),
            has_hot_requests: AtomicBool::new(false),
        }
    }
}

impl PolledLinks {
    /// Adds a queue pair, which stays until [`remove`](Self::remove). Returns its key.
    pub fn add(&self, link: Arc<dyn PolledLink>) -> usize {
        let mut list = self.list.lock();
        let key = list.insert(link);
        if list.len() > MAX_UNSELECTED && !self.is_selective() {
            self.is_selective.store(true, Ordering::Relaxed);
            list.select();
        }
        key
    }

    /// Removes a queue pair. No poll reads it when this call returns.
    pub fn remove(&self, key: usize) {
        let link = self.list.lock().remove(key);
        // A waiter may sleep on it.
        if let Some(link) = link {
            link.end_sleep();
        }
    }

    /// The number of the completion queue, for [`PollInfo`].
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns true if polls read only the hot links, and those that have received data.
    pub fn is_selective(&self) -> bool {
        self.is_selective.load(Ordering::Relaxed)
    }

    /// The queue pair with this key has a new link.
    pub fn linked(&self, key: usize) {
        if self.is_selective() {
            self.list.lock().watch(key);
        }
    }

    /// Makes the next poll add a link to the hot ones.
    pub fn request_hot(&self, link: Weak<dyn PolledLink>) {
        self.hot_requests.lock().push(link);
        // Pairs with `poll_selected`.
        self.has_hot_requests.store(true, Ordering::Release);
    }

    /// Reads the links. Returns whether something may have completed.
    pub fn poll(&self) -> bool {
        self.poll_list(&mut self.list.lock())
    }

    /// Reads the links, unless a waiter sleeps until something completes, or another thread polls: the one for which the
    /// lock of the list is biased counts, too.
    pub(crate) fn poll_for_driver(&self) -> DriverPoll {
        if self.leases.is_asleep() {
            return DriverPoll::default();
        }
        let Some(mut list) = self.list.try_lock() else { return DriverPoll::default() };
        let is_active = self.poll_list(&mut list);
        let is_lent = self.leases.is_any_lent();
        // Polls of other links report activity in any case.
        DriverPoll { is_lent, has_found: is_lent && is_active && !self.is_selective() }
    }

    #[inline]
    fn poll_list(&self, list: &mut List) -> bool {
        if list.is_empty() {
            return false;
        }
        if self.is_selective() {
            self.poll_selected(list);
            return true;
        }
        self.count_poll();
        let info = PollInfo { queue: self.number, is_hot: true };
        let mut is_active = false;
        for link in list.links() {
            is_active |= link.poll(info).is_active;
        }
        is_active
    }

    /// Reads some of the links.
    #[inline(never)]
    fn poll_selected(&self, list: &mut List) {
        if self.has_hot_requests.load(Ordering::Acquire) {
            self.take_suggested(list);
        }
        if list.poll(self.number) {
            self.count_poll();
        }
    }

    /// Counts a poll. The caller holds the lock of the list.
    fn count_poll(&self) {
        let count = self.polls.load(Ordering::Relaxed);
        self.polls.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    #[cold]
    fn take_suggested(&self, list: &mut List) {
        self.has_hot_requests.store(false, Ordering::Relaxed);
        let hot_requests = std::mem::take(&mut *self.hot_requests.lock());
        for link in hot_requests {
            list.heat(&link);
        }
    }

    /// Number of polls that have read every link with data, modulo 2^64. The driver takes a link back from a
    /// poller if this number stays the same, so polls that read only hot links do not count.
    #[must_use]
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Lends one more link to the poller. Returns false, without lending it, while a waiter sleeps. The
    /// caller holds the lock of the queue pair.
    #[must_use]
    pub fn lend(&self) -> bool {
        self.leases.lend()
    }

    /// Takes a link back from the poller. The caller holds the lock of the queue pair.
    pub fn take_back(&self) {
        self.leases.take_back();
    }

    /// A waiter is about to sleep; see [`PolledLink::begin_sleep`]. It can sleep on one link only.
    pub fn begin_sleep(&self, is_again: bool) -> Option<SleepTarget> {
        if self.is_selective() {
            return None;
        }
        let list = self.list.lock();
        let mut links = list.links();
        match (links.next(), links.next()) {
            (Some(only), None) => only.begin_sleep(is_again),
            _ => None,
        }
    }

    /// The waiter sleeps no more on a link.
    pub fn end_sleep(&self) {
        self.list.lock().links().for_each(PolledLink::end_sleep);
    }

    /// A waiter is about to sleep, or has woken up. Before it sleeps, all links return to the thread of
    /// the engine.
    pub fn await_completions(&self, is_awaited: bool) {
        if !is_awaited {
            self.leases.end_sleep();
        } else if self.leases.begin_sleep() {
            self.take_back_all();
        }
    }

    /// Returns all links to the thread of the engine, because their poller stops polling.
    pub(crate) fn take_back_all(&self) {
        self.list.lock().links().for_each(PolledLink::give_back);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
