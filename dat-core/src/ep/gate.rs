//! What a post is checked against: a copy of the endpoint's attributes that is read without
//! a lock. It changes only while nothing but receives can be posted.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::attr::EpAttributes;
use crate::flags::CompletionFlags;

#[derive(Debug, Default)]
pub(super) struct Gate {
    zone: AtomicU64,
    max_message_size: AtomicU64,
    max_rdma_size: AtomicU64,
    recv_iov: AtomicU32,
    request_iov: AtomicU32,
    read_iov: AtomicU32,
    write_iov: AtomicU32,
    /// Flags that a request may have.
    request_flags: AtomicU32,
    /// Flags that a receive may have.
    recv_flags: AtomicU32,
    reads_out: AtomicU32,
    service_type: AtomicU32,
    shared_receives: AtomicU32,
    pub(super) watermarks: Watermarks,
}

/// How many receives may be at the endpoint before that is reported, and before the connection
/// breaks (dat_ep_set_watermark(3DAT)).
#[derive(Debug)]
pub(super) struct Watermarks {
    pub(super) soft: AtomicU32,
    pub(super) hard: AtomicU32,
}

impl Watermarks {
    /// No watermark (`DAT_WATERMARK_INFINITE`).
    pub(super) const NONE: u32 = u32::MAX;

    /// Whether any is set.
    #[inline]
    pub(super) fn are_set(&self) -> bool {
        let none = self.soft.load(Ordering::Relaxed) & self.hard.load(Ordering::Relaxed);
        none != Self::NONE
    }
}

impl Default for Watermarks {
    fn default() -> Self {
        Self { soft: AtomicU32::new(Self::NONE), hard: AtomicU32::new(Self::NONE) }
    }
}

macro_rules! reads {
    ($($name:ident: $type:ty,)+) => {
        $(#[inline]
        pub(super) fn $name(&self) -> $type {
            self.$name.load(Ordering::Relaxed)
        })+
    };
}

impl Gate {
    reads! {
        zone: u64,
        max_message_size: u64,
        max_rdma_size: u64,
        recv_iov: u32,
        request_iov: u32,
        read_iov: u32,
        write_iov: u32,
        request_flags: u32,
        recv_flags: u32,
        reads_out: u32,
        service_type: u32,
    }

    #[inline]
    pub(super) fn has_shared_receives(&self) -> bool {
        self.shared_receives.load(Ordering::Relaxed) != 0
    }

    /// Takes over the zone and the attributes of an endpoint.
    pub(super) fn set(&self, zone: u64, attributes: &EpAttributes, shared_receives: bool) {
        let own = CompletionFlags::UNSIGNALLED;
        let posted = CompletionFlags::SUPPRESS
            | CompletionFlags::SOLICITED_WAIT
            | CompletionFlags::BARRIER_FENCE;
        let request_flags = posted | (attributes.request_completion_flags & own);
        let relaxed = Ordering::Relaxed;
        self.zone.store(zone, relaxed);
        self.max_message_size.store(attributes.max_message_size, relaxed);
        self.max_rdma_size.store(attributes.max_rdma_size, relaxed);
        self.recv_iov.store(attributes.max_recv_iov, relaxed);
        self.request_iov.store(attributes.max_request_iov, relaxed);
        self.read_iov.store(attributes.max_rdma_read_iov, relaxed);
        self.write_iov.store(attributes.max_rdma_write_iov, relaxed);
        self.request_flags.store(request_flags.bits(), relaxed);
        self.recv_flags.store((attributes.recv_completion_flags & own).bits(), relaxed);
        self.service_type.store(attributes.service_type, relaxed);
        self.reads_out.store(attributes.max_rdma_read_out, relaxed);
        self.shared_receives.store(u32::from(shared_receives), relaxed);
    }
}
