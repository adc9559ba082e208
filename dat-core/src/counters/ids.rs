//! The counters of the InfiniBand extension, by object, with the numbers of the C API.

use super::counter_set::CounterId;
use super::sizes::{SizedOperation, Sizes};

/// Defines an enum of counters from a table of `Variant = "C name", "what it counts";`.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident, $more:expr; $($variant:ident = $c_name:literal, $meaning:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $(#[doc = concat!("`", $c_name, "`: ", $meaning)] $variant,)+
        }

        impl CounterId for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const MORE: usize = $more;

            fn index(self) -> usize {
                self as usize
            }

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $c_name,)+
                }
            }
        }
    };
}

counters! {
    /// The counters of an adapter (`DAT_IA_COUNTERS`). The counters of links and of device diagnostics come from the port
    /// of the device, as far as its driver has them, and count for all programs that use it. Without a device they stay 0,
    /// except for lost datagrams (`DCNT_IA_DIAG_ERR_RQ_UDSDPRD`, `DCNT_IA_LNK_ERR_RCV`, `DCNT_IA_LNK_ERR_XMT_DISCARDS`),
    /// which providers in software count. Allocations, and the duplicates, retries and message-receipt acknowledgements of
    /// the connection manager, always stay 0: no call and no event reports them to the library.
    IaCounter, 0;
    PzCreate = "DCNT_IA_PZ_CREATE", "Protection zones created.";
    PzFree = "DCNT_IA_PZ_FREE", "Protection zones freed.";
    LmrCreate = "DCNT_IA_LMR_CREATE", "Local memory regions created.";
    LmrFree = "DCNT_IA_LMR_FREE", "Local memory regions freed.";
    RmrCreate = "DCNT_IA_RMR_CREATE", "Remote memory regions created.";
    RmrFree = "DCNT_IA_RMR_FREE", "Remote memory regions freed.";
    PspCreate = "DCNT_IA_PSP_CREATE", "Public service points created.";
    PspCreateAny = "DCNT_IA_PSP_CREATE_ANY", "Public service points created on a qualifier chosen \
         by the adapter.";
    PspFree = "DCNT_IA_PSP_FREE", "Public service points freed.";
    RspCreate = "DCNT_IA_RSP_CREATE", "Reserved service points created.";
    RspFree = "DCNT_IA_RSP_FREE", "Reserved service points freed.";
    EvdCreate = "DCNT_IA_EVD_CREATE", "Event dispatchers created.";
    EvdFree = "DCNT_IA_EVD_FREE", "Event dispatchers freed.";
    EpCreate = "DCNT_IA_EP_CREATE", "Endpoints created.";
    EpFree = "DCNT_IA_EP_FREE", "Endpoints freed.";
    SrqCreate = "DCNT_IA_SRQ_CREATE", "Shared receive queues created.";
    SrqFree = "DCNT_IA_SRQ_FREE", "Shared receive queues freed.";
    SpCr = "DCNT_IA_SP_CR", "Connection requests received.";
    SpCrAccepted = "DCNT_IA_SP_CR_ACCEPTED", "Connection requests accepted.";
    SpCrRejected = "DCNT_IA_SP_CR_REJECTED", "Connection requests rejected.";
    MemAlloc = "DCNT_IA_MEM_ALLOC", "Allocations.";
    MemAllocData = "DCNT_IA_MEM_ALLOC_DATA", "Bytes allocated.";
    MemFree = "DCNT_IA_MEM_FREE", "Allocations freed.";
    AsyncError = "DCNT_IA_ASYNC_ERROR", "Asynchronous errors.";
    AsyncQpError = "DCNT_IA_ASYNC_QP_ERROR", "Asynchronous errors on queue pairs.";
    AsyncCqError = "DCNT_IA_ASYNC_CQ_ERROR", "Asynchronous errors on completion queues.";
    CmListen = "DCNT_IA_CM_LISTEN", "Listening service points.";
    CmReqTx = "DCNT_IA_CM_REQ_TX", "Connection requests sent on the wire.";
    CmReqRx = "DCNT_IA_CM_REQ_RX", "Connection requests received on the wire.";
    CmRepTx = "DCNT_IA_CM_REP_TX", "Accepts sent.";
    CmRepRx = "DCNT_IA_CM_REP_RX", "Accepts received.";
    CmRtuTx = "DCNT_IA_CM_RTU_TX", "Ready-to-use sent.";
    CmRtuRx = "DCNT_IA_CM_RTU_RX", "Ready-to-use received.";
    CmUserRejTx = "DCNT_IA_CM_USER_REJ_TX", "Rejections by the local consumer sent.";
    CmUserRejRx = "DCNT_IA_CM_USER_REJ_RX", "Rejections by the remote consumer received.";
    CmActiveEst = "DCNT_IA_CM_ACTIVE_EST", "Connections established as the active side.";
    CmPassiveEst = "DCNT_IA_CM_PASSIVE_EST", "Connections established as the passive side.";
    CmAhReqTx = "DCNT_IA_CM_AH_REQ_TX", "Address handle requests sent.";
    CmAhReqRx = "DCNT_IA_CM_AH_REQ_RX", "Address handle requests received.";
    CmAhResolved = "DCNT_IA_CM_AH_RESOLVED", "Address handles resolved.";
    CmDreqTx = "DCNT_IA_CM_DREQ_TX", "Disconnects requested by the local consumer.";
    CmDreqRx = "DCNT_IA_CM_DREQ_RX", "Disconnects by the peer, and broken connections.";
    CmDrepTx = "DCNT_IA_CM_DREP_TX", "Disconnect replies sent.";
    CmDrepRx = "DCNT_IA_CM_DREP_RX", "Disconnect replies received.";
    CmMraTx = "DCNT_IA_CM_MRA_TX", "Message-receipt acknowledgements sent.";
    CmMraRx = "DCNT_IA_CM_MRA_RX", "Message-receipt acknowledgements received.";
    CmReqFullqPoll = "DCNT_IA_CM_REQ_FULLQ_POLL", "Polls that found the request queue full.";
    CmErr = "DCNT_IA_CM_ERR", "Errors.";
    CmErrReqFullq = "DCNT_IA_CM_ERR_REQ_FULLQ", "Errors: request queue full.";
    CmErrReqDup = "DCNT_IA_CM_ERR_REQ_DUP", "Errors: duplicate requests.";
    CmErrReqRetry = "DCNT_IA_CM_ERR_REQ_RETRY", "Errors: request retries.";
    CmErrRepDup = "DCNT_IA_CM_ERR_REP_DUP", "Errors: duplicate replies.";
    CmErrRepRetry = "DCNT_IA_CM_ERR_REP_RETRY", "Errors: reply retries.";
    CmErrRtuDup = "DCNT_IA_CM_ERR_RTU_DUP", "Errors: duplicate ready-to-use messages.";
    CmErrRtuRetry = "DCNT_IA_CM_ERR_RTU_RETRY", "Errors: ready-to-use retries.";
    CmErrRefused = "DCNT_IA_CM_ERR_REFUSED", "Attempts refused by the transport or the provider.";
    CmErrReset = "DCNT_IA_CM_ERR_RESET", "Errors: reset.";
    CmErrTimeout = "DCNT_IA_CM_ERR_TIMEOUT", "Attempts that timed out.";
    CmErrRejTx = "DCNT_IA_CM_ERR_REJ_TX", "Errors: rejections sent.";
    CmErrRejRx = "DCNT_IA_CM_ERR_REJ_RX", "Errors: rejections received.";
    CmErrDreqDup = "DCNT_IA_CM_ERR_DREQ_DUP", "Errors: duplicate disconnect requests.";
    CmErrDreqRetry = "DCNT_IA_CM_ERR_DREQ_RETRY", "Errors: disconnect request retries.";
    CmErrDrepDup = "DCNT_IA_CM_ERR_DREP_DUP", "Errors: duplicate disconnect replies.";
    CmErrDrepRetry = "DCNT_IA_CM_ERR_DREP_RETRY", "Errors: disconnect reply retries.";
    CmErrMraDup = "DCNT_IA_CM_ERR_MRA_DUP", "Errors: duplicate message-receipt acknowledgements.";
    CmErrMraRetry = "DCNT_IA_CM_ERR_MRA_RETRY", "Errors: message-receipt acknowledgement retries.";
    CmErrUnexpected = "DCNT_IA_CM_ERR_UNEXPECTED", "Errors: unexpected messages.";
    LnkErrRcv = "DCNT_IA_LNK_ERR_RCV", "Link errors: receive errors.";
    LnkErrRcvRemPhys = "DCNT_IA_LNK_ERR_RCV_REM_PHYS", "Link errors: remote physical errors \
         received.";
    LnkErrRcvConstraint = "DCNT_IA_LNK_ERR_RCV_CONSTRAINT", "Link errors: receive constraint \
         errors.";
    LnkErrXmtDiscards = "DCNT_IA_LNK_ERR_XMT_DISCARDS", "Link errors: transmit discards.";
    LnkErrXmtContraint = "DCNT_IA_LNK_ERR_XMT_CONTRAINT", "Link errors: transmit constraint \
         errors.";
    LnkErrIntegrity = "DCNT_IA_LNK_ERR_INTEGRITY", "Link errors: integrity errors.";
    LnkErrExcBufOverrun = "DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN", "Link errors: excessive buffer \
         overruns.";
    LnkWarnRcvSwRelay = "DCNT_IA_LNK_WARN_RCV_SW_RELAY", "Link warnings: switch relay errors \
         received.";
    LnkWarnXmtWait = "DCNT_IA_LNK_WARN_XMT_WAIT", "Link warnings: transmit waits.";
    DiagErrRqRae = "DCNT_IA_DIAG_ERR_RQ_RAE", "Device diagnostics errors: receive queue remote \
         access errors.";
    DiagErrRqOos = "DCNT_IA_DIAG_ERR_RQ_OOS", "Device diagnostics errors: receive queue \
         out-of-sequence.";
    DiagErrRqRire = "DCNT_IA_DIAG_ERR_RQ_RIRE", "Device diagnostics errors: receive queue remote \
         invalid requests.";
    DiagErrRqUdsdprd = "DCNT_IA_DIAG_ERR_RQ_UDSDPRD", "Device diagnostics errors: receive queue \
         dropped datagrams.";
    DiagErrSqRae = "DCNT_IA_DIAG_ERR_SQ_RAE", "Device diagnostics errors: send queue remote \
         access errors.";
    DiagErrSqOos = "DCNT_IA_DIAG_ERR_SQ_OOS", "Device diagnostics errors: send queue \
         out-of-sequence.";
    DiagErrSqRire = "DCNT_IA_DIAG_ERR_SQ_RIRE", "Device diagnostics errors: send queue remote \
         invalid requests.";
    DiagErrSqRree = "DCNT_IA_DIAG_ERR_SQ_RREE", "Device diagnostics errors: send queue retries \
         exceeded.";
    DiagErrSqTree = "DCNT_IA_DIAG_ERR_SQ_TREE", "Device diagnostics errors: send queue transport \
         retries exceeded.";
}

