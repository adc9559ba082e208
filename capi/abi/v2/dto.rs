//! Data transfer operations: what DAT 2.0 has of its own.

use super::*;

// Added by DAT 2.0.
pub const DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG: DAT_COMPLETION_FLAGS = 0x20;

/// The operation that completed.
pub type DAT_DTOS = u32;
pub const DAT_DTO_SEND: DAT_DTOS = 0;
pub const DAT_DTO_RDMA_WRITE: DAT_DTOS = 1;
pub const DAT_DTO_RDMA_READ: DAT_DTOS = 2;
pub const DAT_DTO_RECEIVE: DAT_DTOS = 3;
pub const DAT_DTO_RECEIVE_WITH_INVALIDATE: DAT_DTOS = 4;
pub const DAT_DTO_BIND_MW: DAT_DTOS = 5;
pub const DAT_DTO_LMR_FMR: DAT_DTOS = 6;
pub const DAT_DTO_LMR_INVALIDATE: DAT_DTOS = 7;
pub const DAT_DTO_EXTENSION_BASE: DAT_DTOS = 8;

// Added by DAT 2.0.
pub const DAT_DTO_ERR_LOCAL_MM_ERROR: DAT_DTO_COMPLETION_STATUS = 12;
