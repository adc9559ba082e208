//! The minimum work of a transfer, without any layers: the floor of the rows with one thread.

use std::hint::black_box;

/// The size of a small message, in bytes.
pub(super) const MESSAGE: usize = 64;

const SLOTS: usize = 64;

/// A receive ring, two completion queues, a table of keys and a copy, for one thread. Each call of
/// the API is one function that is not inlined.
pub(super) struct Skeleton {
    memory: Vec<u8>,
    /// First byte and length, by key.
    regions: Vec<(usize, usize)>,
    receives: Ring,
    sent: Ring,
    received: Ring,
}

/// Slots of cookie, offset and key.
#[derive(Default)]
struct Ring {
    slots: Vec<(u64, usize, usize)>,
    head: usize,
    tail: usize,
}

impl Ring {
    fn new() -> Self {
        Self { slots: vec![(0, 0, 0); SLOTS], head: 0, tail: 0 }
    }

    #[inline]
    fn push(&mut self, entry: (u64, usize, usize)) -> bool {
        if self.tail - self.head == SLOTS {
            return false;
        }
        self.slots[self.tail % SLOTS] = entry;
        self.tail += 1;
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, usize, usize)> {
        if self.head == self.tail {
            return None;
        }
        self.head += 1;
        Some(self.slots[(self.head - 1) % SLOTS])
    }
}

impl Skeleton {
    pub(super) fn new() -> Self {
        Self {
            memory: vec![7; 2 * MESSAGE],
            regions: vec![(0, 2 * MESSAGE); 2],
            receives: Ring::new(),
            sent: Ring::new(),
            received: Ring::new(),
        }
    }

    #[inline]
    fn permits(&self, key: usize, place: usize) -> bool {
        self.regions
            .get(key)
            .is_some_and(|(first, length)| place >= *first && place + MESSAGE <= first + length)
    }

    /// A receive, a send, and both completions.
    #[inline]
    pub(super) fn cycle(&mut self, cookie: u64) -> bool {
        self.receive(cookie)
            && self.send(cookie)
            && Self::reap(&mut self.sent)
            && Self::reap(&mut self.received)
    }

    #[inline(never)]
    fn receive(&mut self, cookie: u64) -> bool {
        self.receives.push((black_box(cookie), black_box(MESSAGE), black_box(1)))
    }

    #[inline(never)]
    fn send(&mut self, cookie: u64) -> bool {
        let (cookie, from, key) = (black_box(cookie), black_box(0), black_box(0));
        let Some((receive, to, other)) = self.receives.pop() else { return false };
        if !self.permits(key, from) || !self.permits(other, to) {
            return false;
        }
        self.memory.copy_within(from..from + MESSAGE, to);
        self.received.push((receive, MESSAGE, 0)) && self.sent.push((cookie, MESSAGE, 0))
    }

    /// A write and its completion.
    #[inline]
    pub(super) fn write(&mut self, cookie: u64) -> bool {
        self.post_write(cookie) && Self::reap(&mut self.sent)
    }

    #[inline(never)]
    fn post_write(&mut self, cookie: u64) -> bool {
        let (cookie, from, key) = (black_box(cookie), black_box(0), black_box(0));
        let (to, other) = (black_box(MESSAGE), black_box(1));
        if !self.permits(key, from) || !self.permits(other, to) {
            return false;
        }
        self.memory.copy_within(from..from + MESSAGE, to);
        self.sent.push((cookie, MESSAGE, 0))
    }

    /// Takes a completion and reads all of it.
    #[inline(never)]
    fn reap(ring: &mut Ring) -> bool {
        let Some((cookie, length, status)) = ring.pop() else { return false };
        black_box(cookie);
        black_box(length);
        black_box(status) == 0
    }
}
