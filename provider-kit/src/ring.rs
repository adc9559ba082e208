//! A queue of fixed capacity whose entries have segments; its memory is allocated for the first entry.

use dat_provider::Segment;

/// A queue of entries with segments.
pub struct Ring<T> {
    capacity: usize,
    /// Allocated for the first entry; many rings never have one.
    slots: Box<[Slot<T>]>,
    /// `stride` segments per slot.
    segments: Box<[Segment]>,
    stride: usize,
    head: usize,
    len: usize,
}

#[derive(Clone, Default)]
struct Slot<T> {
    entry: T,
    segments: usize,
}

impl<T: Default> Ring<T> {
    /// A queue for `capacity` entries of at most `stride` segments each.
    pub fn new(capacity: u32, stride: u32) -> Self {
        let (capacity, stride) = (capacity as usize, stride as usize);
        Self { capacity, slots: Box::default(), segments: Box::default(), stride, head: 0, len: 0 }
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

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// Returns the entry if the queue is full or the entry has too many segments.
    #[inline(always)]
    pub fn push(&mut self, entry: T, segments: &[Segment]) -> Result<(), T> {
        if self.len == self.capacity || segments.len() > self.stride {
            return Err(entry);
        }
        if self.slots.is_empty() {
            self.allocate();
        }
        let index = self.index(self.len);
        let start = index * self.stride;
        match segments {
            // Without a call of memcpy.
            [segment] => self.segments[start] = *segment,
            _ => self.segments[start..start + segments.len()].copy_from_slice(segments),
        }
        self.slots[index] = Slot { entry, segments: segments.len() };
        self.len += 1;
        Ok(())
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<(&T, &[Segment])> {
        if self.len == 0 {
            return None;
        }
        let slot = &self.slots[self.head];
        let start = self.head * self.stride;
        Some((&slot.entry, &self.segments[start..start + slot.segments]))
    }

    /// Removes the oldest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let entry = std::mem::take(&mut self.slots[self.head].entry);
        self.head = self.index(1);
        self.len -= 1;
        Some(entry)
    }

    /// Changes the capacity and the number of segments per entry, to at least what the entries need.
    pub fn reallocate(&mut self, capacity: u32, stride: u32) {
        let used = (0..self.len).map(|n| self.slots[self.index(n)].segments).max().unwrap_or(0);
        let capacity = capacity.max(u32::try_from(self.len).unwrap_or(u32::MAX));
        let stride = stride.max(u32::try_from(used).unwrap_or(u32::MAX));
        let mut next = Self::new(capacity, stride);
        if self.len > 0 {
            next.allocate();
        }
        while let Some((_, segments)) = self.front() {
            let start = next.len * next.stride;
            next.segments[start..start + segments.len()].copy_from_slice(segments);
            next.slots[next.len].segments = segments.len();
            next.slots[next.len].entry = self.pop().unwrap_or_default();
            next.len += 1;
        }
        *self = next;
    }

    #[cold]
    fn allocate(&mut self) {
        self.slots = (0..self.capacity).map(|_| Slot::default()).collect();
        self.segments = vec![Segment::default(); self.capacity * self.stride].into();
    }

    #[inline]
    fn index(&self, offset: usize) -> usize {
        let index = self.head + offset;
        if index >= self.slots.len() { index - self.slots.len() } else { index }
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
                ring.reallocate(3, 2);
            }
        }
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
}
