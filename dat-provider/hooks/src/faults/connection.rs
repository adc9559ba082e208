//! Attempts that fail, and connections that break.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use dat_sync::{Mutex, PerProcess, Process};

use dat_provider::error::Result;
use dat_provider::{Adapter, Address, IncomingRequest, ListenSink, ListenerParts};

/// A listener that never accepts: the destination of an attempt that is to fail.
pub(super) struct DeadEnd {
    // Declared first, so that listening ends before the requests that arrived are dropped.
    listening: ListenerParts,
    _caller: Arc<Caller>,
}

/// The sink of a dead end, with the requests that arrived.
struct Caller {
    /// Keeps the request unanswered instead of giving it back.
    silent: bool,
    kept: Mutex<Option<IncomingRequest>>,
}

impl DeadEnd {
    pub(super) fn new(adapter: &dyn Adapter, silent: bool) -> Result<Self> {
        let caller = Arc::new(Caller { silent, kept: Mutex::default() });
        let listening = adapter.listen(None, Arc::clone(&caller) as Arc<dyn ListenSink>)?;
        Ok(Self { listening, _caller: caller })
    }

    pub(super) fn qualifier(&self) -> u64 {
        self.listening.qualifier
    }
}

impl ListenSink for Caller {
    fn connection_request(
        &self,
        incoming: IncomingRequest,
    ) -> std::result::Result<(), IncomingRequest> {
        if !self.silent {
            return Err(incoming);
        }
        let before = self.kept.lock().replace(incoming);
        drop(before);
        Ok(())
    }
}

/// One side of a connection, as both sides name it.
pub(super) type Side = (Address, u64);

/// A connection, shared by both sides even if they were opened at different places of the process.
pub(super) struct Link {
    sides: [Side; 2],
    broken: AtomicBool,
    process: Process,
}

static LINKS: PerProcess<Mutex<HashMap<[Side; 2], Weak<Link>>>> = PerProcess::new();

impl Link {
    /// The connection between two sides, which both of them keep until they are used again.
    pub(super) fn between(one: Side, other: Side) -> Arc<Self> {
        let sides = if one <= other { [one, other] } else { [other, one] };
        let mut links = LINKS.get().lock();
        if let Some(link) = links.get(&sides).and_then(Weak::upgrade) {
            return link;
        }
        let link =
            Arc::new(Self { sides, broken: AtomicBool::new(false), process: Process::current() });
        links.insert(sides, Arc::downgrade(&link));
        link
    }

    /// Marks the connection as broken: from now on it ends with `Broken`.
    pub(super) fn break_off(&self) {
        self.broken.store(true, Ordering::Release);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let mut links = LINKS.get().lock();
        // The other side may have created the entry again in the meantime.
        if links.get(&self.sides).is_some_and(|link| link.strong_count() == 0) {
            links.remove(&self.sides);
        }
    }
}
