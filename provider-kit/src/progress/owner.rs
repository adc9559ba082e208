//! The owner of the work of the thread: to read the links that are ready.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use dat_sync::Mutex;

use super::shared::Shared;

/// Posts are sent at once during this number of polls after the thread had to send a held one.
const LATE_PAUSE: u32 = 4096;

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
    /// Number of polls of dispatchers for connection events.
    polls: AtomicU32,
    /// The number of polls when the thread last had to send what polls had left.
    late_at: AtomicU32,
}

impl Ownership {
    pub(super) fn of_thread() -> Self {
        Self {
            owner: AtomicU8::new(Owner::Thread as u8),
            changes: Mutex::default(),
            polls: AtomicU32::new(0),
            late_at: AtomicU32::new(0_u32.wrapping_sub(LATE_PAUSE)),
        }
    }

    pub(super) fn polls(&self) -> u32 {
        self.polls.load(Ordering::Relaxed)
    }

    /// A poll. Polls of two threads at once may count as one.
    pub(super) fn note_poll(&self) {
        self.polls.store(self.polls().wrapping_add(1), Ordering::Relaxed);
    }

    /// Whether the next poll sends what a post leaves.
    #[inline]
    pub(super) fn polls_send(&self) -> bool {
        let since_late = || self.polls().wrapping_sub(self.late_at.load(Ordering::Relaxed));
        self.get() == Owner::Polls && since_late() >= LATE_PAUSE
    }

    /// The thread had to send what polls had left.
    pub(super) fn note_late(&self) {
        self.late_at.store(self.polls(), Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_send_what_posts_leave_unless_the_thread_had_to_lately() {
        let ownership = Ownership::of_thread();
        assert!(!ownership.polls_send(), "the thread is the owner");
        ownership.owner.store(Owner::Polls as u8, Ordering::Relaxed);
        assert!(ownership.polls_send());
        ownership.note_late();
        for _ in 0..LATE_PAUSE {
            assert!(!ownership.polls_send());
            ownership.note_poll();
        }
        assert!(ownership.polls_send());
        ownership.owner.store(Owner::Waiter as u8, Ordering::Relaxed);
        assert!(!ownership.polls_send(), "a waiter sleeps on the links");
    }
}
