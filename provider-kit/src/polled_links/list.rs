//! The list of the links, and the choice of those that a poll reads.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Weak};

use dat_sync::descriptors::{WatchSets, is_lost};
use dat_sync::epoll;
use rustix::event::Timespec;
use slab::Slab;

use super::hot::{HotLinks, Rings};
use super::{PollInfo, PolledLink, Signal};
use crate::doorbell::{Doorbell, Doorbells};

/// Maximum number of polls in a row that read only active links.
const MAX_SKIPPED: u32 = 4;
/// Maximum number of links that one poll reads besides the hot ones.
pub(super) const MAX_PER_POLL: usize = 16;

/// The queue pairs of a completion queue, by key.
#[derive(Default)]
pub(super) struct List {
    all: Slab<Entry>,
    /// Links that the next polls read in any case.
    again: VecDeque<usize>,
    /// Links without a notification of data. Each poll reads them.
    blind: Vec<usize>,
    doorbells: Doorbells,
    hot: HotLinks,
    rings: Rings,
    /// Polls in a row that read only links known to be active.
    skipped: u32,
    /// The epoll set of the links without doorbells, created before descriptors may be scarce.
    set: Option<WatchSets<1>>,
    /// True if such a link was added to the set.
    is_set_used: bool,
}

pub(super) struct Entry {
    pub(super) link: Arc<dyn PolledLink>,
    doorbell: Option<Arc<Doorbell>>,
    /// The link is in `again`.
    is_queued: bool,
    /// Recent rings of its doorbell.
    pub(super) rings: u8,
}

impl List {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &dyn PolledLink> {
        self.all.iter().map(|(_, entry)| &*entry.link)
    }

    /// Adds a queue pair. If polls read only some of the links, call [`watch`](Self::watch) when it has a link.
    pub(super) fn insert(&mut self, link: Arc<dyn PolledLink>) -> usize {
        self.all.insert(Entry { link, doorbell: None, is_queued: false, rings: 0 })
    }

    pub(super) fn remove(&mut self, key: usize) -> Option<Arc<dyn PolledLink>> {
        let Entry { link, doorbell, .. } = self.all.try_remove(key)?;
        if let Some(doorbell) = doorbell {
            self.doorbells.remove(&doorbell);
        }
        self.again.retain(|one| *one != key);
        self.blind.retain(|one| *one != key);
        self.hot.remove(key);
        Some(link)
    }

    /// From now on, polls read only some of the links.
    #[cold]
    pub(super) fn select(&mut self) {
        self.create_set();
        let keys: Vec<usize> = self.all.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.watch(key);
            // The next poll reads it, so that it notices the change.
            self.read_again(key);
        }
    }

    /// Chooses how to detect data on the link of an entry.
    pub(super) fn watch(&mut self, key: usize) {
        let Some(entry) = self.all.get_mut(key) else { return };
        let signal = entry.link.signal();
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
                let set = self.set.as_ref();
                if set.is_some_and(|set| entry.link.join(set.set(0), key as u64)) {
                    self.is_set_used = true;
                } else {
                    self.blind.push(key);
                }
            }
        }
    }

    /// Creates the set. Without it, polls read the links without doorbells one by one.
    #[cold]
    fn create_set(&mut self) {
        self.set = WatchSets::new().ok();
    }

    fn read_again(&mut self, key: usize) {
        queue(&mut self.all, &mut self.again, key);
    }

    /// Makes a link hot. If the limit is reached, reads the link, so that it notices that it is not hot.
    pub(super) fn heat(&mut self, link: &Weak<dyn PolledLink>) {
        let wanted = link.as_ptr();
        let found = self.all.iter().find(|(_, one)| ptr::addr_eq(Arc::as_ptr(&one.link), wanted));
        if let Some((key, _)) = found {
            self.hot.add(key);
            self.read_again(key);
        }
    }

    /// Reads the hot links, and usually also those that have received data or are queued. Returns whether it has looked
    /// for links that have received data.
    pub(super) fn poll(&mut self, number: u32) -> bool {
        let (is_active, cooled) = self.hot.poll(&self.all, number);
        if let Some(cooled) = cooled {
            self.read_again(cooled);
        }
        // A completion is probably available. The other links are read soon.
        self.skipped += 1;
        let looks = !is_active || self.skipped > MAX_SKIPPED;
        if looks {
            self.skipped = 0;
            self.collect();
        }
        let Self { all, again, hot, .. } = self;
        for _ in 0..again.len().min(MAX_PER_POLL) {
            let Some(key) = again.pop_front() else { break };
            let Some(entry) = all.get_mut(key) else { continue };
            entry.is_queued = false;
            let info = PollInfo { queue: number, is_hot: hot.contains(key) };
            if entry.link.poll(info).again {
                queue(all, again, key);
            }
        }
        looks
    }

    /// Queues the links whose doorbells or descriptors report data.
    fn collect(&mut self) {
        let Self { all, again, blind, doorbells, hot, set, is_set_used, rings, .. } = self;
        doorbells.take(|key| {
            queue(all, again, key);
            if all.get_mut(key).is_some_and(|entry| rings.is_often(entry)) {
                hot.toggle(key);
            }
        });
        rings.age(all);
        blind.iter().for_each(|key| queue(all, again, *key));
        if let Some(set) = set.as_ref().filter(|_| *is_set_used) {
            let mut events = [const { MaybeUninit::uninit() }; MAX_PER_POLL];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            match epoll::wait(set.set(0), &mut events, Some(&now)) {
                Ok(events) => {
                    events.iter().for_each(|event| queue(all, again, event.data.u64() as usize));
                }
                Err(errno) if is_lost(errno) => self.lose_set(),
                Err(_) => {}
            }
        }
    }

    /// The program has closed the set. Polls read its links one by one and detect that those are closed too.
    #[cold]
    fn lose_set(&mut self) {
        self.set = None;
        let without_doorbell = self.all.iter().filter(|(_, entry)| entry.doorbell.is_none());
        self.blind = without_doorbell.map(|(key, _)| key).collect();
    }
}

/// Queues a link for the next polls.
fn queue(all: &mut Slab<Entry>, again: &mut VecDeque<usize>, key: usize) {
    let Some(entry) = all.get_mut(key) else { return };
    if !std::mem::replace(&mut entry.is_queued, true) {
        again.push_back(key);
    }
}
