//! The calls for local memory regions, as DAT 1.2 has them.

use super::*;

calls! {
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
    ) = version::lmr_create, lmr_create_func: DAT_LMR_CREATE_FUNC of adapter
        undo dat_lmr_free(lmr_handle);
}
