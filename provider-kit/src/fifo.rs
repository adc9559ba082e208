//! A growing queue for small entries. Its operations are short enough to be inlined on the fast path.

/// A first-in, first-out queue.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    /// The slots; their number is a power of two or 0.
    slots: Box<[T]>,
    head: usize,
    len: usize,
}

/// Slots that are allocated for the first entry.
const MIN_SLOTS: usize = 8;

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { slots: Box::default(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Fifo<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an entry.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let index = self.index(self.len);
        self.slots[index] = entry;
        self.len += 1;
    }

    /// The oldest entry.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<T> {
        if self.len == 0 { None } else { self.slots.get(self.index(0)).copied() }
    }

    /// Removes the oldest entry, if there is one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        let count = self.len.min(1);
        self.head = self.head.wrapping_add(count);
        self.len -= count;
    }

    /// All entries, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len).map(|offset| self.slots[self.index(offset)])
    }

    #[inline(always)]
    fn index(&self, offset: usize) -> usize {
        self.head.wrapping_add(offset) & self.slots.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots =
            vec![T::default(); (self.slots.len() * 2).max(MIN_SLOTS)].into_boxed_slice();
        slots.iter_mut().zip(self.iter()).for_each(|(slot, entry)| *slot = entry);
        (self.slots, self.head) = (slots, 0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let (mut fifo, mut expected) = (Fifo::default(), VecDeque::new());
        // The number of entries rises and falls, and the head is everywhere when the queue grows.
        for number in 0..1_000_u32 {
            fifo.push(number);
            expected.push_back(number);
            for _ in 0..number % 3 {
                assert_eq!(fifo.front(), expected.pop_front());
                fifo.pop();
            }
            if number % 100 == 99 {
                (0..number % 64).for_each(|more| {
                    fifo.push(more);
                    expected.push_back(more);
                });
            }
            assert_eq!(fifo.len(), expected.len());
            assert!(fifo.iter().eq(expected.iter().copied()));
        }
        expected.iter().for_each(|_| fifo.pop());
        assert!(fifo.is_empty() && fifo.front().is_none());
        fifo.pop();
        assert_eq!(fifo.len(), 0, "there was none to remove");
    }
}
