//! Buffers.

use dat_core::flags::Privileges;
use dat_core::provider::{MemoryRegion, ProtectionDomain, Registration, Segment};
use dat_core::{Memory, RmrTriplet};

/// Registered memory.
pub(crate) struct Buffer {
    pub(crate) region: Box<dyn MemoryRegion>,
    pub(crate) local_key: u32,
    pub(crate) remote_key: u32,
    pub(crate) memory: Memory,
}

impl Buffer {
    pub(crate) fn new(domain: &dyn ProtectionDomain, len: usize, privileges: Privileges) -> Self {
        let memory = Memory::zeroed(len).expect("memory");
        let Registration { region, local_key, remote_key } =
            domain.register(memory.span(), privileges).expect("register");
        Self { region, local_key, remote_key, memory }
    }

    /// Fills it with bytes that depend on their offset, and returns them.
    pub(crate) fn fill(&self, seed: u8) -> Vec<u8> {
        let bytes: Vec<u8> = (0..self.memory.len()).map(|n| pattern(seed, n)).collect();
        self.memory.write(0, &bytes).unwrap();
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.memory.to_vec(0, self.memory.len()).unwrap()
    }

    pub(crate) fn segment(&self, offset: usize, length: usize) -> Segment {
        Segment {
            address: self.memory.address() + offset as u64,
            length: length as u64,
            key: self.local_key,
        }
    }

    pub(crate) fn remote(&self, offset: usize, length: usize) -> RmrTriplet {
        RmrTriplet {
            address: self.memory.address() + offset as u64,
            length: length as u64,
            context: self.remote_key,
        }
    }
}

pub(crate) fn pattern(seed: u8, n: usize) -> u8 {
    (n as u8).wrapping_mul(31).wrapping_add((n >> 8) as u8).wrapping_add(seed)
}
