//! Operations, and the status with which they complete.

use std::fmt;

/// The operation that a completion is for (`DAT_DTOS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Operation {
    /// A send.
    #[default]
    Send = 0,
    /// An RDMA write.
    RdmaWrite = 1,
    /// An RDMA read.
    RdmaRead = 2,
    /// A receive.
    Receive = 3,
    /// A receive whose send invalidated a remote memory region.
    ReceiveWithInvalidate = 4,
    /// An RMR bind.
    Bind = 5,
    /// An RDMA write with immediate data.
    RdmaWriteImmediate = 8,
    /// A receive that an RDMA write with immediate data completed.
    ReceiveImmediate = 9,
    /// An atomic fetch-and-add.
    FetchAdd = 10,
    /// An atomic compare-and-swap.
    CompareSwap = 11,
    /// A receive that a send with immediate data completed.
    ReceiveSendImmediate = 12,
    /// A datagram sent.
    SendDatagram = 13,
    /// A datagram received.
    ReceiveDatagram = 14,
    /// A datagram with immediate data received.
    ReceiveDatagramImmediate = 15,
}

impl Operation {
    /// Returns true if it is a request (and not a receive) of an endpoint.
    #[must_use]
    pub const fn is_request(self) -> bool {
        !matches!(
            self,
            Self::Receive
                | Self::ReceiveWithInvalidate
                | Self::ReceiveImmediate
                | Self::ReceiveSendImmediate
                | Self::ReceiveDatagram
                | Self::ReceiveDatagramImmediate
        )
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::RdmaWrite => "RDMA write",
            Self::RdmaRead => "RDMA read",
            Self::Receive => "receive",
            Self::ReceiveWithInvalidate => "receive with invalidate",
            Self::Bind => "bind",
            Self::RdmaWriteImmediate => "RDMA write with immediate data",
            Self::ReceiveImmediate => "receive with immediate data",
            Self::ReceiveSendImmediate => "receive of a send with immediate data",
            Self::FetchAdd => "atomic fetch and add",
            Self::CompareSwap => "atomic compare and swap",
            Self::SendDatagram => "datagram send",
            Self::ReceiveDatagram => "datagram receive",
            Self::ReceiveDatagramImmediate => "receive of a datagram with immediate data",
        })
    }
}

/// How an operation ended (`DAT_DTO_COMPLETION_STATUS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DtoStatus {
    /// It succeeded.
    #[default]
    Success,
    /// The connection ended first; the operation did not take place, or only in part.
    Flushed,
    /// A message was longer than the receive buffer, or the request exceeds the endpoint.
    LocalLength,
    /// The endpoint is not able to do the operation.
    LocalEndpoint,
    /// A local segment is not accessible: freed, out of bounds or in another zone.
    LocalProtection,
    /// The peer sent an unexpected response.
    BadResponse,
    /// The peer refused the access: context, bounds or privilege.
    RemoteAccess,
    /// The peer could not accept the operation, for example because the receive was too short.
    RemoteResponder,
    /// The transport gave up after its retries.
    Transport,
    /// The peer never posted a receive.
    ReceiverNotReady,
    /// Only a part of a packet arrived.
    PartialPacket,
    /// Binding a remote memory region failed.
    RmrFailed,
    /// Local memory management failed.
    LocalMemoryManagement,
    /// A status unknown to this version, as the device reported it.
    Unknown(u32),
}

