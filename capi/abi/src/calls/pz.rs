//! The calls for protection zones.

table! { ($) pz_calls {
    grow fn dat_pz_create(ia_handle: DAT_IA_HANDLE, pz_handle: *mut DAT_PZ_HANDLE)
        = call::pz::create, pz_create_func: DAT_PZ_CREATE_FUNC of adapter
        undo dat_pz_free(pz_handle);

    guard fn dat_pz_query(
        pz_handle: DAT_PZ_HANDLE,
        pz_param_mask: DAT_PZ_PARAM_MASK,
        pz_param: *mut DAT_PZ_PARAM,
    ) = call::pz::query, pz_query_func: DAT_PZ_QUERY_FUNC of object;

    guard fn dat_pz_free(pz_handle: DAT_PZ_HANDLE)
        = call::pz::free, pz_free_func: DAT_PZ_FREE_FUNC of object;
}}
