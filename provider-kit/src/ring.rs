//! A queue of limited capacity whose entries have segments. Its memory grows with the number of entries.

use dat_provider::Segment;

use crate::memory;

/// A queue of entries with segments. An entry with one segment, the usual case, takes only one slot.
pub struct Ring<T> {
    capacity: usize,
    /// Maximum number of segments of an entry.
    stride: usize,
    /// The slots; none before the first entry. Their number doubles up to the capacity: most queues may have many more
    /// entries than they ever have.
    slots: Box<[Slot<T>]>,
    head: usize,
    len: usize,
    /// `stride` segments for each slot; none before the first entry that does not have exactly one.
    others: Box<[Segment]>,
}

#[derive(Default)]
struct Slot<T> {
    entry: T,
    /// The segment, if there is exactly one.
    single: Segment,
    segments: u32,
}

/// Number of slots that are allocated for the first entry.
const FIRST_SLOTS: usize = 4;

impl<T: Default> Ring<T> {
    /// A queue for `capacity` entries of at most `stride` segments each.
    pub fn new(capacity: u32, stride: u32) -> Self {
        let (capacity, stride) = (capacity as usize, stride as usize);
        Self { capacity, stride, slots: Box::default(), head: 0, len: 0, others: Box::default() }
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// As [`len`](Self::len), saturated to 32 bits.
    pub fn count(&self) -> u32 {
        u32::try_from(self.len).unwrap_or(u32::MAX)
    }

    /// Returns true if there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// Returns the entry if the queue is full, the entry has too many segments, or there is no memory.
    #[inline(always)]
    pub fn push(&mut self, entry: T, segments: &[Segment]) -> Result<(), T> {
        let fits = self.len < self.slots.len() || self.grow();
        if !fits || segments.len() > self.stride {
            return Err(entry);
        }
        let index = self.index(self.len);
        let single = match segments {
            [segment] => *segment,
            _ => match self.store_others(index, segments) {
                Some(placeholder) => placeholder,
                None => return Err(entry),
            },
        };
        self.slots[index] = Slot { entry, single, segments: segments.len() as u32 };
        self.len += 1;
        Ok(())
    }

    /// Stores the segments of an entry that does not have exactly one. Returns the segment to store in its slot; `None`
    /// if there is no memory.
    #[cold]
    #[inline(never)]
    fn store_others(&mut self, index: usize, segments: &[Segment]) -> Option<Segment> {
        if !self.allocate_others() {
            return None;
        }
        let start = index * self.stride;
        self.others[start..start + segments.len()].copy_from_slice(segments);
        Some(Segment::default())
    }

    /// Puts an entry that was removed back in front of the others.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_front(&mut self, entry: T, segments: &[Segment]) -> Result<(), T> {
        let fits = self.len < self.slots.len() || self.grow();
        if !fits || segments.len() > self.stride {
            return Err(entry);
        }
        let index = self.index(self.slots.len() - 1);
        let single = match segments {
            [segment] => *segment,
            _ => match self.store_others(index, segments) {
                Some(placeholder) => placeholder,
                None => return Err(entry),
            },
        };
        self.slots[index] = Slot { entry, single, segments: segments.len() as u32 };
        self.head = index;
        self.len += 1;
        Ok(())
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<(&T, &[Segment])> {
        let slot = self.slots.get(self.head).filter(|_| self.len > 0)?;
        let segments = match slot.segments {
            1 => std::slice::from_ref(&slot.single),
            count => self.others(count),
        };
        Some((&slot.entry, segments))
    }

    #[cold]
    #[inline(never)]
    fn others(&self, count: u32) -> &[Segment] {
        self.others.get(self.head * self.stride..).map_or(&[], |rest| &rest[..count as usize])
    }

    /// Removes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let entry = std::mem::take(&mut self.slots.get_mut(self.head)?.entry);
        self.advance();
        Some(entry)
    }

    /// Removes the oldest entry, which must exist.
    #[inline]
    fn advance(&mut self) {
        self.head = self.index(1);
        self.len -= 1;
    }

    /// Changes the capacity and the number of segments per entry, at least to the current needs. Returns false, without
    /// effect, if there is no memory.
    #[must_use]
    pub fn reallocate(&mut self, capacity: u32, stride: u32) -> bool {
        let counts = || (0..self.len).map(|n| self.slots[self.index(n)].segments);
        let (used, has_others) = (counts().max().unwrap_or(0), counts().any(|count| count != 1));
        let capacity = capacity.max(self.count());
        let slots = if self.len > 0 { self.len.max(FIRST_SLOTS) } else { 0 };
        self.move_to(Self::new(capacity, stride.max(used)), slots, has_others)
    }

    /// Moves all entries to an empty ring, which gets this number of slots, at most its capacity, and segments for
    /// entries that do not have exactly one. Returns false, without effect, if there is no memory.
    fn move_to(&mut self, mut next: Self, slots: usize, has_others: bool) -> bool {
        let Some(slots) = memory::slice(slots.min(next.capacity)) else { return false };
        next.slots = slots;
        if has_others && !next.allocate_others() {
            return false;
        }
        while self.len > 0 {
            let entry = std::mem::take(&mut self.slots[self.head].entry);
            // The new ring has space for all entries.
            let _ = next.push(entry, self.front().map_or(&[], |(_, segments)| segments));
            self.advance();
        }
        *self = next;
        true
    }

