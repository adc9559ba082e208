//! The calls for posts of data transfer operations.

table! { ($) post_calls {
    guard_data_path fn dat_ep_post_send(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) = call::post::send, ep_post_send_func: DAT_EP_POST_SEND_FUNC;

    guard_data_path fn dat_ep_post_recv(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) = call::post::recv, ep_post_recv_func: DAT_EP_POST_RECV_FUNC;

    guard_data_path fn dat_ep_post_rdma_read(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        remote_iov: *const DAT_RMR_TRIPLET,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) = call::post::rdma_read, ep_post_rdma_read_func: DAT_EP_POST_RDMA_READ_FUNC;

    guard_data_path fn dat_ep_post_rdma_write(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        remote_iov: *const DAT_RMR_TRIPLET,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) = call::post::rdma_write, ep_post_rdma_write_func: DAT_EP_POST_RDMA_WRITE_FUNC;
} v2 {
    guard_data_path fn dat_ep_post_send_with_invalidate(
        ep_handle: DAT_EP_HANDLE,
        num_segments: DAT_COUNT,
        local_iov: *mut DAT_LMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        completion_flags: DAT_COMPLETION_FLAGS,
        invalidate_flag: DAT_BOOLEAN,
        rmr_context: DAT_RMR_CONTEXT,
    ) = call_v2::post::send_with_invalidate,
        ep_post_send_with_invalidate_func: DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC of object;

    guard_data_path fn dat_ep_post_rdma_read_to_rmr(
        ep_handle: DAT_EP_HANDLE,
        local_iov: *const DAT_RMR_TRIPLET,
        user_cookie: DAT_DTO_COOKIE,
        remote_iov: *const DAT_RMR_TRIPLET,
        completion_flags: DAT_COMPLETION_FLAGS,
    ) = call_v2::post::rdma_read_to_rmr,
        ep_post_rdma_read_to_rmr_func: DAT_EP_POST_RDMA_READ_TO_RMR_FUNC of object;
}}
