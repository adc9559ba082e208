//! Runs randomized cases with reproducible seeds.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;

/// Runs a case once with each seed.
///
/// # Panics
/// If the case panics; the message includes the seed.
pub(crate) fn for_seeds(seeds: std::ops::Range<u64>, run: impl Fn(&mut Rng)) {
    for seed in seeds {
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut Rng::with_seed(seed))));
        if let Err(payload) = result {
            match message(&*payload) {
                Some(message) => panic!("with the seed {seed}: {message}"),
                // Not a panic message: the case was skipped.
                None => resume_unwind(payload),
            }
        }
    }
}

/// The message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
}
