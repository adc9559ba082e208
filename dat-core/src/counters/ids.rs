//! The counters of the InfiniBand extension, by object, with the numbers of the C API.

use super::tally::CounterId;

/// Makes an enum of counters from a table of `Variant = "C name", "what it counts";`.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident $($variant:ident = $c_name:literal, $meaning:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $(#[doc = concat!("`", $c_name, "`: ", $meaning)] $variant,)+
        }

        impl CounterId for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

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
    /// The counters of an adapter (`DAT_IA_COUNTERS`). What only hardware counts stays 0 without it.
    IaCounter
    PzCreate = "DCNT_IA_PZ_CREATE", "Protection zones made.";
    PzFree = "DCNT_IA_PZ_FREE", "Protection zones freed.";
    LmrCreate = "DCNT_IA_LMR_CREATE", "Local memory regions made.";
    LmrFree = "DCNT_IA_LMR_FREE", "Local memory regions freed.";
    RmrCreate = "DCNT_IA_RMR_CREATE", "Remote memory regions made.";
    RmrFree = "DCNT_IA_RMR_FREE", "Remote memory regions freed.";
    PspCreate = "DCNT_IA_PSP_CREATE", "Public service points made.";
    PspCreateAny = "DCNT_IA_PSP_CREATE_ANY", "Public service points made on a qualifier of the adapter's choice.";
    PspFree = "DCNT_IA_PSP_FREE", "Public service points freed.";
    RspCreate = "DCNT_IA_RSP_CREATE", "Reserved service points made.";
    RspFree = "DCNT_IA_RSP_FREE", "Reserved service points freed.";
    EvdCreate = "DCNT_IA_EVD_CREATE", "Event dispatchers made.";
    EvdFree = "DCNT_IA_EVD_FREE", "Event dispatchers freed.";
    EpCreate = "DCNT_IA_EP_CREATE", "Endpoints made.";
    EpFree = "DCNT_IA_EP_FREE", "Endpoints freed.";
    SrqCreate = "DCNT_IA_SRQ_CREATE", "Shared receive queues made.";
    SrqFree = "DCNT_IA_SRQ_FREE", "Shared receive queues freed.";
    SpCr = "DCNT_IA_SP_CR", "Connection requests that arrived.";
    SpCrAccepted = "DCNT_IA_SP_CR_ACCEPTED", "Connection requests that were accepted.";
    SpCrRejected = "DCNT_IA_SP_CR_REJECTED", "Connection requests that were rejected.";
    MemAlloc = "DCNT_IA_MEM_ALLOC", "Allocations.";
    MemAllocData = "DCNT_IA_MEM_ALLOC_DATA", "Bytes allocated.";
    MemFree = "DCNT_IA_MEM_FREE", "Allocations freed.";
    AsyncError = "DCNT_IA_ASYNC_ERROR", "Asynchronous errors.";
    AsyncQpError = "DCNT_IA_ASYNC_QP_ERROR", "Asynchronous errors of queue pairs.";
    AsyncCqError = "DCNT_IA_ASYNC_CQ_ERROR", "Asynchronous errors of completion queues.";
    CmListen = "DCNT_IA_CM_LISTEN", "Service points that listen.";
    CmReqTx = "DCNT_IA_CM_REQ_TX", "Requests for a connection sent.";
    CmReqRx = "DCNT_IA_CM_REQ_RX", "Requests for a connection received.";
    CmRepTx = "DCNT_IA_CM_REP_TX", "Accepts sent.";
    CmRepRx = "DCNT_IA_CM_REP_RX", "Accepts received.";
    CmRtuTx = "DCNT_IA_CM_RTU_TX", "Ready-to-use sent.";
    CmRtuRx = "DCNT_IA_CM_RTU_RX", "Ready-to-use received.";
    CmUserRejTx = "DCNT_IA_CM_USER_REJ_TX", "Rejections of the consumer sent.";
    CmUserRejRx = "DCNT_IA_CM_USER_REJ_RX", "Rejections of the other consumer received.";
    CmActiveEst = "DCNT_IA_CM_ACTIVE_EST", "Connections established as the active side.";
    CmPassiveEst = "DCNT_IA_CM_PASSIVE_EST", "Connections established as the passive side.";
    CmAhReqTx = "DCNT_IA_CM_AH_REQ_TX", "Address handles requests sent.";
    CmAhReqRx = "DCNT_IA_CM_AH_REQ_RX", "Address handles requests received.";
    CmAhResolved = "DCNT_IA_CM_AH_RESOLVED", "Address handles resolved.";
    CmDreqTx = "DCNT_IA_CM_DREQ_TX", "Disconnects asked for.";
    CmDreqRx = "DCNT_IA_CM_DREQ_RX", "Disconnects by the other side, or breaks.";
    CmDrepTx = "DCNT_IA_CM_DREP_TX", "Disconnect replies sent.";
    CmDrepRx = "DCNT_IA_CM_DREP_RX", "Disconnect replies received.";
    CmMraTx = "DCNT_IA_CM_MRA_TX", "Message-receipt acknowledgements sent.";
    CmMraRx = "DCNT_IA_CM_MRA_RX", "Message-receipt acknowledgements received.";
    CmReqFullqPoll = "DCNT_IA_CM_REQ_FULLQ_POLL", "Requests full queue poll.";
    CmErr = "DCNT_IA_CM_ERR", "Errors.";
    CmErrReqFullq = "DCNT_IA_CM_ERR_REQ_FULLQ", "Errors: requests full queue.";
    CmErrReqDup = "DCNT_IA_CM_ERR_REQ_DUP", "Errors: requests duplicates.";
    CmErrReqRetry = "DCNT_IA_CM_ERR_REQ_RETRY", "Errors: requests retries.";
    CmErrRepDup = "DCNT_IA_CM_ERR_REP_DUP", "Errors: replies duplicates.";
    CmErrRepRetry = "DCNT_IA_CM_ERR_REP_RETRY", "Errors: replies retries.";
    CmErrRtuDup = "DCNT_IA_CM_ERR_RTU_DUP", "Errors: ready-to-use duplicates.";
    CmErrRtuRetry = "DCNT_IA_CM_ERR_RTU_RETRY", "Errors: ready-to-use retries.";
    CmErrRefused = "DCNT_IA_CM_ERR_REFUSED", "Attempts refused without a consumer.";
    CmErrReset = "DCNT_IA_CM_ERR_RESET", "Errors: reset.";
    CmErrTimeout = "DCNT_IA_CM_ERR_TIMEOUT", "Attempts that timed out.";
    CmErrRejTx = "DCNT_IA_CM_ERR_REJ_TX", "Errors: rejections sent.";
    CmErrRejRx = "DCNT_IA_CM_ERR_REJ_RX", "Errors: rejections received.";
    CmErrDreqDup = "DCNT_IA_CM_ERR_DREQ_DUP", "Errors: disconnect requests duplicates.";
    CmErrDreqRetry = "DCNT_IA_CM_ERR_DREQ_RETRY", "Errors: disconnect requests retries.";
    CmErrDrepDup = "DCNT_IA_CM_ERR_DREP_DUP", "Errors: disconnect replies duplicates.";
    CmErrDrepRetry = "DCNT_IA_CM_ERR_DREP_RETRY", "Errors: disconnect replies retries.";
    CmErrMraDup = "DCNT_IA_CM_ERR_MRA_DUP", "Errors: message-receipt acknowledgements duplicates.";
    CmErrMraRetry = "DCNT_IA_CM_ERR_MRA_RETRY", "Errors: message-receipt acknowledgements retries.";
    CmErrUnexpected = "DCNT_IA_CM_ERR_UNEXPECTED", "Errors: unexpected.";
    LnkErrRcv = "DCNT_IA_LNK_ERR_RCV", "Link errors: receive.";
    LnkErrRcvRemPhys = "DCNT_IA_LNK_ERR_RCV_REM_PHYS", "Link errors: receive remote physical.";
    LnkErrRcvConstraint = "DCNT_IA_LNK_ERR_RCV_CONSTRAINT", "Link errors: receive constraint.";
    LnkErrXmtDiscards = "DCNT_IA_LNK_ERR_XMT_DISCARDS", "Link errors: transmit discards.";
    LnkErrXmtContraint = "DCNT_IA_LNK_ERR_XMT_CONTRAINT", "Link errors: transmit contraint.";
    LnkErrIntegrity = "DCNT_IA_LNK_ERR_INTEGRITY", "Link errors: integrity.";
    LnkErrExcBufOverrun = "DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN", "Link errors: excessive buffer overrun.";
    LnkWarnRcvSwRelay = "DCNT_IA_LNK_WARN_RCV_SW_RELAY", "Link warn receive switch relay.";
    LnkWarnXmtWait = "DCNT_IA_LNK_WARN_XMT_WAIT", "Link warn transmit wait.";
    DiagErrRqRae = "DCNT_IA_DIAG_ERR_RQ_RAE", "Device diagnostics errors: receive queue remote access errors.";
    DiagErrRqOos = "DCNT_IA_DIAG_ERR_RQ_OOS", "Device diagnostics errors: receive queue out-of-sequence.";
    DiagErrRqRire = "DCNT_IA_DIAG_ERR_RQ_RIRE", "Device diagnostics errors: receive queue remote invalid requests.";
    DiagErrRqUdsdprd = "DCNT_IA_DIAG_ERR_RQ_UDSDPRD", "Device diagnostics errors: receive queue dropped datagrams.";
    DiagErrSqRae = "DCNT_IA_DIAG_ERR_SQ_RAE", "Device diagnostics errors: send queue remote access errors.";
    DiagErrSqOos = "DCNT_IA_DIAG_ERR_SQ_OOS", "Device diagnostics errors: send queue out-of-sequence.";
    DiagErrSqRire = "DCNT_IA_DIAG_ERR_SQ_RIRE", "Device diagnostics errors: send queue remote invalid requests.";
    DiagErrSqRree = "DCNT_IA_DIAG_ERR_SQ_RREE", "Device diagnostics errors: send queue retries exceeded.";
    DiagErrSqTree = "DCNT_IA_DIAG_ERR_SQ_TREE", "Device diagnostics errors: send queue transport retries exceeded.";
}

