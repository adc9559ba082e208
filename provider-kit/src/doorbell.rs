//! Doorbells: bits that mark links with received data.
//!
//! Each link has one bit on the board of its adapter. Its peer sets the bit after it has stored a frame. A poller with
//! many links reads the words of the board, and then only the links whose bits were set. Peers may set and clear bits
//! arbitrarily: at worst, the poller reads a link too often, or only when the thread rings for it, which it does once
//! per lease of each link.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::full_fence;

/// Doorbells per word.
const BITS: u32 = u64::BITS;

/// The doorbells of an adapter.
pub trait Board: Send + Sync + fmt::Debug {
    /// The words, 64 doorbells each.
    fn words(&self) -> &[AtomicU64];

    /// Frees a doorbell, which another link may then use.
    fn free(&self, number: u32);
}

/// The doorbell of a link. Dropping it frees it.
#[derive(Debug)]
pub struct Doorbell {
    board: Arc<dyn Board>,
    number: u32,
}

impl Doorbell {
    /// Takes a doorbell that no other link uses.
    #[must_use]
    pub fn new(board: Arc<dyn Board>, number: u32) -> Self {
        Self { board, number }
    }

    /// Its index on the board.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Makes the poller read the link.
    pub fn ring(&self) {
        ring(self.board.words(), self.number);
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        self.board.free(self.number);
    }
}

/// Rings a doorbell of a board, after a frame was stored. A number beyond the end is ignored.
pub fn ring(words: &[AtomicU64], number: u32) {
    // The poller clears the bit, and reads the link after a fence: if the bit was set here, it finds the frame.
    full_fence();
    let Some(word) = words.get((number / BITS) as usize) else { return };
    let bit = 1 << (number % BITS);
    if word.load(Ordering::Relaxed) & bit == 0 {
        // Pairs with `take`.
        word.fetch_or(bit, Ordering::Release);
    }
}

/// Takes the doorbells of a word that have rung. A frame stored before its doorbell rang can then be read; otherwise
/// the doorbell rings again.
fn take(word: &AtomicU64, mask: u64) -> u64 {
    if word.load(Ordering::Relaxed) & mask == 0 {
        return 0;
    }
    // Pairs with the `fetch_or` of `ring`; the fence below pairs with the fence of `ring`.
    let rung = word.fetch_and(!mask, Ordering::AcqRel) & mask;
    full_fence();
    rung
}

/// The doorbells of a completion queue's links.
#[derive(Default)]
pub(crate) struct Doorbells {
    /// The board; all links of a queue belong to one adapter.
    board: Option<Arc<dyn Board>>,
    /// Index and bits of each word that has bits of these links.
    words: Vec<(usize, u64)>,
    /// The keys of the links, by number.
    keys: HashMap<u32, usize>,
}

impl Doorbells {
    pub(crate) fn insert(&mut self, doorbell: &Doorbell, key: usize) {
        let board = self.board.get_or_insert_with(|| Arc::clone(&doorbell.board));
        debug_assert!(Arc::ptr_eq(board, &doorbell.board), "links of two adapters");
        let (index, bit) = place(doorbell);
        match self.words.iter_mut().find(|(at, _)| *at == index) {
            Some((_, bits)) => *bits |= bit,
            None => self.words.push((index, bit)),
        }
        self.keys.insert(doorbell.number, key);
    }

    pub(crate) fn remove(&mut self, doorbell: &Doorbell) {
        self.keys.remove(&doorbell.number);
        let (index, bit) = place(doorbell);
        if let Some((_, bits)) = self.words.iter_mut().find(|(at, _)| *at == index) {
            *bits &= !bit;
        }
    }

    /// Calls `found` with the key of each link whose doorbell rang.
    #[inline]
    pub(crate) fn take(&self, mut found: impl FnMut(usize)) {
        let Some(board) = &self.board else { return };
        let words = board.words();
        for &(index, bits) in &self.words {
            let mut rung = words.get(index).map_or(0, |word| take(word, bits));
            while rung != 0 {
                let number = index as u32 * BITS + rung.trailing_zeros();
                rung &= rung - 1;
                if let Some(&key) = self.keys.get(&number) {
                    found(key);
                }
            }
        }
    }
}

