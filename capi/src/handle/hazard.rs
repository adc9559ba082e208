//! Pins: how a thread says that it uses the object of a cell, and how whoever frees objects
//! learns of it.
//!
//! A call announces the cell in a record of its thread, then looks whether the object is live.
//! Whoever frees an object first marks the cell dead, then looks for announcements. One of the two
//! must see what the other wrote, and so both pass a full fence between their write and their
//! read; `thread` has the fences of the process, and `.ci/loom` tries every interleaving of this
//! file with those of the language.

use std::marker::PhantomData;
use std::ptr::{self, null_mut, without_provenance_mut};

use dat_sync::biased::token_again;

use super::sync::{AtomicPtr, AtomicUsize, Ordering, fence};

/// Where one cell is announced at a time. Records are used again and never freed.
#[repr(align(64))]
pub(super) struct Record<T: 'static> {
    /// The cell; while there is none, the number of whose record it is, which is no address of one.
    pin: AtomicPtr<T>,
    /// The number of the thread that has it for itself; [`NOBODY`] when none has.
    owner: AtomicUsize,
    /// The next of its list; never changed once others know it.
    next: AtomicPtr<Record<T>>,
}

const NOBODY: usize = 0;

/// Records that threads find by their number alone, without a look at a variable of the thread.
const SEATS: usize = if cfg!(all(test, loom)) { 1 } else { 128 };

impl<T> Record<T> {
    fn new(cell: *mut T, owner: usize) -> Self {
        Self {
            pin: AtomicPtr::new(cell),
            owner: AtomicUsize::new(owner),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// A seat that is free.
    #[cfg(not(all(test, loom)))]
    const fn vacant() -> Self {
        Self {
            pin: AtomicPtr::new(null_mut()),
            owner: AtomicUsize::new(NOBODY),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// Whether the thread of that number has it.
    pub(super) fn is_of(&self, thread: usize) -> bool {
        self.owner.load(Ordering::Relaxed) == thread
    }

    /// Whether the thread of that number has it, and announces nothing at the moment.
    #[inline(always)]
    pub(super) fn is_idle_of(&self, thread: usize) -> bool {
        self.pin.load(Ordering::Relaxed).addr() == thread
    }

    /// Takes it for the thread of that number, if nobody has it.
    fn take(&self, thread: usize) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        let taken = self.is_of(NOBODY)
            && self.owner.compare_exchange(NOBODY, thread, success, failure).is_ok();
        if taken {
            // Release: who sees it sees what its last thread did with a cell.
            self.pin.store(without_provenance_mut(thread), Ordering::Release);
        }
        taken
    }

    /// Whether its thread announces nothing at the moment.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle_of(self.owner.load(Ordering::Relaxed))
    }

    /// Announces a cell. Only the thread whose record it is may, while it is idle.
    #[inline(always)]
    pub(super) fn announce(&'static self, cell: &'static T, fence: impl FnOnce()) -> Pin<T> {
        self.mark(cell, fence);
        Pin { record: self }
    }

    #[inline(always)]
    fn mark(&self, cell: &'static T, fence: impl FnOnce()) {
        // Release: who sees it also sees what was done with the cell announced before it.
        self.pin.store(ptr::from_ref(cell).cast_mut(), Ordering::Release);
        fence();
    }

    /// Leaves it to other threads.
    pub(super) fn leave(&self) {
        // Release: as at the end of a pin.
        self.pin.store(null_mut(), Ordering::Release);
        self.owner.store(NOBODY, Ordering::Release);
    }
}

/// A cell that stays as it is for as long as this lives.
pub(super) struct Pin<T: 'static> {
    record: &'static Record<T>,
}

/// The same on the seat of this thread, whose number is its owner's: it comes and goes in the
/// fewest steps.
pub(super) struct Seated<T: 'static> {
    seat: &'static Record<T>,
    /// It stays with its thread.
    thread: PhantomData<*const ()>,
}

