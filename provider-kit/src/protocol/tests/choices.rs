//! Choices that are made again in every way, one run after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The choices of a run, shared by all parts of it. A run repeats the choices of the last run up to one that it makes
/// in another way, and makes the first choice after that.
#[derive(Clone, Default)]
pub(super) struct Choices(Arc<Mutex<Made>>);

#[derive(Default)]
struct Made {
    /// Each choice, and the number of its alternatives.
    all: Vec<(usize, usize)>,
    /// Number of choices that this run has made.
    count: usize,
}

impl Choices {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses one of this many alternatives.
    pub(super) fn choose(&self, alternatives: usize) -> usize {
        if alternatives == 1 {
            return 0;
        }
        let mut made = self.made();
        let at = made.count;
        made.count += 1;
        match made.all.get(at) {
            Some(&(choice, before)) => {
                assert_eq!(before, alternatives, "choice {at} of a run is not deterministic");
                choice
            }
            None => {
                made.all.push((0, alternatives));
                0
            }
        }
    }

    /// Begins the next run. Returns false if every choice was made in every way.
    pub(super) fn next_run(&self) -> bool {
        let mut made = self.made();
        let count = made.count;
        made.all.truncate(count);
        made.count = 0;
        while let Some((choice, alternatives)) = made.all.pop() {
            if choice + 1 < alternatives {
                made.all.push((choice + 1, alternatives));
                return true;
            }
        }
        false
    }

    /// The choices of this run.
    pub(super) fn list(&self) -> Vec<usize> {
        self.made().all.iter().map(|(choice, _)| *choice).collect()
    }
}

#[test]
fn each_sequence_of_choices_comes_once() {
    let choices = Choices::default();
    let mut found = Vec::new();
    loop {
        let first = choices.choose(2);
        let second = if first == 0 { choices.choose(3) } else { choices.choose(1) };
        found.push((first, second));
        if !choices.next_run() {
            break;
        }
    }
    assert_eq!(found, [(0, 0), (0, 1), (0, 2), (1, 0)]);
}
