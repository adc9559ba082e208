//! Models of code that sleeps and wakes: loom tries every interleaving of a few threads. A lost
//! wake-up leaves a thread asleep, which ends the model with an error. `.ci/loom` runs them.

mod dispatcher;
mod notification;
mod provider;
mod wakeup;

use loom::model;

/// A model with so much state that loom tries only interleavings with a limited number of
/// preemptions; bugs in such code need one or two.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}
