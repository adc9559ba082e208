//! Completions of posts.

use std::fmt;

use super::WorkCompletion;
use super::values::values;
use crate::sys::verbs as sys;

/// A completion (ibv_poll_cq(3)).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Completion {
    /// The id that the program gave the post.
    pub id: u64,
    /// Success, or the cause of the failure.
    pub status: CompletionStatus,
    /// The kind of operation; `None` if it failed, because the device does not report it then.
    pub kind: Option<CompletionKind>,
    /// Number of bytes received or read, including the 40 bytes of a datagram's header; 0 for other
    /// posts.
    pub length: u32,
    /// The immediate data of the peer, in the byte order of this machine.
    pub immediate: Option<u32>,
    /// The key that the peer's request invalidated.
    pub invalidated_key: Option<u32>,
    /// The number of the local queue pair.
    pub queue_pair: u32,
    /// The number of the queue pair that sent a datagram.
    pub source_queue_pair: u32,
    /// True if a datagram begins with a global route header.
    pub has_grh: bool,
    /// The vendor's code for a failure.
    pub vendor_error: u32,
    /// The index of the partition key of a datagram.
    pub pkey_index: u16,
    /// The local identifier of the port that sent a datagram.
    pub source_lid: u16,
    /// The service level of a datagram.
    pub service_level: u8,
    /// The path bits of the local identifier that a datagram was sent to.
    pub destination_path_bits: u8,
}

impl Completion {
    pub(super) fn new(id: u64, raw: &WorkCompletion) -> Self {
        let success = raw.status == sys::IBV_WC_SUCCESS;
        let flag = |flag| success && raw.wc_flags & flag != 0;
        let kind = success.then(|| CompletionKind::new(raw.opcode));
        let has_length = matches!(
            kind,
            Some(
                CompletionKind::Receive
                    | CompletionKind::ReceiveWriteImmediate
                    | CompletionKind::Read
                    | CompletionKind::CompareSwap
                    | CompletionKind::FetchAdd
            )
        );
        Self {
            id,
            status: CompletionStatus::new(raw.status),
            kind,
            length: if has_length { raw.byte_len } else { 0 },
            immediate: flag(sys::IBV_WC_WITH_IMM).then(|| u32::from_be(raw.imm_or_key)),
            invalidated_key: flag(sys::IBV_WC_WITH_INV).then_some(raw.imm_or_key),
            queue_pair: raw.qp_num,
            source_queue_pair: raw.src_qp,
            has_grh: flag(sys::IBV_WC_GRH),
            vendor_error: raw.vendor_err,
            pkey_index: raw.pkey_index,
            source_lid: raw.slid,
            service_level: raw.sl,
            destination_path_bits: raw.dlid_path_bits,
        }
    }

    /// Returns true if the post succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == CompletionStatus::Success
    }
}

values! {
    /// The kind of a completed operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CompletionKind;
    /// A send.
    Send = IBV_WC_SEND;
    /// An RDMA write.
    Write = IBV_WC_RDMA_WRITE;
    /// An RDMA read.
    Read = IBV_WC_RDMA_READ;
    /// An atomic compare and swap.
    CompareSwap = IBV_WC_COMP_SWAP;
    /// An atomic fetch and add.
    FetchAdd = IBV_WC_FETCH_ADD;
    /// The bind of a window.
    Bind = IBV_WC_BIND_MW;
    /// The invalidation of a key.
    Invalidate = IBV_WC_LOCAL_INV;
    /// A receive, by a message of the peer.
    Receive = IBV_WC_RECV;
    /// A receive, by an RDMA write of the peer with immediate data.
    ReceiveWriteImmediate = IBV_WC_RECV_RDMA_WITH_IMM;
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $value:ident $text:literal,)*) => {
        values! {
            /// How a post ended (ibv_poll_cq(3)).
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub enum CompletionStatus;
            $($(#[$doc])* $name = $value;)*
        }

        impl fmt::Display for CompletionStatus {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str(concat!($text, " (", stringify!($value), ")")),)*
                    Self::Unknown(value) => write!(f, "completion status {value}"),
                }
            }
        }
    };
}

statuses! {
    /// It succeeded.
    #[default]
    Success = IBV_WC_SUCCESS "success",
    /// The message is longer than the receive, or than the device allows.
    LocalLength = IBV_WC_LOC_LEN_ERR "local length error",
    /// The queue pair could not execute it.
    LocalQueuePair = IBV_WC_LOC_QP_OP_ERR "local queue pair error",
    /// A local segment is not registered for this access.
    LocalProtection = IBV_WC_LOC_PROT_ERR "local protection error",
    /// The queue pair was in the error state before the operation was done.
    Flushed = IBV_WC_WR_FLUSH_ERR "flushed",
    /// The window could not be bound.
    WindowBind = IBV_WC_MW_BIND_ERR "memory window bind error",
    /// The peer's answer is invalid.
    BadResponse = IBV_WC_BAD_RESP_ERR "bad response",
    /// The peer wrote with immediate data without the access right.
    LocalAccess = IBV_WC_LOC_ACCESS_ERR "local access error",
    /// The peer does not support the request, or its receive is too short for the message.
    RemoteInvalidRequest = IBV_WC_REM_INV_REQ_ERR "remote invalid request",
    /// The peer's memory is not registered for this access.
    RemoteAccess = IBV_WC_REM_ACCESS_ERR "remote access error",
    /// The peer failed.
    RemoteOperation = IBV_WC_REM_OP_ERR "remote operation error",
    /// The peer acknowledged none of the retries.
    RetryExceeded = IBV_WC_RETRY_EXC_ERR "transport retry count exceeded",
    /// The peer had no receive for any of the retries.
    ReceiverNotReady = IBV_WC_RNR_RETRY_EXC_ERR "receiver-not-ready retry count exceeded",
    /// The peer aborted it.
    RemoteAborted = IBV_WC_REM_ABORT_ERR "remote aborted",
    /// The device failed.
    Fatal = IBV_WC_FATAL_ERR "fatal error",
    /// The peer's answer did not arrive in time.
    ResponseTimeout = IBV_WC_RESP_TIMEOUT_ERR "response timeout",
    /// Any other failure.
    General = IBV_WC_GENERAL_ERR "general error",
}