impl DtoStatus {
    const KNOWN: [(Self, u32, &'static str); 13] = [
        (Self::Success, 0, "DAT_DTO_SUCCESS"),
        (Self::Flushed, 1, "DAT_DTO_ERR_FLUSHED"),
        (Self::LocalLength, 2, "DAT_DTO_ERR_LOCAL_LENGTH"),
        (Self::LocalEndpoint, 3, "DAT_DTO_ERR_LOCAL_EP"),
        (Self::LocalProtection, 4, "DAT_DTO_ERR_LOCAL_PROTECTION"),
        (Self::BadResponse, 5, "DAT_DTO_ERR_BAD_RESPONSE"),
        (Self::RemoteAccess, 6, "DAT_DTO_ERR_REMOTE_ACCESS"),
        (Self::RemoteResponder, 7, "DAT_DTO_ERR_REMOTE_RESPONDER"),
        (Self::Transport, 8, "DAT_DTO_ERR_TRANSPORT"),
        (Self::ReceiverNotReady, 9, "DAT_DTO_ERR_RECEIVER_NOT_READY"),
        (Self::PartialPacket, 10, "DAT_DTO_ERR_PARTIAL_PACKET"),
        (Self::RmrFailed, 11, "DAT_RMR_OPERATION_FAILED"),
        (Self::LocalMemoryManagement, 12, "DAT_DTO_ERR_LOCAL_MM_ERROR"),
    ];

    /// The value in the C ABI.
    #[inline(always)]
    #[must_use]
    pub fn value(self) -> u32 {
        if self == Self::Success { 0 } else { self.value_of_failure() }
    }

    #[cold]
    fn value_of_failure(self) -> u32 {
        match self {
            Self::Unknown(value) => value,
            known => {
                Self::KNOWN.iter().find(|(status, ..)| *status == known).map_or(0, |row| row.1)
            }
        }
    }

    /// The name in the C headers, if it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::KNOWN.iter().find(|(status, ..)| *status == self).map(|row| row.2)
    }

    /// Every status that has a name.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::KNOWN.iter().map(|row| row.0)
    }

    /// Its meaning: a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "The operation succeeded.",
            Self::Flushed => "The connection ended before the operation completed.",
            Self::LocalLength => {
                "A message was longer than its receive buffer, or a request exceeded the \
                 endpoint's attributes."
            }
            Self::LocalEndpoint => "The local endpoint cannot perform the operation.",
            Self::LocalProtection => {
                "A local segment cannot be accessed: it was freed, is out of bounds, or is in \
                 another protection zone."
            }
            Self::BadResponse => "The peer sent an unexpected response.",
            Self::RemoteAccess => {
                "The peer refused the access because of its context, bounds or privileges."
            }
            Self::RemoteResponder => "The peer could not process the operation.",
            Self::Transport => "The transport gave up: the peer did not acknowledge any retry.",
            Self::ReceiverNotReady => {
                "The peer had no receive posted for the message for too long."
            }
            Self::PartialPacket => "A packet arrived only in part.",
            Self::RmrFailed => "Binding a remote memory region failed.",
            Self::LocalMemoryManagement => "Local memory management failed.",
            Self::Unknown(_) => "The code is not defined by DAT.",
        }
    }

    /// The advice: a sentence.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Success => "Nothing to do.",
            Self::Flushed => {
                "Look for an earlier completion of the endpoint with another error: it is the \
                 cause. If there is none, the peer disconnected or the link failed."
            }
            Self::LocalLength => "Post receives at least as long as the longest message.",
            Self::LocalEndpoint => "Compare the request with the endpoint's attributes.",
            Self::LocalProtection => {
                "Free memory regions only after the operations that use them have completed."
            }
            Self::BadResponse => "Check that both sides run compatible software and firmware.",
            Self::RemoteAccess => {
                "Check the remote address, length and RMR context, and the privileges granted for \
                 them."
            }
            Self::RemoteResponder => {
                "Check the peer's completions: its receive was probably too short."
            }
            Self::Transport => "Check the link, and that the peer process is running.",
            Self::ReceiverNotReady => "Post receives before the peer sends.",
            Self::PartialPacket => "Check the link for errors.",
            Self::RmrFailed => {
                "Check the protection zone and privileges of the memory region to be bound."
            }
            Self::LocalMemoryManagement => {
                "Check the memory registrations of the operation, then the system log."
            }
            Self::Unknown(_) => "See the documentation of the provider.",
        }
    }
}

impl fmt::Display for DtoStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "unknown status {}", self.value()),
        }
    }
}
