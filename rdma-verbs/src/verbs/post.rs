//! Send requests.

use std::sync::Arc;

use super::in_flight::Uses;
use super::memory::reserved;
use super::segment::gather;
use super::{
    AddressHandle, Error, QueuePair, QueuePairType, RawOperation, RemoteAddress, Result, Segment,
    SendFlags, Sge,
};

/// The local data of a request.
#[derive(Clone, Copy, Debug)]
pub enum RequestData<'a> {
    /// Ranges of regions. The device sends from them or, for an RDMA read or an atomic, writes into
    /// them.
    Segments(&'a [Segment]),
    /// Bytes that are copied into the request itself and need no registration; at most
    /// [`Capabilities::max_inline_data`](super::Capabilities) in total. Only for sends and writes.
    Inline(&'a [&'a [u8]]),
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
    pub(super) fn to_raw(self) -> RawOperation<'a> {
        match self {
            Self::Send => RawOperation::Send,
            Self::SendImmediate(data) => RawOperation::SendImmediate { data: data.to_be() },
            Self::SendInvalidate(key) => RawOperation::SendInvalidate { key },
            Self::Write(RemoteAddress { address, key }) => RawOperation::Write { address, key },
            Self::WriteImmediate(RemoteAddress { address, key }, data) => {
                RawOperation::WriteImmediate { address, key, data: data.to_be() }
            }
            Self::Read(RemoteAddress { address, key }) => RawOperation::Read { address, key },
            Self::FetchAdd { remote: RemoteAddress { address, key }, add } => {
                RawOperation::FetchAdd { address, key, add }
            }
            Self::CompareSwap { remote: RemoteAddress { address, key }, compare, swap } => {
                RawOperation::CompareSwap { address, key, compare, swap }
            }
            Self::Invalidate(key) => RawOperation::Invalidate { key },
            Self::Datagram { handle, queue_pair, queue_key, immediate: None } => {
                RawOperation::Datagram { handle, number: queue_pair, key: queue_key }
            }
            Self::Datagram { handle, queue_pair, queue_key, immediate: Some(data) } => {
                let data = data.to_be();
                RawOperation::DatagramImmediate { handle, number: queue_pair, key: queue_key, data }
            }
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
                if !self.operation.to_raw().supports_inline() {
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
        };
        Ok(Checked { sges, is_inline, uses })
    }
}
