//! How many references an object has, and where that stands.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::process::abort;
use std::ptr::NonNull;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, Ordering};

use crate::pages::places::{self, LINE, MOST_LINES};

/// More references than this are a mistake that would overflow the count.
const MOST: u32 = u32::MAX / 2;

/// The counts of an object, which stand behind it.
pub(super) struct Counts {
    strong: AtomicU32,
    /// Those, and one for all strong ones together.
    weak: AtomicU32,
}

/// The memory of an object, its counts included.
#[derive(Clone, Copy)]
struct Block {
    layout: Layout,
    counts: usize,
}

impl Block {
    /// That of an object with such a layout.
    fn of(object: Layout) -> Self {
        match object.extend(Layout::new::<Counts>()) {
            Ok((layout, counts)) => match layout.align_to(LINE) {
                Ok(layout) => Self { layout: layout.pad_to_align(), counts },
                Err(_) => handle_alloc_error(object),
            },
            Err(_) => handle_alloc_error(object),
        }
    }

    /// Where the counts are, of an object at a place.
    fn counts_at(self, place: NonNull<u8>) -> *mut Counts {
        place.as_ptr().wrapping_add(self.counts).cast()
    }

    /// How many lines, if there are places of that size.
    fn lines(self) -> Option<usize> {
        let lines = self.layout.size() / LINE;
        (self.layout.align() == LINE && lines <= MOST_LINES).then_some(lines)
    }
}

/// Memory for an object, with its counts: nothing is there yet, and one weak reference to it.
pub(super) fn allocate(object: Layout) -> NonNull<u8> {
    let block = Block::of(object);
    let place = match block.lines() {
        Some(lines) => places::take(lines),
        // SAFETY: a block is not empty, for there are counts in it.
        None => NonNull::new(unsafe { alloc(block.layout) })
            .unwrap_or_else(|| handle_alloc_error(block.layout)),
    };
    let counts = Counts { strong: AtomicU32::new(0), weak: AtomicU32::new(1) };
    // SAFETY: the place is large enough for the object and its counts, and nobody else's.
    unsafe { block.counts_at(place).write(counts) };
    place
}

/// The counts of an object at that place.
///
/// # Safety
/// The place was [allocated](allocate) for such an object, and stays so.
pub(super) unsafe fn of<'a>(place: NonNull<u8>, object: Layout) -> &'a Counts {
    let counts = Block::of(object).counts_at(place);
    // SAFETY: they were written there, and are changed as atomics only.
    unsafe { &*counts }
}

impl Counts {
    /// The object is there from now on: who looks for it finds all of it. The weak reference that
    /// there was from the beginning is that of the strong ones.
    pub(super) fn begin(&self) {
        self.strong.store(1, Ordering::Release);
    }

    /// Another strong reference, of who has one.
    pub(super) fn add_strong(&self) {
        // Relaxed: who has a reference keeps the object, and hands the new one over by itself.
        if self.strong.fetch_add(1, Ordering::Relaxed) > MOST {
            abort();
        }
    }

    /// A strong reference, unless the last one is gone.
    pub(super) fn upgrade(&self) -> bool {
        // Acquire: of the store by which the object is there.
        self.strong
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |strong| match strong {
                0 => None,
                1..=MOST => Some(strong + 1),
                _ => abort(),
            })
            .is_ok()
    }

    /// Ends a strong reference; whether it was the last, so that the object is the caller's.
    pub(super) fn end_strong(&self) -> bool {
        // All that others did with the object comes before its end.
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

/// Ends a weak reference to an object at a place; the memory goes with the last one.
///
/// # Safety
/// As for [`of`]; the reference is not used any more.
pub(super) unsafe fn end_weak(place: NonNull<u8>, object: Layout) {
    // SAFETY: by the contract of this function.
    let counts = unsafe { of(place, object) };
    if counts.weak.fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    let block = Block::of(object);
    match block.lines() {
        // SAFETY: allocated so; that was the last reference.
        Some(lines) => unsafe { places::give_back(place, lines) },
        // SAFETY: as above.
        None => unsafe { dealloc(place.as_ptr(), block.layout) },
    }
}
