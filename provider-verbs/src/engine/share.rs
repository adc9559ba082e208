//! One engine for all open instances of a device.

use std::sync::{Arc, Weak};

use dat_provider::error::Result;
use dat_sync::{Mutex, PerProcess};

use super::{Engine, Threads};
use crate::verbs::{CompletionQueue, Context};

/// A running engine.
struct Entry {
    device: String,
    threads: Weak<Threads>,
}

/// The engines of this process: the child of a fork has none of their threads.
static RUNNING: PerProcess<Mutex<Vec<Entry>>> = PerProcess::new();

/// The engine of the device of a context: the one that runs already, or else a new one that owns the
/// context. `occupy` returns what a new context needs before anything else.
pub(crate) fn shared(
    context: Context,
    occupy: impl FnOnce(&Context) -> Option<Arc<CompletionQueue>>,
) -> Result<Arc<Threads>> {
    let device = context.name();
    // Dropped after the lock: the last reference joins threads, which may be opening an adapter.
    let candidates: Vec<Arc<Threads>>;
    // Held during the start, so that two opens at once make one engine.
    let mut running = RUNNING.get().lock();
    running.retain(|entry| entry.threads.strong_count() > 0);
    let of_device = running.iter().filter(|entry| entry.device == device);
    candidates = of_device.filter_map(|entry| entry.threads.upgrade()).collect();
    // A device that was removed may be back under its name.
    if let Some(threads) = candidates.iter().find(|threads| !threads.engine().is_removed()) {
        return Ok(Arc::clone(threads));
    }
    let placeholder = occupy(&context);
    let threads = Arc::new(Engine::start(context, placeholder)?);
    running.push(Entry { device, threads: Arc::downgrade(&threads) });
    Ok(threads)
}
