//! The shared receive queue.

use super::*;

pub const DAT_SRQ_LW_DEFAULT: DAT_COUNT = 0;

/// Unknown to the provider.
pub const DAT_VALUE_UNKNOWN: DAT_COUNT = -2;

structs! {
    /// Attributes of a shared receive queue.
    pub struct DAT_SRQ_ATTR {
        pub max_recv_dtos: DAT_COUNT,
        pub max_recv_iov: DAT_COUNT,
        pub low_watermark: DAT_COUNT,
    }

    /// Parameters of a shared receive queue, returned by dat_srq_query.
    pub struct DAT_SRQ_PARAM {
        pub ia_handle: DAT_IA_HANDLE,
        pub srq_state: DAT_SRQ_STATE,
        pub pz_handle: DAT_PZ_HANDLE,
        pub max_recv_dtos: DAT_COUNT,
        pub max_recv_iov: DAT_COUNT,
        pub low_watermark: DAT_COUNT,
        pub available_dto_count: DAT_COUNT,
        pub outstanding_dto_count: DAT_COUNT,
    }
}

/// Mask of the DAT_SRQ_PARAM members to return.
pub type DAT_SRQ_PARAM_MASK = u32;
pub const DAT_SRQ_FIELD_IA_HANDLE: DAT_SRQ_PARAM_MASK = 0x1;
pub const DAT_SRQ_FIELD_SRQ_STATE: DAT_SRQ_PARAM_MASK = 0x2;
pub const DAT_SRQ_FIELD_PZ_HANDLE: DAT_SRQ_PARAM_MASK = 0x4;
pub const DAT_SRQ_FIELD_MAX_RECV_DTO: DAT_SRQ_PARAM_MASK = 0x8;
pub const DAT_SRQ_FIELD_MAX_RECV_IOV: DAT_SRQ_PARAM_MASK = 0x10;
pub const DAT_SRQ_FIELD_LOW_WATERMARK: DAT_SRQ_PARAM_MASK = 0x20;
pub const DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT: DAT_SRQ_PARAM_MASK = 0x40;
pub const DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT: DAT_SRQ_PARAM_MASK = 0x80;
pub const DAT_SRQ_FIELD_ALL: DAT_SRQ_PARAM_MASK = 0xff;

/// State of a shared receive queue.
pub type DAT_SRQ_STATE = u32;

v1! {
    pub const DAT_SRQ_STATE_OPERATIONAL: DAT_SRQ_STATE = 0;
    pub const DAT_SRQ_STATE_ERROR: DAT_SRQ_STATE = 1;
}

v2! {
    pub const DAT_SRQ_STATE_ERROR: DAT_SRQ_STATE = 0;
    pub const DAT_SRQ_STATE_OPERATIONAL: DAT_SRQ_STATE = 1;
    pub const DAT_SRQ_STATE_SHUTDOWN: DAT_SRQ_STATE = 2;
}
