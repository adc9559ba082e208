//! Hazard pointers, called pins here: a thread announces that it uses the object of a cell, and a
//! thread that frees objects checks the announcements.
//!
//! A call announces the cell in a record of its thread, then checks whether the object is live. A
//! thread that frees an object first marks the cell dead, then checks for announcements. One of the
//! two must see the other's store, so both execute a full fence between their store and their load.
//! `thread` has the fences of the process, and `.ci/loom` tries every interleaving of this file
//! with loom's fences.

use std::marker::PhantomData;
use std::ptr::{self, null_mut, without_provenance_mut};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

use dat_sync::CacheLineAligned;
use dat_sync::biased::token_again;
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

/// Announces one cell at a time. Records are reused and never freed.
pub(super) struct Record<T: 'static> {
    _aligned: CacheLineAligned,
    /// The pinned cell. While nothing is pinned it holds the token of the owning thread instead,
    /// which can never equal the address of a cell.
    pin: AtomicPtr<T>,
    /// The token of the thread that owns the record; [`NO_OWNER`] if there is none.
    owner: AtomicUsize,
    /// The cell on which the owning thread last found nothing, null after any other failure. Only that
    /// thread accesses it.
    found_empty: AtomicPtr<T>,
    /// The next record of its list; never changed after it was published.
    next: AtomicPtr<Record<T>>,
}

const NO_OWNER: usize = 0;

/// Number of hazard slots: records that threads find by their token alone, without thread-local
/// storage.
const SLOTS: usize = if cfg!(all(test, loom)) { 1 } else { 128 };

impl<T> Record<T> {
    fn new(cell: *mut T, owner: usize) -> Self {
        Self {
            _aligned: CacheLineAligned,
            pin: AtomicPtr::new(cell),
            owner: AtomicUsize::new(owner),
            found_empty: AtomicPtr::new(null_mut()),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// A hazard slot without an owner.
    #[cfg(not(all(test, loom)))]
    const fn vacant() -> Self {
        Self {
            _aligned: CacheLineAligned,
            pin: AtomicPtr::new(null_mut()),
            owner: AtomicUsize::new(NO_OWNER),
            found_empty: AtomicPtr::new(null_mut()),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// Returns true if the thread with that token owns it.
    pub(super) fn is_of(&self, thread: usize) -> bool {
        self.owner.load(Ordering::Relaxed) == thread
    }

    /// Returns true if the thread with that token owns it and has nothing pinned.
    #[inline(always)]
    pub(super) fn is_idle_of(&self, thread: usize) -> bool {
        self.pin.load(Ordering::Relaxed).addr() == thread
    }

    /// Claims it for the thread with that token, if it is free.
    fn claim(&self, thread: usize) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let claimed = self.is_of(NO_OWNER)
            && self.owner.compare_exchange(NO_OWNER, thread, success, failure).is_ok();
        if claimed {
            self.found_empty.store(null_mut(), Ordering::Relaxed);
            // Release: a thread that sees this sees what the former owner did with a cell.
            self.pin.store(without_provenance_mut(thread), Ordering::Release);
        }
        claimed
    }

    /// Returns true if nothing is pinned.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle_of(self.owner.load(Ordering::Relaxed))
    }

    /// Announces a cell. Allowed only for the owning thread, while nothing is pinned.
    #[inline(always)]
    pub(super) fn announce(&'static self, cell: &'static T, fence: impl FnOnce()) -> Pin<T> {
        self.mark(cell, fence);
        Pin { record: self }
    }

    #[inline(always)]
    fn mark(&self, cell: &'static T, fence: impl FnOnce()) {
        // Release: a thread that sees this also sees what was done with the cell announced before.
        self.pin.store(ptr::from_ref(cell).cast_mut(), Ordering::Release);
        fence();
    }

    /// Replaces the cell on which the owning thread last found nothing. Allowed only for that thread.
    pub(super) fn replace_found_empty(&self, cell: *mut T) -> *mut T {
        let former = self.found_empty.load(Ordering::Relaxed);
        self.found_empty.store(cell, Ordering::Relaxed);
        former
    }

    /// Releases the record to other threads.
    pub(super) fn release(&self) {
        // Release: as at the end of a pin.
        self.pin.store(null_mut(), Ordering::Release);
        self.owner.store(NO_OWNER, Ordering::Release);
    }
}

/// Pins a cell: its object is not taken away as long as this exists.
pub(super) struct Pin<T: 'static> {
    record: &'static Record<T>,
}

/// A pin in the hazard slot of this thread. The token of the thread is that of the owner, which saves
/// loads.
pub(super) struct SlotPin<T: 'static> {
    slot: &'static Record<T>,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*const ()>,
}

impl<T> SlotPin<T> {
    /// Announces a cell on the slot of the current thread, whose token this is, if the thread owns
    /// that slot and has nothing pinned.
    #[inline(always)]
    pub(super) fn new(
        slot: &'static Record<T>,
        thread: usize,
        cell: &'static T,
        fence: impl FnOnce(),
    ) -> Option<Self> {
        if !slot.is_idle_of(thread) {
            return None;
        }
        slot.mark(cell, fence);
        Some(Self { slot, thread: PhantomData })
    }

