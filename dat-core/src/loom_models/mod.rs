//! Models of what sleeps and wakes: every interleaving of a few threads is tried. A wake-up that
//! gets lost leaves a thread asleep, which ends the model with an error. `.ci/loom` runs them.

mod dispatcher;
mod notification;
mod provider;
mod wakeup;

use loom::model;

/// A model of so many threads and steps that only interleavings up to a number of preemptions are
/// tried; errors of such code need one or two.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}