    /// All slots are in use: allocates more. Returns true if there is space for an entry.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> bool {
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS).min(self.capacity);
        if slots <= self.slots.len() {
            return false;
        }
        let next = Self { capacity: self.capacity, stride: self.stride, ..Self::new(0, 0) };
        self.move_to(next, slots, !self.others.is_empty())
    }

    /// Allocates the segments of entries that do not have exactly one, on first use. Returns false if there is no
    /// memory.
    #[cold]
    fn allocate_others(&mut self) -> bool {
        if self.others.is_empty() {
            let length = self.slots.len().checked_mul(self.stride);
            self.others = length.and_then(memory::slice).unwrap_or_default();
        }
        !self.others.is_empty() || self.stride == 0
    }

    #[inline]
    fn index(&self, offset: usize) -> usize {
        let index = self.head + offset;
        if index >= self.slots.len() { index - self.slots.len() } else { index }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Removes the oldest entry, if there is one. Its slot keeps its value.
    #[inline]
    pub fn remove_front(&mut self) {
        if self.len > 0 {
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(n: u64) -> Vec<Segment> {
        (0..n % 3).map(|k| Segment { address: n, length: k, key: 1 }).collect()
    }

    #[test]
    fn entries_leave_in_order_with_their_segments() {
        let mut ring = Ring::new(3, 2);
        let (mut pushed, mut popped) = (1_u64, 1_u64);
        for round in 0..50 {
            while ring.push(pushed, &segments(pushed)).is_ok() {
                pushed += 1;
            }
            for _ in 0..=round % 3 {
                let (&entry, found) = ring.front().expect("full before");
                assert_eq!((entry, found), (popped, &segments(popped)[..]));
                assert_eq!(ring.pop(), Some(popped));
                popped += 1;
            }
            if round % 7 == 0 {
                assert!(ring.reallocate(3, 2));
            }
        }
    }

    #[test]
    fn the_slots_grow_with_the_entries_up_to_the_capacity() {
        let mut ring = Ring::new(23, 2);
        let (mut pushed, mut popped) = (0_u64, 0_u64);
        for most in [1, 4, 5, 9, 23] {
            // The oldest entry is in the middle of the slots when they are full.
            for _ in 0..3 * most {
                assert_eq!(ring.push(pushed, &segments(pushed)), Ok(()));
                pushed += 1;
                if ring.len() == most {
                    assert_eq!(ring.front(), Some((&popped, &segments(popped)[..])));
                    assert_eq!(ring.pop(), Some(popped));
                    popped += 1;
                }
            }
            assert!(
                ring.slots.len() < (2 * most).max(FIRST_SLOTS + 1),
                "{} slots",
                ring.slots.len()
            );
        }
        assert_eq!(ring.push(pushed, &[]), Ok(()));
        assert_eq!((ring.len(), ring.push(7, &[])), (23, Err(7)), "it is full");
    }

    #[test]
    fn push_returns_an_entry_that_does_not_fit() {
        let mut ring = Ring::new(1, 1);
        assert_eq!(ring.push(7, &segments(2)), Err(7), "two segments where one fits");
        assert_eq!(ring.push(7, &[]), Ok(()));
        assert_eq!(ring.push(8, &[]), Err(8));
        let mut none = Ring::<u64>::new(0, 4);
        assert_eq!(none.push(1, &[]), Err(1));
        assert_eq!((none.pop(), none.len()), (None, 0));
    }

    #[test]
    fn an_entry_that_is_put_back_is_the_oldest_again() {
        let mut ring = Ring::new(3, 2);
        assert_eq!(ring.push_front(5, &segments(5)), Ok(()), "into an empty ring");
        for round in 5..50 {
            while ring.push(round + ring.len() as u64, &segments(round + ring.len() as u64)).is_ok()
            {
            }
            assert_eq!(ring.push_front(9, &[]), Err(9), "it is full");
            assert_eq!(ring.pop(), Some(round));
            assert_eq!(ring.push_front(round, &segments(4)), Ok(()));
            assert_eq!(ring.front(), Some((&round, &segments(4)[..])));
            assert_eq!(ring.pop(), Some(round));
            let next = round + 1;
            assert_eq!(ring.front(), Some((&next, &segments(next)[..])));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends when memory is refused")]
    fn without_memory_nothing_changes() {
        let mut ring = Ring::new(2, 2);
        assert_eq!(ring.push(1, &segments(2)), Ok(()));
        assert!(!ring.reallocate(u32::MAX, u32::MAX));
        assert_eq!(ring.front(), Some((&1, &segments(2)[..])));
        let mut endless = Ring::new(4, u32::MAX);
        assert_eq!(endless.push(1, &segments(1)), Ok(()));
        assert_eq!(
            endless.push(2, &segments(2)),
            Err(2),
            "the memory of two segments is that of all"
        );
    }
}