    /// Records that the thread found nothing on the pinned cell.
    #[inline(always)]
    pub(super) fn found_empty(&self, cell: &'static T) {
        self.slot.found_empty.store(ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
    }

    /// The pinned cell.
    #[inline(always)]
    pub(super) fn cell(&self) -> &'static T {
        // SAFETY: the pin was stored from a reference of this type, and is not reset before `self`
        // ends.
        unsafe { &*self.slot.pin.load(Ordering::Relaxed) }
    }
}

impl<T> Drop for SlotPin<T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slot.pin.store(without_provenance_mut(token_again()), Ordering::Release);
    }
}

impl<T> Drop for Pin<T> {
    #[inline(always)]
    fn drop(&mut self) {
        let owner = self.record.owner.load(Ordering::Relaxed);
        self.record.pin.store(without_provenance_mut(owner), Ordering::Release);
    }
}

/// All records: the hazard slots, those owned by other threads, and spare ones for nested calls and
/// terminating threads.
pub(super) struct Domain<T: 'static> {
    slots: [Record<T>; SLOTS],
    owned: AtomicPtr<Record<T>>,
    spare: AtomicPtr<Record<T>>,
}

impl<T> Domain<T> {
    #[cfg(not(all(test, loom)))]
    pub(super) const fn new() -> Self {
        Self {
            slots: [const { Record::vacant() }; SLOTS],
            owned: AtomicPtr::new(null_mut()),
            spare: AtomicPtr::new(null_mut()),
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn new() -> Self {
        Self {
            slots: std::array::from_fn(|_| Record::new(null_mut(), NO_OWNER)),
            owned: AtomicPtr::new(null_mut()),
            spare: AtomicPtr::new(null_mut()),
        }
    }

    /// The hazard slot that the thread with that token may claim; another thread may own it.
    #[inline(always)]
    pub(super) fn slot(&'static self, thread: usize) -> &'static Record<T> {
        // The page number: a stack with its guard page is an odd number of pages, usually the same
        // for all threads, so threads that start one after the other get different slots.
        &self.slots[(thread >> 12) % SLOTS]
    }

    /// Claims a record for the thread with that token, which has none: its slot if that is free and
    /// `use_slot` is set; otherwise one that a thread released, or a new one.
    pub(super) fn claim(&'static self, thread: usize, use_slot: bool) -> &'static Record<T> {
        let slot = self.slot(thread);
        if use_slot && slot.claim(thread) {
            return slot;
        }
        let released = records(&self.owned).find(|record| record.claim(thread));
        let idle = without_provenance_mut(thread);
        released.unwrap_or_else(|| add(&self.owned, Record::new(idle, thread)))
    }

    /// Announces a cell for a thread whose own record is in use, or that has none.
    pub(super) fn announce(&self, cell: &'static T, fence: impl FnOnce()) -> Pin<T> {
        let announced = ptr::from_ref(cell).cast_mut();
        let idle = records(&self.spare).find(|record| {
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            record.pin.compare_exchange(null_mut(), announced, success, failure).is_ok()
        });
        let record = idle.unwrap_or_else(|| add(&self.spare, Record::new(announced, NO_OWNER)));
        fence();
        Pin { record }
    }

    /// All announcements of calls that began before this one. The caller has marked all cells that
    /// it wants to free as dead. The result also contains tokens of threads, which are not
    /// addresses of cells.
    pub(super) fn announced(&'static self) -> Vec<*const T> {
        // Pairs with the fence of `announce` and `mark`.
        fence(Ordering::SeqCst);
        let all = records(&self.owned).chain(records(&self.spare));
        let cells = self
            .slots
            .iter()
            .chain(all)
            .map(|record| record.pin.load(Ordering::Acquire).cast_const());
        cells.filter(|cell| !cell.is_null()).collect()
    }
}

fn add<T>(list: &AtomicPtr<Record<T>>, record: Record<T>) -> &'static Record<T> {
    let mut record = Box::new(record);
    let mut head = list.load(Ordering::Acquire);
    loop {
        record.next.store(head, Ordering::Relaxed);
        let new = Box::into_raw(record);
        // Release: pairs with `records`.
        match list.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the record was published, and published records are never freed.
            Ok(_) => return unsafe { &*new },
            Err(now) => {
                head = now;
                // SAFETY: allocated above and not published.
                record = unsafe { Box::from_raw(new) };
            }
        }
    }
}

fn records<T>(list: &AtomicPtr<Record<T>>) -> impl Iterator<Item = &'static Record<T>> {
    let mut at = list.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: records are never freed.
        let record = unsafe { at.as_ref() }?;
        at = record.next.load(Ordering::Relaxed).cast_const();
        Some(record)
    })
}
