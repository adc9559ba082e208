//! The owner of the work of the thread: to read the links that are ready.

use std::sync::atomic::{AtomicU8, Ordering};

use dat_sync::Mutex;

use super::shared::Shared;

/// The reader of the links that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Owner {
    /// The thread, which a link wakes only as the owner.
    Thread,
    /// A waiter, which has claimed the work.
    Waiter,
    /// Polls of dispatchers for connection events.
    Polls,
}

/// The owner, which changes under a lock and is read without it.
pub(super) struct Ownership {
    owner: AtomicU8,
    changes: Mutex<()>,
}

impl Ownership {
    pub(super) fn of_thread() -> Self {
        Self { owner: AtomicU8::new(Owner::Thread as u8), changes: Mutex::default() }
    }

    #[inline]
    pub(super) fn get(&self) -> Owner {
        match self.owner.load(Ordering::Relaxed) {
            owner if owner == Owner::Thread as u8 => Owner::Thread,
            owner if owner == Owner::Waiter as u8 => Owner::Waiter,
            _ => Owner::Polls,
        }
    }

    /// Gives the work to an owner, if one of `from` has it and the system permits that. Returns whether it does.
    pub(super) fn pass(&self, from: &[Owner], to: Owner, shared: &Shared) -> bool {
        let _changes = self.changes.lock();
        let owner = self.get();
        if !from.contains(&owner) {
            return false;
        }
        let is_changed = [owner, to].contains(&Owner::Thread);
        let wakes = to == Owner::Thread;
        // A system that does not wake the thread again has lost the set, and the adapter fails.
        if is_changed && !shared.wake_thread_for_links(wakes) && !wakes {
            return false;
        }
        self.owner.store(to as u8, Ordering::Relaxed);
        true
    }
}