impl<T> Seated<T> {
    /// Announces a cell on the seat of the thread of that number, which is this one, unless it is
    /// another's or in use.
    #[inline(always)]
    pub(super) fn new(
        seat: &'static Record<T>,
        thread: usize,
        cell: &'static T,
        fence: impl FnOnce(),
    ) -> Option<Self> {
        if !seat.is_idle_of(thread) {
            return None;
        }
        seat.mark(cell, fence);
        Some(Self { seat, thread: PhantomData })
    }

    /// The cell.
    #[inline(always)]
    pub(super) fn cell(&self) -> &'static T {
        // SAFETY: announced by a reference of that kind, and not taken back before this ends.
        unsafe { &*self.seat.pin.load(Ordering::Relaxed) }
    }
}

impl<T> Drop for Seated<T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.seat.pin.store(without_provenance_mut(token_again()), Ordering::Release);
    }
}

impl<T> Drop for Pin<T> {
    #[inline(always)]
    fn drop(&mut self) {
        let owner = self.record.owner.load(Ordering::Relaxed);
        self.record.pin.store(without_provenance_mut(owner), Ordering::Release);
    }
}

/// All records: the seats and those that other threads own, and those for a call inside a call or
/// at the end of a thread.
pub(super) struct Domain<T: 'static> {
    seats: [Record<T>; SEATS],
    owned: AtomicPtr<Record<T>>,
    spare: AtomicPtr<Record<T>>,
}

impl<T> Domain<T> {
    #[cfg(not(all(test, loom)))]
    pub(super) const fn new() -> Self {
        Self {
            seats: [const { Record::vacant() }; SEATS],
            owned: AtomicPtr::new(null_mut()),
            spare: AtomicPtr::new(null_mut()),
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn new() -> Self {
        Self {
            seats: std::array::from_fn(|_| Record::new(null_mut(), NOBODY)),
            owned: AtomicPtr::new(null_mut()),
            spare: AtomicPtr::new(null_mut()),
        }
    }

    /// The seat that the thread of that number can have; somebody else may have it.
    #[inline(always)]
    pub(super) fn seat(&'static self, thread: usize) -> &'static Record<T> {
        // By pages: a stack and the page that guards it are an odd number of them, and mostly as
        // many as those of the next thread, so that threads that start together sit together.
        &self.seats[(thread >> 12) % SEATS]
    }

    /// A record for the thread of that number, which has none: its seat where that is free and
    /// `seated` says so; or else one that a thread left, or a new one.
    pub(super) fn own(&'static self, thread: usize, seated: bool) -> &'static Record<T> {
        let seat = self.seat(thread);
        if seated && seat.take(thread) {
            return seat;
        }
        let left = records(&self.owned).find(|record| record.take(thread));
        let idle = without_provenance_mut(thread);
        left.unwrap_or_else(|| add(&self.owned, Record::new(idle, thread)))
    }

    /// Announces a cell on behalf of a thread whose own record is in use, or that has none.
    pub(super) fn announce(&self, cell: &'static T, fence: impl FnOnce()) -> Pin<T> {
        let announced = ptr::from_ref(cell).cast_mut();
        let idle = records(&self.spare).find(|record| {
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            record.pin.compare_exchange(null_mut(), announced, success, failure).is_ok()
        });
        let record = idle.unwrap_or_else(|| add(&self.spare, Record::new(announced, NOBODY)));
        fence();
        Pin { record }
    }

    /// What is announced, by calls that may have begun before a moment ago. All cells of interest
    /// are marked dead before. Numbers of threads are among it, which are no addresses of cells.
    pub(super) fn announced(&'static self) -> Vec<*const T> {
        fence(Ordering::SeqCst);
        let all = records(&self.owned).chain(records(&self.spare));
        let cells = self
            .seats
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
        match list.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: published, and so never freed.
            Ok(_) => return unsafe { &*new },
            Err(now) => {
                head = now;
                // SAFETY: made above, and published nowhere.
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