counters! {
    /// The counters of an endpoint (`DAT_EP_COUNTERS`).
    EpCounter, Sizes::ALL;
    Connect = "DCNT_EP_CONNECT", "Connection attempts.";
    Disconnect = "DCNT_EP_DISCONNECT", "Disconnects.";
    PostSend = "DCNT_EP_POST_SEND", "Sends posted.";
    PostSendData = "DCNT_EP_POST_SEND_DATA", "Bytes in posted sends.";
    PostSendUd = "DCNT_EP_POST_SEND_UD", "Datagrams posted.";
    PostSendUdData = "DCNT_EP_POST_SEND_UD_DATA", "Bytes in posted datagrams.";
    PostRecv = "DCNT_EP_POST_RECV", "Receives posted.";
    PostRecvData = "DCNT_EP_POST_RECV_DATA", "Capacity of posted receives, in bytes.";
    PostWrite = "DCNT_EP_POST_WRITE", "RDMA writes posted.";
    PostWriteData = "DCNT_EP_POST_WRITE_DATA", "Bytes in posted RDMA writes.";
    PostWriteImm = "DCNT_EP_POST_WRITE_IMM", "RDMA writes with immediate data posted.";
    PostWriteImmData = "DCNT_EP_POST_WRITE_IMM_DATA", "Bytes in posted RDMA writes with immediate \
         data.";
    PostRead = "DCNT_EP_POST_READ", "RDMA reads posted.";
    PostReadData = "DCNT_EP_POST_READ_DATA", "Bytes in posted RDMA reads.";
    PostCmpSwap = "DCNT_EP_POST_CMP_SWAP", "Compare-and-swaps posted.";
    PostFetchAdd = "DCNT_EP_POST_FETCH_ADD", "Fetch-and-adds posted.";
    Recv = "DCNT_EP_RECV", "Receive completions dequeued.";
    RecvData = "DCNT_EP_RECV_DATA", "Bytes in dequeued receive completions.";
    RecvUd = "DCNT_EP_RECV_UD", "Datagram completions dequeued.";
    RecvUdData = "DCNT_EP_RECV_UD_DATA", "Bytes in dequeued datagram completions.";
    RecvImm = "DCNT_EP_RECV_IMM", "Completions with immediate data dequeued.";
    RecvImmData = "DCNT_EP_RECV_IMM_DATA", "Bytes in dequeued completions with immediate data.";
    RecvRdmaImm = "DCNT_EP_RECV_RDMA_IMM", "Completions of RDMA writes with immediate data \
         dequeued.";
    RecvRdmaImmData = "DCNT_EP_RECV_RDMA_IMM_DATA", "Bytes in dequeued RDMA writes with immediate \
         data.";
}

