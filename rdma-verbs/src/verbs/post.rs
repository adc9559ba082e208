//! Send requests.

use std::ptr::null_mut;
use std::sync::Arc;

use super::in_flight::{Posted, Uses};
use super::memory::reserved;
use super::segment::gather;
use super::{
    AddressHandle, Error, QueuePair, QueuePairType, RemoteAddress, Result, Segment, SendFlags, Sge,
};
use crate::sys::verbs::{self as sys, ibv_send_wr, ibv_send_wr_wr, rdma_wr};

/// The local data of a request. Its kind decides whether the post has a record
/// ([Records](super#records)).
#[derive(Clone, Copy, Debug)]
pub enum RequestData<'a> {
    /// Ranges of regions. The device sends from them or, for an RDMA read or an atomic, writes into
    /// them.
    Segments(&'a [Segment]),
    /// Bytes that are copied into the request itself and need no registration; at most
    /// [`Capabilities::max_inline_data`](super::Capabilities) in total. Only for sends and writes.
    Inline(&'a [&'a [u8]]),
    /// Memory of which the program keeps its own record.
    Unrecorded(Unrecorded<'a>),
}

/// Memory of a post that has no record, in its C form: the program keeps it registered, and the
/// completion returns the program's own id ([`CompletionQueue::poll_raw`](super::CompletionQueue)).
#[derive(Clone, Copy, Debug)]
pub struct Unrecorded<'a> {
    pub(super) segments: &'a [Sge],
    checks: Checks,
}

/// The checks of the memory of a post that has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checks {
    /// The device checks the keys of the segments.
    Device,
    /// The caller guarantees the handle of a datagram.
    Caller,
    /// The caller guarantees the segments, which are copied into the request.
    CallerInline,
}

impl<'a> Unrecorded<'a> {
    /// Segments by their keys. The device checks that they lie in registered memory.
    #[inline(always)]
    #[must_use]
    pub const fn new(segments: &'a [Sge]) -> Self {
        Self { segments, checks: Checks::Device }
    }

    /// Data of a request that may be a datagram, or be copied into the request
    /// (`IBV_SEND_INLINE`) without regard to the keys.
    ///
    /// # Safety
    /// Inline segments must lie in memory that is readable during the post, and must not be longer
    /// than the queue pair supports inline. The address handle of a datagram must belong to the
    /// queue pair's domain and live until the request completes.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn unchecked(segments: &'a [Sge], is_inline: bool) -> Self {
        Self { segments, checks: if is_inline { Checks::CallerInline } else { Checks::Caller } }
    }
}

/// The operation of a request.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Sends a message.
    Send,
    /// Sends a message with 32 bits of immediate data.
    SendImmediate(u32),
    /// Sends a message and invalidates a key of the peer.
    SendInvalidate(u32),
    /// Writes to the peer's memory.
    Write(RemoteAddress),
    /// Writes to the peer's memory and completes a receive of the peer with immediate data.
    WriteImmediate(RemoteAddress, u32),
    /// Reads from the peer's memory.
    Read(RemoteAddress),
    /// Atomically adds to 64 bits of the peer's memory and returns the old value.
    FetchAdd {
        /// The 64 bits, at a multiple of eight.
        remote: RemoteAddress,
        /// The number added.
        add: u64,
    },
    /// Atomically replaces 64 bits of the peer's memory if they hold a value, and returns the old
    /// value.
    CompareSwap {
        /// The 64 bits, at a multiple of eight.
        remote: RemoteAddress,
        /// The expected value.
        compare: u64,
        /// The new value.
        swap: u64,
    },
    /// Invalidates a key of this side, for example that of a window of type 2.
    Invalidate(u32),
    /// Sends a datagram.
    Datagram {
        /// The destination.
        handle: &'a Arc<AddressHandle>,
        /// The number of the destination queue pair.
        queue_pair: u32,
        /// The queue key of that queue pair.
        queue_key: u32,
        /// Immediate data.
        immediate: Option<u32>,
    },
}

/// A request of the send queue (ibv_post_send(3)).
///
/// ```
/// use rdma_verbs::verbs::{Operation, QueuePair, RemoteAddress, RequestData, SendRequest};
///
/// /// Writes a few bytes to the peer's memory. They are copied into the request.
/// fn write(queue_pair: &QueuePair, to: RemoteAddress, bytes: &[u8]) -> rdma_verbs::Result<()> {
///     queue_pair.post_send(&SendRequest::new(1, Operation::Write(to), RequestData::Inline(&[bytes])))
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SendRequest<'a> {
    /// The program's id, which its completion returns.
    pub id: u64,
    /// The operation.
    pub operation: Operation<'a>,
    /// The local data.
    pub data: RequestData<'a>,
    /// How it is sent. Without [`SendFlags::SIGNALED`] a success generates no completion, and the
    /// objects that the request uses are kept until a later request completes.
    pub flags: SendFlags,
}

