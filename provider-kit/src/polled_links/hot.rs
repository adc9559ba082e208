//! The hot links of a completion queue: the busiest ones, which every poll reads, so that their peers need not ring.

use slab::Slab;

use super::PollInfo;
use super::list::Entry;

/// Maximum number of hot links.
const MAX_HOT: usize = 2;
/// A link is no longer hot after this many polls without activity.
const MAX_IDLE: u32 = 4096;
/// A link becomes hot when its doorbell has rung this often.
const MANY_RINGS: u8 = 4;
/// After this many rings of all links, the counts are halved.
const AGE: u32 = 256;

/// The hot links.
#[derive(Default)]
pub(super) struct HotLinks(Vec<HotLink>);

struct HotLink {
    key: usize,
    activity: u32,
    /// Polls since the activity changed.
    idle: u32,
}

impl HotLinks {
    /// Reads the hot links. Returns whether one was active, and the key of one that is no longer hot.
    pub(super) fn poll(&mut self, all: &Slab<Entry>, queue: u32) -> (bool, Option<usize>) {
        let (mut is_active, mut cooled) = (false, None);
        for (index, hot) in self.0.iter_mut().enumerate() {
            let Some(entry) = all.get(hot.key) else { continue };
            let activity = entry.link.poll(PollInfo { queue, is_hot: true }).activity;
            let is_idle = std::mem::replace(&mut hot.activity, activity) == activity;
            is_active |= !is_idle;
            hot.idle = if is_idle { hot.idle + 1 } else { 0 };
            if hot.idle >= MAX_IDLE {
                cooled = Some(index);
            }
        }
        (is_active, cooled.map(|index| self.0.swap_remove(index).key))
    }

    pub(super) fn contains(&self, key: usize) -> bool {
        self.0.iter().any(|hot| hot.key == key)
    }

    /// Removes a link that leaves the list.
    pub(super) fn remove(&mut self, key: usize) {
        self.0.retain(|hot| hot.key != key);
    }

    /// Adds a link if there is space.
    pub(super) fn add(&mut self, key: usize) {
        if self.0.len() < MAX_HOT && !self.contains(key) {
            self.0.push(HotLink { key, activity: 0, idle: 0 });
        }
    }

    /// Adds a link that rings often. A hot link that still rings is not hot for another completion queue; it is
    /// removed, so that it becomes hot for both.
    pub(super) fn toggle(&mut self, key: usize) {
        match self.0.iter().position(|hot| hot.key == key) {
            Some(index) => drop(self.0.swap_remove(index)),
            None => self.add(key),
        }
    }
}

/// Counts rings of doorbells.
#[derive(Default)]
pub(super) struct Rings(u32);

impl Rings {
    /// Counts a ring of a link. Returns whether it rings often.
    pub(super) fn is_often(&mut self, entry: &mut Entry) -> bool {
        self.0 += 1;
        entry.rings += 1;
        let is_often = entry.rings >= MANY_RINGS;
        if is_often {
            entry.rings = 0;
        }
        is_often
    }

    /// Halves the counts of all links.
    #[inline]
    pub(super) fn age(&mut self, all: &mut Slab<Entry>) {
        if self.0 >= AGE {
            self.0 = 0;
            all.iter_mut().for_each(|(_, entry)| entry.rings /= 2);
        }
    }
}
