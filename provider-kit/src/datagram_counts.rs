//! Counters of the datagrams that an adapter has lost, which no completion reports.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dat_provider::DeviceCounters;
use dat_sync::Mutex;

use crate::datagram_socket;
use crate::fork::{OwnerProcess, Private};

/// The counts of one adapter.
pub(crate) struct DatagramCounts {
    owner_process: OwnerProcess,
    /// The posted receive was too short, the queue pair was flushed, or a closed socket had no space.
    dropped: AtomicU64,
    /// Packets of another protocol or with another key.
    foreign: AtomicU64,
    /// Datagrams that the system has refused to send.
    not_sent: AtomicU64,
    /// The open sockets, each of which counts packets for which it had no space.
    sockets: Mutex<Vec<Weak<Private<OwnedFd>>>>,
}

impl DatagramCounts {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            owner_process: OwnerProcess::current(),
            dropped: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            not_sent: AtomicU64::new(0),
            sockets: Mutex::default(),
        })
    }

    /// Datagrams, or messages of unreliable connections, found no receive, or one that is too short.
    pub(crate) fn count_dropped(&self, count: u32) {
        self.dropped.fetch_add(count.into(), Ordering::Relaxed);
    }

    /// A packet came from an unknown sender.
    pub(crate) fn count_foreign(&self) {
        self.foreign.fetch_add(1, Ordering::Relaxed);
    }

    /// The system has refused to send a datagram.
    pub(crate) fn count_not_sent(&self) {
        self.not_sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what a socket drops, until it is [closed](Self::close).
    pub(crate) fn add(&self, socket: &Arc<Private<OwnedFd>>) {
        self.sockets.lock().push(Arc::downgrade(socket));
    }

    /// A socket is about to be closed. In a child of `fork`, which has no such socket, nothing happens.
    pub(crate) fn close(&self, socket: &Arc<Private<OwnedFd>>) {
        if self.owner_process.is_current() {
            let mut sockets = self.sockets.lock();
            sockets.retain(|one| !std::ptr::eq(one.as_ptr(), Arc::as_ptr(socket)));
            self.dropped.fetch_add(datagram_socket::overruns(socket), Ordering::Relaxed);
        }
    }

    /// The counts so far.
    pub(crate) fn read(&self) -> DeviceCounters {
        if !self.owner_process.is_current() {
            return DeviceCounters::default();
        }
        let sockets = self.sockets.lock();
        let open = sockets.iter().filter_map(Weak::upgrade);
        let overruns: u64 = open.map(|socket| datagram_socket::overruns(&socket)).sum();
        DeviceCounters {
            dropped_datagrams: self.dropped.load(Ordering::Relaxed) + overruns,
            receive_errors: self.foreign.load(Ordering::Relaxed),
            transmit_discards: self.not_sent.load(Ordering::Relaxed),
            ..DeviceCounters::default()
        }
    }
}
