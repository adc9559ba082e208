//! Data that a post copies, so that the program may use its memory again at once.

use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::mem::Memory;
use dat_provider::{MemoryRegion, ProtectionDomain, Segment};

use super::QueuePair;
use crate::error::Result;
use crate::request::{Inline, SendRequest};

/// Maximum length of inline data, in bytes.
pub const MAX_INLINE: u32 = 1024;

/// Registered memory with a slot for each request that can be outstanding, and one more. Requests complete in order,
/// so the slot that was used the longest time ago is free when a post is accepted.
pub(super) struct InlineRing {
    memory: Memory,
    region: Box<dyn MemoryRegion>,
    key: u32,
    slots: u64,
    slot_length: u64,
    next: u64,
}

impl InlineRing {
    /// A ring for as many outstanding requests of that length.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(super) fn new(domain: &dyn ProtectionDomain, requests: u32, length: u32) -> Result<Self> {
        let (slots, slot_length) = (u64::from(requests) + 1, u64::from(length).next_multiple_of(8));
        let memory = Memory::zeroed((slots * slot_length) as usize)?;
        let registration = domain.register(memory.span(), Privileges::LOCAL_READ)?;
        let (region, key) = (registration.region, registration.local_key);
        Ok(Self { memory, region, key, slots, slot_length, next: 0 })
    }

    /// Copies data, which is not longer than a slot, into the next one.
    pub(super) fn copy(&mut self, data: &Inline<'_>) -> Result<Segment> {
        let offset = self.next % self.slots * self.slot_length;
        let mut length = 0;
        data.for_each(|bytes| {
            self.memory.write((offset + length) as usize, bytes)?;
            length += bytes.len() as u64;
            Ok(())
        })?;
        Ok(Segment { address: self.memory.address() + offset, length, key: self.key })
    }

    /// The request with the data that was copied last is posted.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }
}

impl Drop for InlineRing {
    fn drop(&mut self) {
        // The queue pair is shut down, so nothing accesses the memory; if it is still accessed, it is leaked.
        if self.region.deregister().is_err() {
            let _ = std::mem::ManuallyDrop::new(self.memory.clone());
        }
    }
}

impl QueuePair {
    /// Copies the inline data of a request, and posts the copy.
    pub(super) fn post_inline(
        &self,
        kit: &dyn dat_provider::QueuePair,
        request: &SendRequest<'_>,
        inline: &Inline<'_>,
        flags: CompletionFlags,
    ) -> Result<()> {
        if inline.length() == 0 {
            return self.post_segments(kit, request, &[], flags);
        }
        let mut guard = self.inline.lock();
        let ring = match &mut *guard {
            Some(ring) => ring,
            empty => empty.insert(self.inline_ring()?),
        };
        let segment = ring.copy(inline)?;
        self.post_one(kit, request, segment, flags)?;
        ring.advance();
        Ok(())
    }

    #[cold]
    fn inline_ring(&self) -> Result<InlineRing> {
        let size = self.init.capacity;
        InlineRing::new(&*self.domain.kit, size.max_send_wr.saturating_mul(2), size.max_inline_data)
    }
}