impl<'a> SendRequest<'a> {
    /// A request that generates a completion.
    #[must_use]
    pub const fn new(id: u64, operation: Operation<'a>, data: RequestData<'a>) -> Self {
        Self { id, operation, data, flags: SendFlags::SIGNALED }
    }
}

impl<'a> Operation<'a> {
    /// Returns true if its data can be copied into the request itself.
    #[inline(always)]
    #[must_use]
    pub const fn supports_inline(self) -> bool {
        !matches!(
            self,
            Self::Read(_) | Self::FetchAdd { .. } | Self::CompareSwap { .. } | Self::Invalidate(_)
        )
    }

    /// A request in its C form, which borrows the segments and the address handle.
    #[inline(always)]
    pub(super) fn to_c(self, id: u64, flags: u32, segments: &[Sge]) -> ibv_send_wr {
        let rdma = |RemoteAddress { address, key }| ibv_send_wr_wr {
            rdma: rdma_wr { remote_addr: address, rkey: key },
        };
        let atomic = |remote: RemoteAddress, compare_add, swap| {
            let (remote_addr, rkey) = (remote.address, remote.key);
            ibv_send_wr_wr { atomic: sys::atomic_wr { remote_addr, compare_add, swap, rkey } }
        };
        let none = rdma(RemoteAddress { address: 0, key: 0 });
        let (opcode, imm_or_key, wr) = match self {
            Self::Send => (sys::IBV_WR_SEND, 0, none),
            Self::SendImmediate(data) => (sys::IBV_WR_SEND_WITH_IMM, data.to_be(), none),
            Self::SendInvalidate(key) => (sys::IBV_WR_SEND_WITH_INV, key, none),
            Self::Write(remote) => (sys::IBV_WR_RDMA_WRITE, 0, rdma(remote)),
            Self::WriteImmediate(remote, data) => {
                (sys::IBV_WR_RDMA_WRITE_WITH_IMM, data.to_be(), rdma(remote))
            }
            Self::Read(remote) => (sys::IBV_WR_RDMA_READ, 0, rdma(remote)),
            Self::FetchAdd { remote, add } => {
                (sys::IBV_WR_ATOMIC_FETCH_AND_ADD, 0, atomic(remote, add, 0))
            }
            Self::CompareSwap { remote, compare, swap } => {
                (sys::IBV_WR_ATOMIC_CMP_AND_SWP, 0, atomic(remote, compare, swap))
            }
            Self::Invalidate(key) => (sys::IBV_WR_LOCAL_INV, key, none),
            Self::Datagram { handle, queue_pair, queue_key, immediate } => {
                let to =
                    sys::ud_wr { ah: handle.raw(), remote_qpn: queue_pair, remote_qkey: queue_key };
                let (opcode, data) = match immediate {
                    None => (sys::IBV_WR_SEND, 0),
                    Some(data) => (sys::IBV_WR_SEND_WITH_IMM, data.to_be()),
                };
                (opcode, data, ibv_send_wr_wr { ud: to })
            }
        };
        ibv_send_wr {
            wr_id: id,
            next: null_mut(),
            sg_list: segments.as_ptr().cast_mut(),
            num_sge: i32::try_from(segments.len()).unwrap_or(i32::MAX),
            opcode,
            send_flags: flags,
            imm_or_key,
            wr,
            remote_srqn: 0,
            bind_mw: NO_BIND,
        }
    }

    /// Returns true if queue pairs of that kind support it.
    const fn fits(self, queue_pair_type: QueuePairType) -> bool {
        match self {
            Self::Datagram { .. } => matches!(queue_pair_type, QueuePairType::Ud),
            Self::Read(_) | Self::FetchAdd { .. } | Self::CompareSwap { .. } => {
                matches!(queue_pair_type, QueuePairType::Rc)
            }
            _ => !matches!(queue_pair_type, QueuePairType::Ud),
        }
    }
}

/// The bind fields of a request that does not bind.
const NO_BIND: sys::bind_mw_wr = sys::bind_mw_wr {
    mw: null_mut(),
    rkey: 0,
    bind_info: sys::ibv_mw_bind_info { mr: null_mut(), addr: 0, length: 0, mw_access_flags: 0 },
};

