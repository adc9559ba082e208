//! The owner of the work of the thread: reading the links that are ready.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use dat_sync::Mutex;

use super::shared::Shared;

/// The reader of the links that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Owner {
    /// The thread. Links wake it only while it is the owner.
    Thread,
    /// A waiter, which has claimed the work.
    Waiter,
    /// Polls of dispatchers for connection events.
    Polls,
}

/// The owner. A lock guards changes; reads take no lock.
pub(super) struct Ownership {
    owner: AtomicU8,
    changes: Mutex<()>,
    /// Number of polls of dispatchers for connection events.
    polls: AtomicU32,
}

impl Ownership {
    pub(super) fn of_thread() -> Self {
        Self {
            owner: AtomicU8::new(Owner::Thread as u8),
            changes: Mutex::default(),
            polls: AtomicU32::new(0),
        }
    }

    pub(super) fn polls(&self) -> u32 {
        self.polls.load(Ordering::Relaxed)
    }

    /// Counts a poll, and returns the count. Concurrent polls of two threads may count as one.
    pub(super) fn note_poll(&self) -> u32 {
        let polls = self.polls().wrapping_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        polls
    }

    #[inline]
    pub(super) fn get(&self) -> Owner {
        match self.owner.load(Ordering::Relaxed) {
            owner if owner == Owner::Thread as u8 => Owner::Thread,
            owner if owner == Owner::Waiter as u8 => Owner::Waiter,
            _ => Owner::Polls,
        }
    }

    /// Passes the work to an owner, if one of `from` owns it and the system permits that. Returns true on success.
    pub(super) fn pass(&self, from: &[Owner], to: Owner, shared: &Shared) -> bool {
        let _changes = self.changes.lock();
        let owner = self.get();
        if !from.contains(&owner) {
            return false;
        }
        let is_changed = [owner, to].contains(&Owner::Thread);
        let wakes = to == Owner::Thread;
        // If the thread cannot be woken again, the set is lost and the adapter has failed.
        if is_changed && !shared.wake_thread_for_links(wakes) && !wakes {
            return false;
        }
        self.owner.store(to as u8, Ordering::Relaxed);
        true
    }
}
