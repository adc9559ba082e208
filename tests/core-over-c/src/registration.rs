//! The results of registering memory.

use real::flags::Privileges;

use crate::abi::*;

/// The results of dat_lmr_create.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registration {
    pub(crate) privileges: Privileges,
    pub(crate) context: u32,
    pub(crate) rmr_context: u32,
    pub(crate) length: u64,
    pub(crate) address: u64,
}

/// The out-parameters of dat_lmr_create.
pub(crate) struct OutParameters {
    pub(crate) handle: DAT_LMR_HANDLE,
    pub(crate) lmr_context: DAT_LMR_CONTEXT,
    pub(crate) rmr_context: DAT_RMR_CONTEXT,
    pub(crate) registered_length: DAT_VLEN,
    pub(crate) registered_address: DAT_VADDR,
}
