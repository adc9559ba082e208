//! The names of operations, and the meaning and advice of each completion status.

use std::fmt;

use super::{DtoStatus, Operation};

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
            Self::FetchAdd => "atomic fetch and add",
            Self::CompareSwap => "atomic compare and swap",
            Self::SendDatagram => "datagram send",
            Self::ReceiveDatagram => "datagram receive",
        })
    }
}

impl DtoStatus {
    /// What it means: a sentence.
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

    /// What to do about it: a sentence.
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
