//! Small numbers for the owners of regions, whose names may be any numbers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::lock::Mutex;

/// The current owners. A number is reused only after all others.
#[derive(Debug)]
pub(super) struct Owners(Mutex<Numbers>);

#[derive(Debug)]
struct Numbers {
    last: u32,
    names: BTreeMap<u32, u64>,
}

impl Owners {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Numbers { last: 0, names: BTreeMap::new() }))
    }

    pub(super) fn add(&self, name: u64) -> u32 {
        let mut owners = self.0.lock();
        // Each owner is an object of more than one byte, so there is always a free number.
        loop {
            let number = owners.last.wrapping_add(1).max(1);
            owners.last = number;
            if let Entry::Vacant(place) = owners.names.entry(number) {
                place.insert(name);
                return number;
            }
        }
    }

    pub(super) fn remove(&self, number: u32) {
        self.0.lock().names.remove(&number);
    }

    pub(super) fn name(&self, number: u32) -> u64 {
        self.0.lock().names.get(&number).copied().unwrap_or(0)
    }
}
