//! Models of the locks and tables: every interleaving of a few threads is tried. `.ci/loom` runs
//! them.

mod biased;
mod epoch;
mod regions;
mod slab_arc;

use loom::model;

/// A model of so many threads and steps that only interleavings up to a number of preemptions are
/// tried; errors of such code need one or two.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}
