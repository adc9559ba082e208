//! Data transfer operations.

use super::*;

/// The consumer cookie returned with a data transfer completion.
pub type DAT_DTO_COOKIE = DAT_CONTEXT;

/// Completion flags of a posted operation.
pub type DAT_COMPLETION_FLAGS = u32;
pub const DAT_COMPLETION_DEFAULT_FLAG: DAT_COMPLETION_FLAGS = 0x0;
pub const DAT_COMPLETION_SUPPRESS_FLAG: DAT_COMPLETION_FLAGS = 0x1;
pub const DAT_COMPLETION_SOLICITED_WAIT_FLAG: DAT_COMPLETION_FLAGS = 0x2;
pub const DAT_COMPLETION_UNSIGNALLED_FLAG: DAT_COMPLETION_FLAGS = 0x4;
pub const DAT_COMPLETION_BARRIER_FENCE_FLAG: DAT_COMPLETION_FLAGS = 0x8;
pub const DAT_COMPLETION_EVD_THRESHOLD_FLAG: DAT_COMPLETION_FLAGS = 0x10;

/// Completion status of a posted operation.
pub type DAT_DTO_COMPLETION_STATUS = u32;
pub const DAT_DTO_SUCCESS: DAT_DTO_COMPLETION_STATUS = 0;
pub const DAT_DTO_ERR_FLUSHED: DAT_DTO_COMPLETION_STATUS = 1;
pub const DAT_DTO_ERR_LOCAL_LENGTH: DAT_DTO_COMPLETION_STATUS = 2;
pub const DAT_DTO_ERR_LOCAL_EP: DAT_DTO_COMPLETION_STATUS = 3;
pub const DAT_DTO_ERR_LOCAL_PROTECTION: DAT_DTO_COMPLETION_STATUS = 4;
pub const DAT_DTO_ERR_BAD_RESPONSE: DAT_DTO_COMPLETION_STATUS = 5;
pub const DAT_DTO_ERR_REMOTE_ACCESS: DAT_DTO_COMPLETION_STATUS = 6;
pub const DAT_DTO_ERR_REMOTE_RESPONDER: DAT_DTO_COMPLETION_STATUS = 7;
pub const DAT_DTO_ERR_TRANSPORT: DAT_DTO_COMPLETION_STATUS = 8;
pub const DAT_DTO_ERR_RECEIVER_NOT_READY: DAT_DTO_COMPLETION_STATUS = 9;
pub const DAT_DTO_ERR_PARTIAL_PACKET: DAT_DTO_COMPLETION_STATUS = 10;
pub const DAT_RMR_OPERATION_FAILED: DAT_DTO_COMPLETION_STATUS = 11;
pub const DAT_DTO_LENGTH_ERROR: DAT_DTO_COMPLETION_STATUS = DAT_DTO_ERR_LOCAL_LENGTH;
pub const DAT_DTO_FAILURE: DAT_DTO_COMPLETION_STATUS = DAT_DTO_ERR_FLUSHED;
pub const DAT_RMR_BIND_SUCCESS: DAT_DTO_COMPLETION_STATUS = DAT_DTO_SUCCESS;
pub const DAT_RMR_BIND_FAILURE: DAT_DTO_COMPLETION_STATUS = DAT_DTO_ERR_FLUSHED;

// Slots of DAT_PROVIDER.

pub type DAT_EP_POST_SEND_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) -> DAT_RETURN,
>;

pub type DAT_EP_POST_RECV_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) -> DAT_RETURN,
>;

pub type DAT_EP_POST_RDMA_READ_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        remote_iov: *const DAT_RMR_TRIPLET,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) -> DAT_RETURN,
>;

pub type DAT_EP_POST_RDMA_WRITE_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        remote_iov: *const DAT_RMR_TRIPLET,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) -> DAT_RETURN,
>;
