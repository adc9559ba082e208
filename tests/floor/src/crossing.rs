//! The minimum that carries messages from one thread to another: the floor of the rows with two
//! threads.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::skeleton::MESSAGE;

const SLOTS: usize = 64;
const WORDS: usize = MESSAGE / 8;

/// A channel for messages, which are numbered from 1.
pub(super) trait Way: Default + Sync {
    /// Sends a message, spinning for a free slot. `room` caches the last slot known to be free.
    fn send(&self, number: u64, room: &mut u64);

    /// Spins until a message arrives, and frees its slot.
    fn receive(&self, number: u64);
}

/// A message, which is written and read as words.
type Message = [AtomicU64; WORDS];

#[inline]
fn write(message: &Message, first: u64) {
    for (index, word) in message.iter().enumerate() {
        word.store(first + index as u64, Ordering::Relaxed);
    }
}

#[inline]
fn read(message: &Message) {
    for word in message {
        black_box(word.load(Ordering::Relaxed));
    }
}

#[inline]
fn await_number(number: &AtomicU64, wanted: u64) {
    while number.load(Ordering::Acquire) != wanted {
        std::hint::spin_loop();
    }
}

/// A ring. A slot has one cache line for number and cookie, and one for the message.
pub(super) struct Ring {
    slots: Vec<Slot>,
    taken: Padded,
}

#[repr(align(128))]
#[derive(Default)]
struct Padded(AtomicU64);

#[repr(align(128))]
#[derive(Default)]
struct Slot {
    number: AtomicU64,
    cookie: AtomicU64,
    message: Message,
}

impl Default for Ring {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        Self { slots, taken: Padded::default() }
    }
}

impl Way for Ring {
    #[inline]
    fn send(&self, number: u64, room: &mut u64) {
        while number > *room {
            *room = self.taken.0.load(Ordering::Acquire) + SLOTS as u64;
            if number > *room {
                std::hint::spin_loop();
            }
        }
        let slot = &self.slots[number as usize % SLOTS];
        write(&slot.message, number);
        slot.cookie.store(number, Ordering::Relaxed);
        slot.number.store(number, Ordering::Release);
    }

    #[inline]
    fn receive(&self, number: u64) {
        let slot = &self.slots[number as usize % SLOTS];
        await_number(&slot.number, number);
        read(&slot.message);
        black_box(slot.cookie.load(Ordering::Relaxed));
        self.taken.0.store(number, Ordering::Release);
    }
}

/// The steps of a send: a posted receive names a buffer, the message is copied into it, and a
/// completion is written. It takes no locks and checks only the key of the receive.
pub(super) struct Receives {
    /// Two per cache line, like completions.
    posted: Vec<Entry>,
    completed: Vec<Entry>,
    /// Receive buffers, by key.
    memory: Vec<Place>,
}

#[repr(align(32))]
#[derive(Default)]
struct Entry {
    number: AtomicU64,
    cookie: AtomicU64,
    length: AtomicU64,
    /// The memory key of a receive; the status of a completion.
    rest: AtomicU64,
}

#[repr(align(128))]
#[derive(Default)]
struct Place(Message);

/// Receives that are posted in advance, as in latency-sensitive programs.
pub(super) const AHEAD: u64 = 16;

impl Default for Receives {
    fn default() -> Self {
        let ring = || (0..SLOTS).map(|_| Entry::default()).collect();
        let memory = vec![Place::default()];
        let receives = Self { posted: ring(), completed: ring(), memory };
        (1..=AHEAD).for_each(|number| receives.post(number));
        receives
    }
}

impl Receives {
    #[inline]
    fn post(&self, number: u64) {
        self.posted[number as usize % SLOTS].fill(number, black_box(0));
    }
}

impl Entry {
    #[inline]
    fn fill(&self, number: u64, rest: u64) {
        self.cookie.store(number, Ordering::Relaxed);
        self.length.store(MESSAGE as u64, Ordering::Relaxed);
        self.rest.store(rest, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }
}

impl Way for Receives {
    #[inline]
    fn send(&self, number: u64, _: &mut u64) {
        let receive = &self.posted[number as usize % SLOTS];
        await_number(&receive.number, number);
        let fits = receive.length.load(Ordering::Relaxed) >= MESSAGE as u64;
        let key = receive.rest.load(Ordering::Relaxed) as usize;
        if let (Some(place), true) = (self.memory.get(key), fits) {
            write(&place.0, number);
        }
        black_box(receive.cookie.load(Ordering::Relaxed));
        self.completed[number as usize % SLOTS].fill(number, 0);
    }

    #[inline]
    fn receive(&self, number: u64) {
        let completion = &self.completed[number as usize % SLOTS];
        await_number(&completion.number, number);
        for word in [&completion.cookie, &completion.length, &completion.rest] {
            black_box(word.load(Ordering::Relaxed));
        }
        read(&self.memory[0].0);
        self.post(number + AHEAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carries<W: Way>() {
        let way = W::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=1000).for_each(|number| way.receive(number)));
            let mut room = 0;
            (1..=1000).for_each(|number| way.send(number, &mut room));
        });
    }

    #[test]
    fn both_ways_carry_more_messages_than_they_have_slots() {
        carries::<Ring>();
        carries::<Receives>();
    }
}