counters! {
    /// The counters of an endpoint (`DAT_EP_COUNTERS`).
    EpCounter
    Connect = "DCNT_EP_CONNECT", "Attempts to connect.";
    Disconnect = "DCNT_EP_DISCONNECT", "Disconnects.";
    PostSend = "DCNT_EP_POST_SEND", "Sends posted.";
    PostSendData = "DCNT_EP_POST_SEND_DATA", "Bytes of sends posted.";
    PostSendUd = "DCNT_EP_POST_SEND_UD", "Datagrams posted.";
    PostSendUdData = "DCNT_EP_POST_SEND_UD_DATA", "Bytes of datagrams posted.";
    PostRecv = "DCNT_EP_POST_RECV", "Receives posted.";
    PostRecvData = "DCNT_EP_POST_RECV_DATA", "Bytes of room of receives posted.";
    PostWrite = "DCNT_EP_POST_WRITE", "RDMA writes posted.";
    PostWriteData = "DCNT_EP_POST_WRITE_DATA", "Bytes of RDMA writes posted.";
    PostWriteImm = "DCNT_EP_POST_WRITE_IMM", "RDMA writes with immediate data posted.";
    PostWriteImmData = "DCNT_EP_POST_WRITE_IMM_DATA", "Bytes of RDMA writes with immediate data posted.";
    PostRead = "DCNT_EP_POST_READ", "RDMA reads posted.";
    PostReadData = "DCNT_EP_POST_READ_DATA", "Bytes of RDMA reads posted.";
    PostCmpSwap = "DCNT_EP_POST_CMP_SWAP", "Compare-and-swaps posted.";
    PostFetchAdd = "DCNT_EP_POST_FETCH_ADD", "Fetch-and-adds posted.";
    Recv = "DCNT_EP_RECV", "Receives taken from the dispatcher.";
    RecvData = "DCNT_EP_RECV_DATA", "Bytes of receives taken from the dispatcher.";
    RecvUd = "DCNT_EP_RECV_UD", "Datagrams taken from the dispatcher.";
    RecvUdData = "DCNT_EP_RECV_UD_DATA", "Bytes of datagrams taken from the dispatcher.";
    RecvImm = "DCNT_EP_RECV_IMM", "Messages with immediate data taken from the dispatcher.";
    RecvImmData = "DCNT_EP_RECV_IMM_DATA", "Bytes of messages with immediate data taken from the dispatcher.";
    RecvRdmaImm = "DCNT_EP_RECV_RDMA_IMM", "Receives of immediate data taken from the dispatcher.";
    RecvRdmaImmData = "DCNT_EP_RECV_RDMA_IMM_DATA", "Bytes written with immediate data.";
}

counters! {
    /// The counters of an event dispatcher (`DAT_EVD_COUNTERS`).
    EvdCounter
    Wait = "DCNT_EVD_WAIT", "Waits.";
    WaitBlocked = "DCNT_EVD_WAIT_BLOCKED", "Waits that slept.";
    WaitNotify = "DCNT_EVD_WAIT_NOTIFY", "Wake-ups of waits.";
    Dequeue = "DCNT_EVD_DEQUEUE", "Dequeues.";
    DequeueFound = "DCNT_EVD_DEQUEUE_FOUND", "Dequeues that found an event.";
    DequeueNotFound = "DCNT_EVD_DEQUEUE_NOT_FOUND", "Dequeues that found none.";
    DequeuePoll = "DCNT_EVD_DEQUEUE_POLL", "Looks at the completion queue.";
    DequeuePollFound = "DCNT_EVD_DEQUEUE_POLL_FOUND", "Looks at the completion queue that found one.";
    ConnCallback = "DCNT_EVD_CONN_CALLBACK", "Connection events raised.";
    DtoCallback = "DCNT_EVD_DTO_CALLBACK", "Wake-ups by completions.";
}
