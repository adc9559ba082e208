//! Chance that can be repeated: the same seed draws the same.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A small generator of numbers (xorshift with shifts of 13, 7 and 17).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The draws of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds are to differ at once, and the state must not be zero.
        let mut random = Self { state: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 };
        for _ in 0..8 {
            random.next();
        }
        random
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below a bound, which is not 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        // The quotient fits: it is below the bound.
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// True in one of so many cases.
    pub(crate) fn one_in(&mut self, cases: u32) -> bool {
        self.below(cases) == 0
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u32) as usize]
    }
}

/// Runs something with each seed.
///
/// # Panics
/// When it does, with the seed.
pub(crate) fn for_seeds(seeds: std::ops::Range<u64>, run: impl Fn(&mut Random)) {
    for seed in seeds {
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut Random::new(seed))));
        if let Err(payload) = result {
            match words(&*payload) {
                Some(words) => panic!("with the seed {seed}: {words}"),
                // Not a panic with words: a case that is skipped.
                None => resume_unwind(payload),
            }
        }
    }
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn draws_repeat_and_stay_below_the_bound() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert!((0..7).all(|value| draw(0).contains(&value)));
        assert!(draw(0).iter().all(|value| *value < 7));
    }
}
