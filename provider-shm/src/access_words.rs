//! The shared-memory words with which a process permits its peer to access its memory.
//!
//! `busy` is odd while the requester accesses memory. The owner closes the gate, or increments `epoch` after it has
//! withdrawn a region, and then reads `busy`; the requester stores `busy`, and then reads gate and epoch. With a fence
//! in between, at least one of them sees the other: either the requester finds that the region is withdrawn, or the
//! owner waits until `busy` changes.
//!
//! If the peer writes other values, its own accesses fail and the owner waits until it ends the connection; nothing
//! else is affected.

use crate::signals::Padded;
use crate::sync::{AtomicU64, Ordering, fence};

/// Control words for the accesses in one direction. If all are zero, the gate is closed.
#[repr(C)]
pub(crate) struct AccessWords {
    owner: Padded<OwnerWords>,
    requester: Padded<AtomicU64>,
}

#[repr(C)]
struct OwnerWords {
    /// The domain and the queue pair whose rights the requester has; 0 while access is forbidden.
    gate: AtomicU64,
    epoch: AtomicU64,
    directory: AtomicU64,
    nonce: AtomicU64,
    /// The address of the nonce; stored last.
    nonce_address: AtomicU64,
    /// The remote privileges that the requester does not have, whatever the regions permit. A side that does not know the
    /// word leaves it 0.
    denied: AtomicU64,
}

/// Identifies the process that owns the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The address of its region page.
    pub(crate) directory: u64,
    /// A random number that the requester reads to recognise the process, and its address.
    pub(crate) nonce: u64,
    pub(crate) nonce_address: u64,
}

impl AccessWords {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let (gate, epoch, directory) = (zero(), zero(), zero());
        let (nonce, nonce_address, denied) = (zero(), zero(), zero());
        let owner = OwnerWords { gate, epoch, directory, nonce, nonce_address, denied };
        Self { owner: Padded(owner), requester: Padded(zero()) }
    }

    /// Publishes the identity of the owner.
    pub(crate) fn introduce(&self, owner: Owner) {
        let words = &self.owner.0;
        words.directory.store(owner.directory, Ordering::Relaxed);
        words.nonce.store(owner.nonce, Ordering::Relaxed);
        // Release: pairs with `owner`.
        words.nonce_address.store(owner.nonce_address, Ordering::Release);
    }

    /// Returns the owner's identity; `None` until [`introduce`](Self::introduce).
    pub(crate) fn owner(&self) -> Option<Owner> {
        let words = &self.owner.0;
        // Pairs with `introduce`.
        let nonce_address = words.nonce_address.load(Ordering::Acquire);
        (nonce_address != 0).then(|| Owner {
            directory: words.directory.load(Ordering::Relaxed),
            nonce: words.nonce.load(Ordering::Relaxed),
            nonce_address,
        })
    }

    /// Allows the requester to begin accesses with the rights of a queue pair, or none (0).
    pub(crate) fn set_gate(&self, gate: u64) {
        // Pairs with `enter`.
        self.owner.0.gate.store(gate, Ordering::Release);
    }

    /// Denies the requester these remote privileges, and no others, in later accesses.
    pub(crate) fn deny(&self, denied: u32) {
        // The gate that opens later publishes it; after that, the next access finds it.
        self.owner.0.denied.store(denied.into(), Ordering::Relaxed);
    }

    /// Makes the requester look up regions again.
    pub(crate) fn revoke(&self) {
        // Release: pairs with `enter`, which then finds what was withdrawn.
        self.owner.0.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// The epoch of the memory, for the owner's offers.
    pub(crate) fn epoch(&self) -> u64 {
        self.owner.0.epoch.load(Ordering::Acquire)
    }

    /// Returns the number of the access in progress after a change of gate or epoch; `None` if there is none.
    pub(crate) fn in_progress(&self) -> Option<u64> {
        // Pairs with the fence of `enter`.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the stores of the requester, here and in `is_still`.
        let busy = self.requester.0.load(Ordering::Acquire);
        (busy & 1 == 1).then_some(busy)
    }

    /// Returns true if that access has not ended.
    pub(crate) fn is_still(&self, busy: u64) -> bool {
        self.requester.0.load(Ordering::Acquire) == busy
    }
}

/// The gate and the epoch that a requester has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) domain: u32,
    pub(crate) queue_pair: u32,
    pub(crate) epoch: u64,
    /// The remote privileges that are denied.
    pub(crate) denied: u32,
}

/// The requester's private state: the number of its last access. The peer can write the shared word.
#[derive(Debug, Default)]
pub(crate) struct Requester {
    busy: u64,
}

impl Requester {
    /// Begins an access; `None` if the gate is closed.
    pub(crate) fn enter(&mut self, words: &AccessWords) -> Option<Pass> {
        self.busy += 1;
        // Release: an owner that sees this instead of the end of the access before knows that that access has ended.
        words.requester.0.store(self.busy, Ordering::Release);
        // Pairs with the fence of `in_progress`.
        fence(Ordering::SeqCst);
        let gate = words.owner.0.gate.load(Ordering::Acquire);
        let epoch = words.owner.0.epoch.load(Ordering::Acquire);
        let denied = words.owner.0.denied.load(Ordering::Relaxed) as u32;
        if gate == 0 {
            self.leave(words);
            return None;
        }
        Some(Pass { domain: (gate >> 32) as u32, queue_pair: gate as u32, epoch, denied })
    }

