//! A link within one process, for tests. A seed determines how it splits and delays the bytes.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use dat_provider::mem::Span;
use dat_sync::Mutex;

use crate::bytes;
use crate::link::{End, Reader, Writer};
use crate::stream_link::{Stream, halves};

/// The behaviour of a link in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLinkConfig {
    /// Capacity of each direction, in bytes.
    pub capacity: usize,
    /// The seed of the splits and delays; 0 for none.
    pub seed: u64,
}

impl Default for MemoryLinkConfig {
    fn default() -> Self {
        Self { capacity: 128 << 10, seed: 0 }
    }
}

/// One end of a link in memory.
pub struct MemoryStream {
    out: Arc<Mutex<Direction>>,
    inbound: Arc<Mutex<Direction>>,
}

struct Direction {
    bytes: VecDeque<u8>,
    config: MemoryLinkConfig,
    state: u64,
    is_shut: bool,
    is_cut: bool,
}

impl std::fmt::Debug for MemoryStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStream").finish_non_exhaustive()
    }
}

/// The two ends of a new connection.
#[must_use]
pub fn pair(config: MemoryLinkConfig) -> (Arc<MemoryStream>, Arc<MemoryStream>) {
    let direction = |salt| {
        let (bytes, state) = (VecDeque::new(), config.seed.wrapping_mul(salt) | 1);
        Arc::new(Mutex::new(Direction { bytes, config, state, is_shut: false, is_cut: false }))
    };
    let (one, other) = (direction(0x9e37_79b9_7f4a_7c15), direction(0xbf58_476d_1ce4_e5b9));
    let near = MemoryStream { out: Arc::clone(&one), inbound: Arc::clone(&other) };
    (Arc::new(near), Arc::new(MemoryStream { out: other, inbound: one }))
}

/// The halves of both ends of a new connection.
#[must_use]
pub fn links(config: MemoryLinkConfig) -> [(Box<dyn Reader>, Box<dyn Writer>); 2] {
    let (one, other) = pair(config);
    [halves(&one), halves(&other)]
}

impl MemoryStream {
    /// Cuts both directions, as if a process had died.
    pub fn cut(&self) {
        self.out.lock().is_cut = true;
        self.inbound.lock().is_cut = true;
    }
}

impl Direction {
    /// The number of bytes, at most `length`, that move now; all of them without a seed.
    fn portion(&mut self, length: usize) -> usize {
        if self.config.seed == 0 || length == 0 {
            return length;
        }
        // xorshift64
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let some = (self.state >> 8) as usize;
        match self.state % 4 {
            0 => 0,
            1 => (some % 40 + 1).min(length),
            2 => some % length + 1,
            _ => length,
        }
    }
}

impl Stream for MemoryStream {
    fn write(&self, from: &[Span]) -> Result<usize, End> {
        let mut out = self.out.lock();
        if out.is_cut || out.is_shut {
            return Err(End::Gone);
        }
        let space = out.config.capacity.saturating_sub(out.bytes.len());
        let length = bytes::total(from).min(space);
        let length = out.portion(length);
        let mut all = Vec::new();
        bytes::gather(from, 0, &mut all).map_err(|_| End::Inaccessible)?;
        out.bytes.extend(&all[..length]);
        Ok(length)
    }

    fn read(&self, into: &[Span]) -> Result<Option<usize>, End> {
        let mut inbound = self.inbound.lock();
        if inbound.bytes.is_empty() {
            return match (inbound.is_cut, inbound.is_shut) {
                (true, _) => Err(End::Gone),
                (_, true) => Err(End::Closed),
                _ => Ok(None),
            };
        }
        let length = bytes::total(into).min(inbound.bytes.len());
        let length = inbound.portion(length);
        let part: Vec<u8> = inbound.bytes.iter().take(length).copied().collect();
        bytes::scatter(&part, into).map_err(|_| End::Inaccessible)?;
        inbound.bytes.drain(..length);
        Ok((length > 0).then_some(length))
    }

    fn shut_down(&self) -> Result<(), End> {
        self.out.lock().is_shut = true;
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
