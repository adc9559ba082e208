//! A word by which threads hand something over, such as a wake-up.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU8, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU8, Ordering};

/// A small number that threads change only by swapping it.
///
/// One thread does something and swaps the word; another one swaps the word and then looks for it. One of the two swaps
/// comes later and returns the value of the other one. Its thread sees all that the other thread did before, so either
/// the first thread finds that it must wake the other one, or the other one finds what was done.
///
/// A store in the place of a swap is not enough, not even on x86-64: the thread could look before its store is visible.
#[derive(Debug)]
pub struct SwapWord(AtomicU8);

impl SwapWord {
    /// Creates a word.
    #[cfg(not(all(test, loom)))]
    #[must_use]
    pub const fn new(value: u8) -> Self {
        Self(AtomicU8::new(value))
    }

    /// Creates a word of a model.
    #[cfg(all(test, loom))]
    pub(crate) fn new(value: u8) -> Self {
        Self(AtomicU8::new(value))
    }

    /// Replaces the value, and returns the former one.
    #[inline]
    pub fn swap(&self, value: u8) -> u8 {
        // AcqRel: pairs with every other swap, in the order in which they occur.
        self.0.swap(value, Ordering::AcqRel)
    }

    /// The value. The caller sees what the thread that stored it did before, but a swap may follow at any time.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u8 {
        // Pairs with `swap`.
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_swap_returns_the_value_of_the_one_before() {
        let word = SwapWord::new(1);
        assert_eq!([word.swap(2), word.swap(0), word.swap(1)], [1, 2, 0]);
        assert_eq!(word.get(), 1);
    }
}
