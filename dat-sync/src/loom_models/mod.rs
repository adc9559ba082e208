//! Models of the locks and tables: loom tries every interleaving of a few threads. `.ci/loom` runs
//! them.

mod biased;
mod epoch;
mod lock;
mod regions;
mod slab_arc;
mod swap_word;

use loom::model;

/// A model with so much state that loom tries only interleavings with a limited number of
/// preemptions; bugs in such code need one or two.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}
