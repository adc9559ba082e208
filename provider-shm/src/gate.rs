//! The gate of a connection: the owner's side of direct access.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dat_provider_kit::direct;
use dat_provider_kit::fork::Origin;
use rustix::io::Errno;

use crate::access_words::AccessWords;
use crate::cma;
use crate::link::Link;
use crate::segment::Segment;

/// Looks at the peer's word before the owner sleeps between them: a copy of 16 MiB takes longer.
const SPINS: u32 = 1000;
const PAUSE: Duration = Duration::from_micros(100);

/// See [`direct::Gate`].
pub(crate) struct Gate {
    link: Arc<Link>,
    segment: Arc<Segment>,
    origin: Origin,
    /// The domain and the queue pair as which the peer accesses memory.
    rights: u64,
}

impl Gate {
    pub(crate) fn new(link: &Arc<Link>, segment: &Arc<Segment>, rights: u64) -> Self {
        let (link, segment) = (Arc::clone(link), Arc::clone(segment));
        Self { link, segment, origin: Origin::here(), rights }
    }

    /// The words of the peer's accesses; nothing in a child of fork, whose memory peers do not know.
    fn words(&self) -> Option<&AccessWords> {
        self.origin.is_here().then(|| self.segment.access(1 - self.link.writes))
    }

    /// Whether the process of the peer has ended, which ends its accesses.
    fn is_peer_gone(&self) -> bool {
        let process = self.link.peer_process();
        process.is_some_and(|process| cma::read::<1>(process, 0) == Err(Errno::SRCH))
    }
}

impl direct::Gate for Gate {
    fn open(&self) {
        if let Some(words) = self.words() {
            words.set_gate(self.rights);
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
        if self.origin.is_here() {
            self.link.end();
            self.link.bell.hang_up();
        }
    }
}
