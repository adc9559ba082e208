//! What happens in a simulation, for people.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use dat_sync::clock;

/// Prints each step with its time, if it is asked to; and counts the steps.
#[derive(Clone)]
pub(crate) struct Trace {
    is_shown: bool,
    begin: Instant,
    lines: Rc<Cell<u64>>,
}

impl Trace {
    pub(crate) fn new(is_shown: bool) -> Self {
        Self { is_shown, begin: clock::now(), lines: Rc::default() }
    }

    pub(crate) fn line(&self, text: impl FnOnce() -> String) {
        self.lines.set(self.lines.get() + 1);
        if self.is_shown {
            let micros = clock::now().duration_since(self.begin).as_nanos() as f64 / 1e3;
            println!("{micros:>12.3} us  {}", text());
        }
    }

    /// Number of steps so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.get()
    }
}
