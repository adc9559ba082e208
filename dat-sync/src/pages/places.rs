//! Places for objects of a few cache lines, close together.
//!
//! An allocator for everybody strews objects of one kind over pages of the smallest size: who goes
//! through thousands of them in random order misses the translation of each. Here they lie on
//! pages like those of [`Chunks`](super::Chunks), and begin at a cache line.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{NonNull, null_mut};

use parking_lot::{Mutex, const_mutex};

use super::{HUGE, Pages, Size};

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// A place has no more lines than this.
pub(crate) const MOST_LINES: usize = 64;

/// Where there is not as much as a huge page, so many bytes will do.
const LITTLE: usize = 64 << 10;

/// Pages that are mapped at once are no more than this.
const MUCH: usize = 64 << 20;

/// A place that is free holds the next one of as many lines.
struct Free(Option<NonNull<Free>>);

struct Places {
    /// The first free one, by the number of lines.
    free: [Option<NonNull<Free>>; MOST_LINES + 1],
    /// Where those begin that nobody had yet, and their end.
    fresh: *mut u8,
    end: *mut u8,
    /// Where the first pages are worth to be a huge one.
    middle: *mut u8,
    /// How many are taken.
    taken: usize,
    pages: Vec<Pages>,
}

// SAFETY: the addresses are of memory that belongs to this, or to nobody.
unsafe impl Send for Places {}

static PLACES: Mutex<Places> = const_mutex(Places::new());

/// A place of so many cache lines, at most [`MOST_LINES`]. What it holds is nobody's.
pub(crate) fn take(lines: usize) -> NonNull<u8> {
    debug_assert!((1..=MOST_LINES).contains(&lines));
    PLACES.lock().take(lines)
}

/// Gives a place back.
///
/// # Safety
/// It was [taken](take) with as many lines, and nobody uses it any more.
pub(crate) unsafe fn give_back(place: NonNull<u8>, lines: usize) {
    // SAFETY: by the contract of this function.
    unsafe { PLACES.lock().give_back(place, lines) };
}

impl Places {
    const fn new() -> Self {
        let (null, free) = (null_mut(), [None; MOST_LINES + 1]);
        Self { free, fresh: null, end: null, middle: null, taken: 0, pages: Vec::new() }
    }

    fn take(&mut self, lines: usize) -> NonNull<u8> {
        let place = match self.free[lines] {
            Some(first) => {
                // SAFETY: it is free, and so what `give_back` has written there.
                self.free[lines] = unsafe { first.as_ref() }.0;
                first.cast()
            }
            None => self.open(lines * LINE),
        };
        self.taken += 1;
        place
    }

    /// A place that nobody had yet.
    fn open(&mut self, len: usize) -> NonNull<u8> {
        if self.end.addr() - self.fresh.addr() < len {
            self.map(len);
        }
        let place = self.fresh;
        self.fresh = place.wrapping_add(len);
        if (place.addr()..self.fresh.addr()).contains(&self.middle.addr()) {
            self.pages[0].collapse();
        }
        // `map` has seen to it; the end of the former pages is left.
        NonNull::new(place).unwrap_or(NonNull::dangling())
    }

    /// Maps more: as much as all before, so that there are few mappings.
    fn map(&mut self, len: usize) {
        let before: usize = self.pages.iter().map(Pages::len).sum();
        let size = if before == 0 { Size::Small } else { Size::Huge };
        let pages = Pages::zeroed((before & !(HUGE - 1)).clamp(HUGE, MUCH), size)
            .or_else(|| Pages::zeroed(LITTLE, Size::Small))
            .unwrap_or_else(|| {
                handle_alloc_error(
                    Layout::from_size_align(len, LINE).unwrap_or(Layout::new::<u8>()),
                )
            });
        self.pages.push(pages);
        self.begin_last();
    }

    /// From here on places are opened in the last pages.
    fn begin_last(&mut self) {
        let Some(last) = self.pages.last() else { return };
        self.fresh = last.base().as_ptr();
        self.end = self.fresh.wrapping_add(last.len());
        let first = self.pages.len() == 1 && last.len() == HUGE;
        self.middle = if first { self.fresh.wrapping_add(HUGE / 2) } else { null_mut() };
    }

    /// # Safety
    /// As for [`give_back`].
    unsafe fn give_back(&mut self, place: NonNull<u8>, lines: usize) {
        let place = place.cast::<Free>();
        // SAFETY: it is as large as a line, at the beginning of one, and nobody uses it.
        unsafe { place.write(Free(self.free[lines])) };
        self.free[lines] = Some(place);
        self.taken -= 1;
        if self.taken == 0 && self.pages.len() > 1 {
            // What a crowd needed goes back to the system with the last of it.
            self.free = [None; MOST_LINES + 1];
            self.pages.truncate(1);
            self.begin_last();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Takes a place and fills it.
    fn fill(places: &mut Places, lines: usize, with: u8) -> NonNull<u8> {
        let place = places.take(lines);
        assert_eq!(place.as_ptr().addr() % LINE, 0);
        // SAFETY: so many bytes are of this place.
        unsafe { place.write_bytes(with, lines * LINE) };
        place
    }

    fn holds(place: NonNull<u8>, lines: usize, with: u8) -> bool {
        // SAFETY: it was filled so, and nobody else writes there.
        let bytes = unsafe { std::slice::from_raw_parts(place.as_ptr(), lines * LINE) };
        bytes.iter().all(|byte| *byte == with)
    }

    #[test]
    fn places_are_apart_over_all_pages() {
        let mut places = Places::new();
        let sizes = (1..=MOST_LINES).cycle().take(3 * HUGE / LINE / 32);
        let taken: Vec<_> = sizes
            .zip((0..=250).cycle())
            .map(|(lines, with)| (fill(&mut places, lines, with), lines, with))
            .collect();
        assert!(places.pages.len() > 1);
        assert!(taken.iter().all(|&(place, lines, with)| holds(place, lines, with)));
    }

    #[test]
    fn a_place_that_was_given_back_is_taken_again_by_who_needs_as_much() {
        let mut places = Places::new();
        let (first, other) = (fill(&mut places, 3, 1), fill(&mut places, 3, 2));
        // SAFETY: taken so above.
        unsafe { places.give_back(first, 3) };
        assert_ne!(fill(&mut places, 4, 4), first);
        assert_eq!(fill(&mut places, 3, 3), first);
        assert!(holds(other, 3, 2));
    }

    #[test]
    fn what_many_needed_goes_back_with_the_last_of_them() {
        let mut places = Places::new();
        for _ in 0..3 {
            let taken: Vec<_> =
                (0..3 * HUGE / (8 * LINE)).map(|_| fill(&mut places, 8, 1)).collect();
            assert!(places.pages.len() > 1);
            for place in taken {
                // SAFETY: taken so above.
                unsafe { places.give_back(place, 8) };
            }
            assert_eq!((places.taken, places.pages.len()), (0, 1));
        }
    }
}
