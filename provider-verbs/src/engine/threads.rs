//! The running threads of an open adapter, and their termination.

use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_sync::Mutex;
use dat_sync::thread::Thread;

use super::Engine;

/// The running threads.
pub(crate) struct Threads {
    engine: Arc<Engine>,
    handles: Mutex<Vec<Thread<()>>>,
}

impl Threads {
    pub(super) const fn new(engine: Arc<Engine>) -> Self {
        Self { engine, handles: Mutex::new(Vec::new()) }
    }

    pub(super) fn spawn(
        &self,
        name: &str,
        engine: Arc<Engine>,
        run: impl FnOnce(&Engine) + Send + 'static,
    ) -> Result<()> {
        let thread = dat_sync::thread::start(name, move || run(&engine));
        let handle = thread.map_err(|error| {
            Error::new(ReturnType::InsufficientResources, Subtype::ResourceErrorHandler)
                .because(format!("cannot start the thread {name}"))
                .errno(error.raw_os_error().unwrap_or(0))
        })?;
        self.handles.lock().push(handle);
        Ok(())
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // If the program has closed their descriptors, they end when their sleep does.
        let are_woken = self.engine.stop();
        for handle in self.handles.get_mut().drain(..) {
            // The last object of an adapter may be dropped in one of its own threads.
            if are_woken && !handle.is_current() {
                // A thread that panicked has ended too.
                let _ = handle.join();
            }
        }
    }
}
