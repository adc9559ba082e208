//! The calls for local memory regions.

table! { ($) lmr_calls {
    guard fn dat_lmr_free(lmr_handle: DAT_LMR_HANDLE)
        = call::lmr::free, lmr_free_func: DAT_LMR_FREE_FUNC of object;

    guard_data_path fn dat_lmr_sync_rdma_read(
        ia_handle: DAT_IA_HANDLE,
        local_segments: *const DAT_LMR_TRIPLET,
        num_segments: DAT_VLEN,
    ) = call::lmr::sync_rdma_read, lmr_sync_rdma_read_func: DAT_LMR_SYNC_RDMA_READ_FUNC of adapter;

    guard_data_path fn dat_lmr_sync_rdma_write(
        ia_handle: DAT_IA_HANDLE,
        local_segments: *const DAT_LMR_TRIPLET,
        num_segments: DAT_VLEN,
    ) = call::lmr::sync_rdma_write,
        lmr_sync_rdma_write_func: DAT_LMR_SYNC_RDMA_WRITE_FUNC of adapter;

    guard fn dat_lmr_query(
        lmr_handle: DAT_LMR_HANDLE,
        lmr_param_mask: DAT_LMR_PARAM_MASK,
        lmr_param: *mut DAT_LMR_PARAM,
    ) = call::lmr::query, lmr_query_func: DAT_LMR_QUERY_FUNC of object;
} v1 {
    grow fn dat_lmr_create(
        ia_handle: DAT_IA_HANDLE,
        mem_type: DAT_MEM_TYPE,
        region_desc: DAT_REGION_DESCRIPTION,
        length: DAT_VLEN,
        pz_handle: DAT_PZ_HANDLE,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        lmr_handle: *mut DAT_LMR_HANDLE,
        lmr_context: *mut DAT_LMR_CONTEXT,
        rmr_context: *mut DAT_RMR_CONTEXT,
        registered_length: *mut DAT_VLEN,
        registered_address: *mut DAT_VADDR,
    ) = call::lmr::create, lmr_create_func: DAT_LMR_CREATE_FUNC of adapter
        undo dat_lmr_free(lmr_handle);
} v2 {
    grow fn dat_lmr_create(
        ia_handle: DAT_IA_HANDLE,
        mem_type: DAT_MEM_TYPE,
        region_desc: DAT_REGION_DESCRIPTION,
        length: DAT_VLEN,
        pz_handle: DAT_PZ_HANDLE,
        mem_priv: DAT_MEM_PRIV_FLAGS,
        va_type: DAT_VA_TYPE,
        lmr_handle: *mut DAT_LMR_HANDLE,
        lmr_context: *mut DAT_LMR_CONTEXT,
        rmr_context: *mut DAT_RMR_CONTEXT,
        registered_length: *mut DAT_VLEN,
        registered_address: *mut DAT_VADDR,
    ) = call::lmr::create, lmr_create_func: DAT_LMR_CREATE_FUNC of adapter
        undo dat_lmr_free(lmr_handle);
}}
