//! The reserve: memory for the moment in which the system refuses an allocation, so that the call can end
//! with an error.
//!
//! The first bank is part of the library. A block that is in use for long keeps its bank from being full again;
//! then another bank comes from the system, as soon as that has memory.

use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use dat_sync::shortage::{self, Refill};

use super::bank::Bank;

static FIRST: Bank = Bank::new();

/// The banks from the system; they are never unmapped.
static MORE: [AtomicPtr<Bank>; 15] = [const { AtomicPtr::new(ptr::null_mut()) }; 15];

thread_local! {
    /// How often this thread has taken a block. It needs no destructor, whose registration would allocate.
    static TAKEN: Cell<u32> = const { Cell::new(0) };
}

/// How often this thread has taken a block of the reserve.
pub(crate) fn taken() -> u32 {
    TAKEN.get()
}

static REFILL: Refill = Refill(refill);

/// Returns true if there is a bank that is full; if there is none, one comes from the system.
fn refill() -> bool {
    // Before the check: a block that is taken in the meantime is found, or begins the shortage again.
    shortage::end();
    let is_full = all().any(Bank::is_full) || add();
    if !is_full {
        shortage::begin(&REFILL);
    }
    is_full
}

/// Takes a block; null if there is none of that size.
#[cold]
#[inline(never)]
pub(super) fn take(size: usize, align: usize) -> *mut c_void {
    let Ok(layout) = Layout::from_size_align(size, align) else { return ptr::null_mut() };
    let take = || all().find_map(|bank| bank.take(layout));
    // Another bank cannot hold what is too large for any.
    let block = take().or_else(|| if Bank::fits(layout) && add() { take() } else { None });
    TAKEN.set(TAKEN.get().wrapping_add(1));
    shortage::begin(&REFILL);
    block.map_or(ptr::null_mut(), NonNull::as_ptr).cast()
}

/// The bank in which a block lies; `None` for memory of the system.
#[inline(always)]
pub(super) fn bank_of(block: *mut c_void) -> Option<&'static Bank> {
    if FIRST.contains(block) {
        return Some(&FIRST);
    }
    if MORE[0].load(Ordering::Acquire).is_null() {
        return None;
    }
    more().find(|bank| bank.contains(block))
}

fn all() -> impl Iterator<Item = &'static Bank> {
    std::iter::once(&FIRST).chain(more())
}

fn more() -> impl Iterator<Item = &'static Bank> {
    // SAFETY: null, or a bank that was published by `add` and is never unmapped.
    MORE.iter().map_while(|bank| unsafe { bank.load(Ordering::Acquire).as_ref() })
}

/// Adds a bank from the system; returns whether that had memory.
fn add() -> bool {
    let (rights, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing.
    let base = unsafe { libc::mmap(ptr::null_mut(), size_of::<Bank>(), rights, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return false;
    }
    let is_published = MORE.iter().any(|place| {
        // Pairs with the loads of `more`.
        let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
        place.compare_exchange(ptr::null_mut(), base.cast(), success, failure).is_ok()
    });
    if !is_published {
        // SAFETY: mapped above with this length, and known to no other code.
        unsafe { libc::munmap(base, size_of::<Bank>()) };
    }
    is_published
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[cfg(miri)]
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A thread takes a block while another one refills the reserve: the refill finds the block, or the shortage goes on.
    /// Only under Miri: no processor of x86-64 has the order that would be wrong, and other tests would find the
    /// shortage.
    #[cfg(miri)]
    #[test]
    fn weak_memory_a_refill_finds_a_block_that_is_taken_or_the_shortage_goes_on() {
        static BANK: Bank = Bank::new();
        static REFILL: Refill = Refill(|| false);
        let layout = Layout::from_size_align(8, 8).expect("a layout");
        for round in 0..8 {
            // A relaxed word puts the threads in an order of time, and their accesses in none.
            let has_begun = AtomicBool::new(round % 2 == 0);
            let (block, is_full) = std::thread::scope(|scope| {
                let taker = scope.spawn(|| {
                    let block =
                        BANK.take(layout).expect("it is empty").as_ptr().expose_provenance();
                    shortage::begin(&REFILL);
                    has_begun.store(true, Ordering::Relaxed);
                    block
                });
                while !has_begun.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                shortage::end();
                let is_full = BANK.is_full();
                (taker.join().expect("no panic"), is_full)
            });
            assert!(!is_full || shortage::persists(), "the block is in use");
            BANK.give_back(ptr::with_exposed_provenance_mut(block));
            shortage::end();
        }
    }

    #[test]
    fn a_bank_of_the_system_replaces_one_in_use() {
        assert!(!shortage::persists());
        let before = taken();
        let block = take(100, 8);
        assert!(!block.is_null());
        assert_eq!(taken(), before + 1);
        assert!(!shortage::persists(), "the system has memory for another bank");
        let bank = bank_of(block).expect("of the reserve");
        assert!(!bank.is_full());
        bank.give_back(block);
        assert!(bank.is_full());
        let banks = more().count();
        assert!(take(1 << 30, 8).is_null());
        assert_eq!(more().count(), banks, "no bank can hold it");
        assert!(!shortage::persists(), "no block is in use");
        let mut other = 0_u64;
        assert!(bank_of((&raw mut other).cast()).is_none());
    }
}
