//! The log of completions and events.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use dat_core::provider::{
    Completion, CompletionPoller, CompletionSink, ConnectionSink, ConnectionUpcall, Peer,
    RefusalCause,
};

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Completion(Completion),
    Event(u64, Event),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Established { private_data: Vec<u8>, peer: Peer, local_port: u64 },
    PeerRejected(Vec<u8>),
    NonPeerRejected,
    Unreachable,
    AcceptFailed(RefusalCause),
    Disconnected,
    Broken,
}

impl From<ConnectionUpcall<'_>> for Event {
    fn from(event: ConnectionUpcall<'_>) -> Self {
        match event {
            ConnectionUpcall::Established { private_data, peer, local_port } => {
                Self::Established { private_data: private_data.to_vec(), peer, local_port }
            }
            ConnectionUpcall::PeerRejected { private_data } => {
                Self::PeerRejected(private_data.to_vec())
            }
            ConnectionUpcall::NonPeerRejected { .. } => Self::NonPeerRejected,
            ConnectionUpcall::Unreachable => Self::Unreachable,
            ConnectionUpcall::AcceptFailed { cause } => Self::AcceptFailed(cause),
            ConnectionUpcall::Disconnected => Self::Disconnected,
            ConnectionUpcall::Broken => Self::Broken,
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// Counts the upcalls of a completion queue.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) ready: AtomicU32,
    pub(crate) overflow: AtomicU32,
}

impl Ready {
    pub(crate) fn count(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }
}

impl CompletionSink for Ready {
    fn completion_ready(&self) {
        self.ready.fetch_add(1, Ordering::Relaxed);
    }

    fn completion_overflow(&self) {
        self.overflow.fetch_add(1, Ordering::Relaxed);
    }
}

/// Records completions and events in one log. At each event it polls first.
pub(crate) struct Recorder {
    pub(crate) poller: Mutex<Box<dyn CompletionPoller>>,
    log: Mutex<Vec<Entry>>,
}

impl Recorder {
    pub(crate) fn new(poller: Box<dyn CompletionPoller>) -> Self {
        Self { poller: Mutex::new(poller), log: Mutex::default() }
    }

    /// Removes all entries.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    /// Polls until the completion queue is empty.
    pub(crate) fn drain(&self) {
        // The lock is held while polling, so that the log has the order of the completions.
        let mut log = self.log.lock().unwrap();
        let mut found = [Completion::default(); 16];
        loop {
            let count = self.poller.lock().unwrap().poll(&mut found);
            log.extend(found[..count].iter().map(|one| Entry::Completion(*one)));
            if count == 0 {
                return;
            }
        }
    }
}

impl ConnectionSink for Recorder {
    fn connection_event(&self, attempt: u64, event: ConnectionUpcall<'_>) {
        self.drain();
        self.log.lock().unwrap().push(Entry::Event(attempt, event.into()));
    }
}