impl EpCounter {
    /// The operation whose bytes it counts, if the sizes of that operation are counted.
    pub(crate) const fn sized_operation(self) -> Option<SizedOperation> {
        match self {
            Self::PostSendData | Self::PostSendUdData => Some(SizedOperation::Send),
            Self::PostWriteData | Self::PostWriteImmData => Some(SizedOperation::RdmaWrite),
            Self::PostReadData => Some(SizedOperation::RdmaRead),
            Self::RecvData | Self::RecvUdData | Self::RecvImmData | Self::RecvRdmaImmData => {
                Some(SizedOperation::Receive)
            }
            _ => None,
        }
    }
}

counters! {
    /// The counters of an event dispatcher (`DAT_EVD_COUNTERS`).
    EvdCounter, 0;
    Wait = "DCNT_EVD_WAIT", "Waits.";
    WaitBlocked = "DCNT_EVD_WAIT_BLOCKED", "Waits that blocked.";
    WaitNotify = "DCNT_EVD_WAIT_NOTIFY", "Wake-ups of blocked waits.";
    Dequeue = "DCNT_EVD_DEQUEUE", "Dequeues.";
    DequeueFound = "DCNT_EVD_DEQUEUE_FOUND", "Dequeues that found an event.";
    DequeueNotFound = "DCNT_EVD_DEQUEUE_NOT_FOUND", "Dequeues that found none.";
    DequeuePoll = "DCNT_EVD_DEQUEUE_POLL", "Polls of the completion queue.";
    DequeuePollFound = "DCNT_EVD_DEQUEUE_POLL_FOUND", "Polls of the completion queue that found a \
         completion.";
    ConnCallback = "DCNT_EVD_CONN_CALLBACK", "Connection events raised.";
    DtoCallback = "DCNT_EVD_DTO_CALLBACK", "Wake-ups by completions.";
}