impl SendFlags {
    /// The flags of a request in C, whose data may be copied into it.
    #[inline(always)]
    pub(super) const fn with_inline(self, is_inline: bool) -> u32 {
        self.bits() | if is_inline { sys::IBV_SEND_INLINE } else { 0 }
    }
}

/// A checked request: its segments in C, and the objects that it uses.
pub(super) struct Checked {
    pub(super) sges: Vec<Sge>,
    pub(super) is_inline: bool,
    pub(super) uses: Uses,
}

impl SendRequest<'_> {
    /// Checks what C leaves to the caller.
    pub(super) fn check(&self, queue_pair: &QueuePair, call: &'static str) -> Result<Checked> {
        let refused = |errno| Err(Error::new(call, errno).on(queue_pair.error_object()));
        if !self.operation.fits(queue_pair.queue_pair_type()) {
            return refused(libc::EINVAL);
        }
        if matches!(
            (self.operation, self.data),
            (Operation::Invalidate(_), RequestData::Segments([_, ..]))
        ) {
            return refused(libc::EINVAL);
        }
        let limits = queue_pair.capabilities();
        let mut uses = Uses::default();
        if let Operation::Datagram { handle, .. } = self.operation {
            if handle.domain() != queue_pair.domain() {
                return refused(libc::EPERM);
            }
            uses._handle = Some(Arc::clone(handle));
        }
        let (sges, is_inline) = match self.data {
            RequestData::Segments(segments) if segments.len() > limits.max_send_sge as usize => {
                return refused(libc::EINVAL);
            }
            RequestData::Segments(segments) => {
                let (sges, regions) = gather(segments, call)?;
                uses._regions = regions;
                (sges, false)
            }
            RequestData::Inline(parts) => {
                let length =
                    parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
                if !self.operation.supports_inline() {
                    return refused(libc::EINVAL);
                }
                if length > limits.max_inline_data as usize {
                    return refused(libc::EMSGSIZE);
                }
                if parts.len() > limits.max_send_sge as usize {
                    return refused(libc::EINVAL);
                }
                let sge = |part: &&[u8]| Sge {
                    addr: part.as_ptr().expose_provenance() as u64,
                    length: part.len() as u32,
                    lkey: 0,
                };
                let mut sges = reserved(parts.len())?;
                sges.extend(parts.iter().map(sge));
                (sges, true)
            }
            // Only extended posts come here with it.
            RequestData::Unrecorded(_) => return refused(libc::EINVAL),
        };
        Ok(Checked { sges, is_inline, uses })
    }
}

impl QueuePair {
    /// Posts a request (ibv_post_send(3)).
    ///
    /// # Errors
    /// `ENOTCONN`: the queue pair is not ready to send; `ENOMEM`: its send queue is full; `EINVAL`:
    /// queue pairs of its kind do not support the operation, or that number of segments;
    /// `EMSGSIZE`: more inline bytes than it supports. Of a post without a record, only the library
    /// checks these.
    #[inline(always)]
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<()> {
        let RequestData::Unrecorded(data) = request.data else { return self.record_send(request) };
        let is_datagram = matches!(request.operation, Operation::Datagram { .. });
        if is_datagram && data.checks == Checks::Device {
            return Err(Error::new(CALL, libc::EINVAL).on(self.error_object()));
        }
        let flags = request.flags.with_inline(data.checks == Checks::CallerInline);
        let mut request = request.operation.to_c(request.id, flags, data.segments);
        // SAFETY: the request is well formed, and what it borrows lives over the call; for memory
        // that the device does not check, and for a handle, `Unrecorded::unchecked` demands it.
        unsafe { self.post_request(&mut request) }
    }

    fn record_send(&self, request: &SendRequest<'_>) -> Result<()> {
        self.check_can_send(CALL)?;
        let Checked { sges, is_inline, uses } = request.check(self, CALL)?;
        let flags = request.flags.with_inline(is_inline);
        self.records().sends.post(Posted { id: request.id, _uses: uses }, |id| {
            let mut request = request.operation.to_c(id, flags, &sges);
            // SAFETY: the request is well formed; its segments lie in registered memory, or are
            // borrowed over the call.
            unsafe { self.post_request(&mut request) }
        })
    }

    /// # Safety
    /// The request must be well formed, with all that it points to.
    #[inline]
    pub(super) unsafe fn post_request(&self, request: &mut ibv_send_wr) -> Result<()> {
        let mut bad = null_mut();
        // SAFETY: the queue pair is alive; the caller guarantees the request.
        let code = unsafe { (self.posts.send)(self.raw(), request, &raw mut bad) };
        Error::check(CALL, code)
    }
}

const CALL: &str = "ibv_post_send";
