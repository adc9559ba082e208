//! The gate of a connection: the owner's side of direct access.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use dat_provider::flags::Privileges;
use dat_provider_kit::direct;
use dat_provider_kit::fork::OwnerProcess;
use rustix::io::Errno;

use crate::access_words::AccessWords;
use crate::cma;
use crate::link::Link;
use crate::segment::Segment;

/// Number of reads of the peer's word before the owner sleeps between reads.
const SPINS: u32 = 1000;
const PAUSE: Duration = Duration::from_micros(100);

/// See [`direct::Gate`].
pub(crate) struct Gate {
    /// The gate outlives the link if the peer does not end its access.
    link: Weak<Link>,
    /// The direction that this side writes.
    writes: usize,
    /// The process of the peer, if it is visible in this PID namespace.
    process: Option<i32>,
    segment: Arc<Segment>,
    owner_process: OwnerProcess,
    /// The domain and the queue pair whose rights the peer has.
    rights: u64,
}

impl Gate {
    pub(crate) fn new(link: &Arc<Link>, segment: &Arc<Segment>, rights: u64) -> Self {
        Self {
            link: Arc::downgrade(link),
            writes: link.writes,
            process: link.peer_process(),
            segment: Arc::clone(segment),
            owner_process: OwnerProcess::current(),
            rights,
        }
    }

    /// Returns the words of the peer's accesses; `None` in a child of fork, whose memory peers do not know.
    fn words(&self) -> Option<&AccessWords> {
        self.owner_process.is_current().then(|| self.segment.access(1 - self.writes))
    }

    /// Returns true if the peer's process has ended or executes another program, which ends its accesses: its nonce is
    /// gone.
    fn is_peer_gone(&self) -> bool {
        let peer = self.segment.access(self.writes).owner();
        let Some((process, peer)) = self.process.zip(peer) else { return false };
        match cma::read::<1>(process, peer.nonce_address) {
            Ok(found) => found != [peer.nonce],
            // A process of 32 bits cannot name the address in one of 64 bits. Without memory, that one has ended.
            Err(Errno::OVERFLOW) => cma::read::<1>(process, 0) == Err(Errno::SRCH),
            Err(errno) => matches!(errno, Errno::SRCH | Errno::FAULT),
        }
    }
}

impl direct::Gate for Gate {
    fn open(&self) {
        if let Some(words) = self.words() {
            words.set_gate(self.rights);
        }
    }

    fn deny(&self, denied: Privileges) {
        if let Some(words) = self.words() {
            words.deny(denied.bits());
        }
    }

    fn close(&self) {
        if let Some(words) = self.words() {
            words.set_gate(0);
        }
    }

    fn revoke(&self) {
        if let Some(words) = self.words() {
            words.revoke();
        }
    }

    fn wait(&self, deadline: Instant) -> bool {
        let Some(words) = self.words() else { return true };
        let Some(busy) = words.in_progress() else { return true };
        let mut spins = 0;
        while words.is_still(busy) {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            if self.is_peer_gone() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }

    fn hang_up(&self) {
        if let Some(link) = self.link.upgrade().filter(|_| self.owner_process.is_current()) {
            link.end();
            // If it is refused, the peer notices the end when the socket is closed.
            let _ = link.bell.hang_up();
        }
    }
}