/// Returns the index of a doorbell's word, and its bit.
fn place(doorbell: &Doorbell) -> (usize, u64) {
    ((doorbell.number / BITS) as usize, 1 << (doorbell.number % BITS))
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::*;
    use dat_sync::Mutex;

    /// A board in the memory of this process.
    #[derive(Debug, Default)]
    pub(crate) struct LocalBoard {
        words: [AtomicU64; 4],
        freed: Mutex<Vec<u32>>,
    }

    impl Board for LocalBoard {
        fn words(&self) -> &[AtomicU64] {
            &self.words
        }

        fn free(&self, number: u32) {
            self.freed.lock().push(number);
        }
    }

    fn taken(bells: &Doorbells) -> Vec<usize> {
        let mut keys = Vec::new();
        bells.take(|key| keys.push(key));
        keys
    }

    #[test]
    fn each_rung_doorbell_is_taken_once() {
        let board = Arc::new(LocalBoard::default());
        let bell = |number| Doorbell::new(Arc::clone(&board) as _, number);
        let (one, other, far) = (bell(3), bell(63), bell(64));
        let mut bells = Doorbells::default();
        for (key, bell) in [(7, &one), (8, &other), (9, &far)] {
            bells.insert(bell, key);
        }
        assert_eq!(taken(&bells), []);
        far.ring();
        one.ring();
        one.ring();
        assert_eq!(taken(&bells), [7, 9]);
        assert_eq!(taken(&bells), []);
    }

    #[test]
    fn doorbells_of_other_queues_are_left_to_them() {
        let board = Arc::new(LocalBoard::default());
        let bell = |number| Doorbell::new(Arc::clone(&board) as _, number);
        let (mine, its) = (bell(1), bell(2));
        let (mut bells, mut others) = (Doorbells::default(), Doorbells::default());
        bells.insert(&mine, 1);
        others.insert(&its, 2);
        its.ring();
        assert_eq!(taken(&bells), []);
        assert_eq!(taken(&others), [2]);
        bells.remove(&mine);
        mine.ring();
        assert_eq!(taken(&bells), []);
        drop(mine);
        assert_eq!(*board.freed.lock(), [1]);
    }

    #[test]
    fn a_board_may_be_full_of_rings() {
        let board = Arc::new(LocalBoard::default());
        let mine = Doorbell::new(Arc::clone(&board) as _, 100);
        let mut bells = Doorbells::default();
        bells.insert(&mine, 1);
        board.words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        ring(&board.words, u32::MAX);
        assert_eq!(taken(&bells), [1]);
        assert_eq!(taken(&bells), []);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A frame whose producer found the doorbell already set is read by the poller that takes the doorbell.
    #[test]
    fn no_frame_waits_behind_a_doorbell_that_was_taken() {
        loom::model(|| {
            let shared = Arc::new(([AtomicU64::new(0)], AtomicU64::new(0)));
            let far = Arc::clone(&shared);
            let producer = thread::spawn(move || {
                for frame in 1..=2 {
                    far.1.store(frame, Ordering::Release);
                    ring(&far.0, 5);
                }
            });
            let mut read = 0;
            for _ in 0..2 {
                if take(&shared.0[0], 1 << 5) != 0 {
                    read = shared.1.load(Ordering::Acquire);
                }
            }
            producer.join().expect("no panic");
            assert!(read == 2 || take(&shared.0[0], 1 << 5) != 0);
        });
    }

    /// Two peers ring doorbells of one word while the poller takes them.
    #[test]
    fn peers_do_not_lose_each_others_rings() {
        loom::model(|| {
            let words = Arc::new([AtomicU64::new(0)]);
            let peers = [0, 1].map(|number| {
                let words = Arc::clone(&words);
                thread::spawn(move || ring(&*words, number))
            });
            let mut rung = take(&words[0], 3);
            peers.into_iter().for_each(|peer| peer.join().expect("no panic"));
            rung |= take(&words[0], 3);
            assert_eq!(rung, 3);
        });
    }
}
