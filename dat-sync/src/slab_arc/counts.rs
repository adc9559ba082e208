//! The reference counts of an object, and where they are stored.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::process::abort;
use std::ptr::NonNull;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, Ordering};

use crate::pages::slab::{self, CACHE_LINE, MAX_LINES};

/// A greater number of references is a bug that would overflow the count.
const MOST: u32 = u32::MAX / 2;

/// The counts of an object, stored behind it.
pub(super) struct Counts {
    strong: AtomicU32,
    /// Number of weak references, plus one for all strong references together.
    weak: AtomicU32,
}

/// The memory block of an object and its counts.
#[derive(Clone, Copy)]
struct Block {
    layout: Layout,
    counts: usize,
}

impl Block {
    /// The block of an object with that layout.
    fn of(object: Layout) -> Self {
        match object.extend(Layout::new::<Counts>()) {
            Ok((layout, counts)) => match layout.align_to(CACHE_LINE) {
                Ok(layout) => Self { layout: layout.pad_to_align(), counts },
                Err(_) => handle_alloc_error(object),
            },
            Err(_) => handle_alloc_error(object),
        }
    }

    /// The address of the counts of an object.
    fn counts_at(self, place: NonNull<u8>) -> *mut Counts {
        place.as_ptr().wrapping_add(self.counts).cast()
    }

    /// The size in cache lines, if the slab allocator has slots of that size.
    fn lines(self) -> Option<usize> {
        let lines = self.layout.size() / CACHE_LINE;
        (self.layout.align() == CACHE_LINE && lines <= MAX_LINES).then_some(lines)
    }
}

/// Allocates memory for an object and its counts: no object yet, and one weak reference. `None` if the system
/// has no memory.
pub(super) fn allocate(object: Layout) -> Option<NonNull<u8>> {
    let block = Block::of(object);
    let place = match block.lines() {
        Some(lines) => slab::take(lines)?,
        // SAFETY: the block has a size above 0, because it contains the counts.
        None => NonNull::new(unsafe { alloc(block.layout) })?,
    };
    let counts = Counts { strong: AtomicU32::new(0), weak: AtomicU32::new(1) };
    // SAFETY: the block was just allocated, is large enough for the counts and belongs to this
    // call.
    unsafe { block.counts_at(place).write(counts) };
    Some(place)
}

/// The counts of an object at that address.
///
/// # Safety
/// The memory was [allocated](allocate) for such an object and lives as long as the result.
pub(super) unsafe fn of<'a>(place: NonNull<u8>, object: Layout) -> &'a Counts {
    let counts = Block::of(object).counts_at(place);
    // SAFETY: `allocate` has written the counts there, and they are changed only as atomics.
    unsafe { &*counts }
}

impl Counts {
    /// Publishes the object: a thread that upgrades a reference sees it completely. The initial
    /// weak reference becomes the one of all strong references.
    pub(super) fn begin(&self) {
        self.strong.store(1, Ordering::Release);
    }

    /// Adds a strong reference; the caller has one.
    pub(super) fn add_strong(&self) {
        // Relaxed: the caller's reference keeps the object alive, and passing on the new one
        // synchronises.
        if self.strong.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    /// Adds a strong reference unless there are none left; returns whether it did.
    pub(super) fn upgrade(&self) -> bool {
        // Acquire: pairs with the store that published the object.
        self.strong
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |strong| match strong {
                0 => None,
                1..=MOST => Some(strong + 1),
                _ => abort(),
            })
            .is_ok()
    }

    /// Removes a strong reference; returns whether it was the last, so that the caller must drop
    /// the object.
    pub(super) fn end_strong(&self) -> bool {
        // AcqRel: all uses of the object happen before its drop.
        self.strong.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn add_weak(&self) {
        if self.weak.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    pub(super) fn strong(&self) -> usize {
        self.strong.load(Ordering::Relaxed) as usize
    }
}

/// Removes a weak reference to an object; the last one frees the memory.
///
/// # Safety
/// As for [`of`]; the reference is not used afterwards.
pub(super) unsafe fn end_weak(place: NonNull<u8>, object: Layout) {
    // SAFETY: the caller guarantees that the memory was allocated for such an object.
    let counts = unsafe { of(place, object) };
    if counts.weak.fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    let block = Block::of(object);
    match block.lines() {
        // SAFETY: `allocate` took the slot with this size, and the last reference is gone.
        Some(lines) => unsafe { slab::free(place, lines) },
        // SAFETY: `allocate` used this layout, and the last reference is gone.
        None => unsafe { dealloc(place.as_ptr(), block.layout) },
    }
}
