//! Reasons of asynchronous errors.

/// Reasons for the failure of an adapter.
pub type DAT_IA_ASYNC_ERROR_REASON = u32;
pub const DAT_IA_CATASTROPHIC_ERROR: DAT_IA_ASYNC_ERROR_REASON = 0;
pub const DAT_IA_OTHER_ERROR: DAT_IA_ASYNC_ERROR_REASON = 1;

/// Reasons for the failure of an endpoint.
pub type DAT_EP_ASYNC_ERROR_REASON = u32;
pub const DAT_EP_TRANSFER_TO_ERROR: DAT_EP_ASYNC_ERROR_REASON = 0;
pub const DAT_EP_OTHER_ERROR: DAT_EP_ASYNC_ERROR_REASON = 1;
pub const DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT: DAT_EP_ASYNC_ERROR_REASON = 2;

/// Reasons for the failure of an event dispatcher.
pub type DAT_EVD_ASYNC_ERROR_REASON = u32;
pub const DAT_EVD_OVERFLOW_ERROR: DAT_EVD_ASYNC_ERROR_REASON = 0;
pub const DAT_EVD_OTHER_ERROR: DAT_EVD_ASYNC_ERROR_REASON = 1;

/// Reasons for the failure of a shared receive queue.
pub type DAT_SRQ_ASYNC_ERROR_REASON = u32;
pub const DAT_SRQ_TRANSFER_TO_ERROR: DAT_SRQ_ASYNC_ERROR_REASON = 0;
pub const DAT_SRQ_OTHER_ERROR: DAT_SRQ_ASYNC_ERROR_REASON = 1;
pub const DAT_SRQ_LOW_WATERMARK_EVENT: DAT_SRQ_ASYNC_ERROR_REASON = 2;

/// Reasons for the failure of a local region.
pub type DAT_LMR_ASYNC_ERROR_REASON = u32;
pub const DAT_LMR_OTHER_ERROR: DAT_LMR_ASYNC_ERROR_REASON = 0;

/// Reasons for the failure of a remote region.
pub type DAT_RMR_ASYNC_ERROR_REASON = u32;
pub const DAT_RMR_OTHER_ERROR: DAT_RMR_ASYNC_ERROR_REASON = 0;

/// Reasons for the failure of a protection zone.
pub type DAT_PZ_ASYNC_ERROR_REASON = u32;
pub const DAT_PZ_OTHER_ERROR: DAT_PZ_ASYNC_ERROR_REASON = 0;