    /// Ends the access.
    pub(crate) fn leave(&mut self, words: &AccessWords) {
        self.busy += 1;
        // Pairs with `in_progress` and `is_still`.
        words.requester.0.store(self.busy, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_no_access_begin() {
        let words = AccessWords::new();
        let mut requester = Requester::default();
        assert_eq!(requester.enter(&words), None);
        assert_eq!(words.in_progress(), None, "it has left");
        words.set_gate(7 << 32 | 3);
        let pass = requester.enter(&words).expect("the gate is open");
        assert_eq!(pass, Pass { domain: 7, queue_pair: 3, epoch: 0, denied: 0 });
        words.deny(0x20);
        requester.leave(&words);
        assert_eq!(requester.enter(&words), Some(Pass { denied: 0x20, ..pass }));
        words.set_gate(0);
        let busy = words.in_progress().expect("it has not left");
        assert!(words.is_still(busy));
        requester.leave(&words);
        assert!(!words.is_still(busy));
        assert_eq!(requester.enter(&words), None);
    }

    #[test]
    fn another_access_is_not_the_one_that_was_in_progress() {
        let words = AccessWords::new();
        words.set_gate(1);
        let mut requester = Requester::default();
        requester.enter(&words).expect("the gate is open");
        let busy = words.in_progress().expect("it has not left");
        requester.leave(&words);
        words.revoke();
        assert_eq!(requester.enter(&words).expect("the gate is open").epoch, 1);
        assert!(!words.is_still(busy));
    }

    #[test]
    fn the_owner_is_unknown_before_it_introduces_itself() {
        let words = AccessWords::new();
        assert_eq!(words.owner(), None);
        let owner = Owner { directory: 1, nonce: 2, nonce_address: 3 };
        words.introduce(owner);
        assert_eq!(words.owner(), Some(owner));
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::cell::Cell;
    use loom::sync::Arc;
    use loom::thread;

    /// The words, the slot of a region, and its memory, which is 1 once it is used for something else.
    struct Shared {
        words: AccessWords,
        slot: AtomicU64,
        memory: AtomicU64,
    }

    fn shared() -> Arc<Shared> {
        let (slot, memory) = (AtomicU64::new(1), AtomicU64::new(0));
        let shared = Arc::new(Shared { words: AccessWords::new(), slot, memory });
        shared.words.set_gate(1);
        shared
    }

    /// The requester accesses the region twice, and looks it up again only in a new epoch.
    fn requester(shared: &Shared) {
        let mut requester = Requester::default();
        let mut known = None;
        for _ in 0..2 {
            let Some(pass) = requester.enter(&shared.words) else { return };
            if known.is_none_or(|(epoch, _)| epoch != pass.epoch) {
                known = Some((pass.epoch, shared.slot.load(Ordering::Relaxed)));
            }
            if known.is_some_and(|(_, slot)| slot == 1) {
                assert_eq!(shared.memory.load(Ordering::Relaxed), 0, "accessed after it was freed");
            }
            requester.leave(&shared.words);
        }
    }

    /// Waits for the access in progress. Returns true if it has ended.
    fn waits(shared: &Shared) -> bool {
        let Some(busy) = shared.words.in_progress() else { return true };
        for _ in 0..2 {
            if !shared.words.is_still(busy) {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    /// Memory is not accessed after its region was withdrawn and the access in progress has ended.
    #[test]
    fn withdrawn_memory_is_not_accessed() {
        loom::model(|| {
            let shared = shared();
            let far = Arc::clone(&shared);
            let thread = thread::spawn(move || requester(&far));
            shared.slot.store(0, Ordering::Relaxed);
            shared.words.revoke();
            if waits(&shared) {
                shared.memory.store(1, Ordering::Relaxed);
            }
            thread.join().expect("no panic");
        });
    }

    /// libfabric #9370: a response was marked as done before the memory was copied. Here, the owner that sees that an access
    /// has ended, by its end or by the begin of the next one, uses the memory: loom reports an access of both sides.
    #[test]
    fn libfabric_9370_an_access_ends_after_its_last_byte() {
        loom::model(|| {
            let words = AccessWords::new();
            words.set_gate(1);
            let shared = Arc::new((words, Cell::new(0)));
            let far = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                let mut requester = Requester::default();
                let Some(pass) = requester.enter(&far.0) else { return };
                if pass.epoch == 0 {
                    far.1.set(1);
                }
                requester.leave(&far.0);
                let _ = requester.enter(&far.0);
            });
            shared.0.revoke();
            let busy = shared.0.in_progress();
            // An access that begins now is in the new epoch.
            if busy.is_none_or(|busy| busy == 1 && !shared.0.is_still(busy)) {
                shared.1.set(2);
            }
            thread.join().expect("no panic");
        });
    }

    /// An offered message is not fetched after its memory was deregistered and the access in progress has
    /// ended.
    #[test]
    fn a_withdrawn_offer_is_not_fetched() {
        loom::model(|| {
            let shared = shared();
            let far = Arc::clone(&shared);
            let epoch = shared.words.epoch();
            let thread = thread::spawn(move || {
                let mut requester = Requester::default();
                let Some(pass) = requester.enter(&far.words) else { return };
                if pass.epoch == epoch {
                    assert_eq!(far.memory.load(Ordering::Relaxed), 0, "fetched after it was freed");
                }
                requester.leave(&far.words);
            });
            shared.words.revoke();
            if waits(&shared) {
                shared.memory.store(1, Ordering::Relaxed);
            }
            thread.join().expect("no panic");
        });
    }

    /// Memory is not accessed after the gate was closed and the access in progress has ended.
    #[test]
    fn nothing_is_accessed_behind_a_closed_gate() {
        loom::model(|| {
            let shared = shared();
            let far = Arc::clone(&shared);
            let thread = thread::spawn(move || requester(&far));
            shared.words.set_gate(0);
            if waits(&shared) {
                shared.memory.store(1, Ordering::Relaxed);
            }
            thread.join().expect("no panic");
        });
    }
}
