//! What operations are called, what the status of a completion says, and what to do about it.

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
            Self::ReceiveImmediate => "receive of immediate data",
            Self::FetchAdd => "atomic fetch and add",
            Self::CompareSwap => "atomic compare and swap",
            Self::SendDatagram => "send of a datagram",
            Self::ReceiveDatagram => "receive of a datagram",
        })
    }
}

impl DtoStatus {
    /// What it says: a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "The operation did what it was posted for.",
            Self::Flushed => {
                "The connection ended before the operation took place, or before it was over."
            }
            Self::LocalLength => {
                "A message was longer than its receive buffer, or a request exceeds the endpoint."
            }
            Self::LocalEndpoint => "The local endpoint is not fit for the operation.",
            Self::LocalProtection => {
                "A local segment may not be accessed: it was freed, or is out of bounds or of another \
         zone."
            }
            Self::BadResponse => "The other side answered with something unexpected.",
            Self::RemoteAccess => {
                "The other side refused the access: its context, bounds or privileges don't allow it."
            }
            Self::RemoteResponder => "The other side could not take the operation.",
            Self::Transport => {
                "The transport gave up: nothing was acknowledged, however often it tried."
            }
            Self::ReceiverNotReady => {
                "The other side had posted no receive for the message, for too long."
            }
            Self::PartialPacket => "Only a part of a packet arrived.",
            Self::RmrFailed => "The bind of a remote memory region failed.",
            Self::LocalMemoryManagement => "The memory management of the local side failed.",
            Self::Unknown(_) => "No document names the code.",
        }
    }

    /// What to do about it: a sentence.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Success => "Nothing to do.",
            Self::Flushed => {
                "Look for the first completion of the endpoint with another error: it is the cause."
            }
            Self::LocalLength => "Post receives as long as the longest message.",
            Self::LocalEndpoint => {
                "Compare the request with the attributes that the endpoint was made with."
            }
            Self::LocalProtection => {
                "Free memory regions only after the operations that use them completed."
            }
            Self::BadResponse => "Check that both sides run matching software and firmware.",
            Self::RemoteAccess => {
                "Check the remote address, length and RMR context, and the privileges they came with."
            }
            Self::RemoteResponder => {
                "Look at the other side's completions: often its receive was too short."
            }
            Self::Transport => "Check the link and whether the other process is alive.",
            Self::ReceiverNotReady => "Post receives before the other side sends.",
            Self::PartialPacket => "Check the link for errors.",
            Self::RmrFailed => {
                "Check the zone and privileges of the memory region that was to be bound."
            }
            Self::LocalMemoryManagement => {
                "Check the registrations of the operation; then the log of the system."
            }
            Self::Unknown(_) => "Look into the documents of the provider.",
        }
    }
}
