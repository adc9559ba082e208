//! The memory in which packets are received, and made to be sent.

use dat_provider::error::{Error, Result};
use dat_provider::flags::{CompletionFlags, Privileges};
use dat_provider::mem::Span;
use dat_provider::status::DtoStatus;
use dat_provider::{DATAGRAM_PREFIX, Request, Work};

use crate::bytes;
use crate::protocol::datagram::{HEAD, Head, IMMEDIATE, MAX_DATAGRAM, REQUEST};
use crate::transfer::{self, LocalMemory};
use crate::work_queues::TakenReceive;

/// Length of the global route header, in whose place a receive gets zeros if the addresses are not known.
pub(super) const PREFIX: usize = DATAGRAM_PREFIX as usize;

/// A packet, so that prefix and message are adjacent.
pub(super) struct PacketBuffer {
    /// The prefix, whose last bytes are the head of the packet until it was checked, the message, a request, and a byte by
    /// which a packet is known that is too long.
    bytes: Vec<u8>,
    /// The memory of a receive, or of a message.
    spans: Vec<Span>,
}

impl PacketBuffer {
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if there is no memory.
    pub(super) fn new() -> Result<Self> {
        let (mut bytes, length) = (Vec::new(), PREFIX + IMMEDIATE + MAX_DATAGRAM + REQUEST + 1);
        if bytes.try_reserve_exact(length).is_err() {
            return Err(Error::no_memory("a packet of the endpoint"));
        }
        bytes.resize(length, 0);
        Ok(Self { bytes, spans: Vec::new() })
    }

    /// Where a packet is received, or made to be sent.
    pub(super) fn packet(&mut self) -> &mut [u8] {
        &mut self.bytes[PREFIX - HEAD..]
    }

    /// Copies this prefix, and the message of a packet with this head, together `total` bytes, to a receive.
    pub(super) fn copy_to(
        &mut self,
        taken: &TakenReceive,
        (prefix, head): (&[u8; PREFIX], Head),
        total: usize,
    ) -> DtoStatus {
        let start = head.len() - HEAD;
        self.bytes[start..start + PREFIX].copy_from_slice(prefix);
        let local = LocalMemory { segments: &taken.segments, domain: taken.domain };
        self.spans.clear();
        let range = (0, total as u64);
        let is_valid =
            transfer::local_spans(local, Privileges::LOCAL_WRITE, range, &mut self.spans);
        match is_valid.then(|| bytes::scatter(&self.bytes[start..start + total], &self.spans)) {
            Some(Ok(_)) => DtoStatus::Success,
            _ => DtoStatus::LocalProtection,
        }
    }

    /// Makes the packet of a datagram, behind which is space for a request. Nothing if the memory of the message must not
    /// be read.
    pub(super) fn pack(
        &mut self,
        key: u64,
        request: &Request<'_>,
        domain: u32,
    ) -> Option<&mut [u8]> {
        let local = LocalMemory { segments: request.segments, domain };
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        let range = (0, request.length);
        let is_valid = transfer::local_spans(local, Privileges::LOCAL_READ, range, &mut spans);
        let immediate = match request.work {
            Work::SendImmediate { immediate } => Some(immediate),
            _ => None,
        };
        let solicited = request.flags.contains(CompletionFlags::SOLICITED_WAIT);
        let head = Head { solicited, immediate };
        let total = head.len() + request.length as usize;
        let packet = &mut self.packet()[..total];
        head.write(key, packet);
        let is_copied = is_valid && bytes::gather_into(&spans, &mut packet[head.len()..]).is_ok();
        self.spans = spans;
        is_copied.then(|| &mut self.packet()[..total + REQUEST])
    }
}
