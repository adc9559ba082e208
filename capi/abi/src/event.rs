//! Events.

use super::*;

structs! {
    /// Event data of a remote memory region bind completion.
    pub struct DAT_RMR_BIND_COMPLETION_EVENT_DATA {
        pub rmr_handle: DAT_RMR_HANDLE,
        pub user_cookie: DAT_RMR_COOKIE,
        pub status: DAT_DTO_COMPLETION_STATUS,
    }

    /// Event data of a connection event.
    pub struct DAT_CONNECTION_EVENT_DATA {
        pub ep_handle: DAT_EP_HANDLE,
        pub private_data_size: DAT_COUNT,
        pub private_data: DAT_PVOID,
    }

    /// Event data of an asynchronous error.
    pub struct DAT_ASYNCH_ERROR_EVENT_DATA {
        pub dat_handle: DAT_HANDLE,
        pub reason: DAT_COUNT,
    }

    /// Event data of a software event.
    pub struct DAT_SOFTWARE_EVENT_DATA {
        pub pointer: DAT_PVOID,
    }
}

/// The event number.
pub type DAT_EVENT_NUMBER = u32;
pub const DAT_DTO_COMPLETION_EVENT: DAT_EVENT_NUMBER = 0x1;
pub const DAT_RMR_BIND_COMPLETION_EVENT: DAT_EVENT_NUMBER = 0x1001;
pub const DAT_CONNECTION_REQUEST_EVENT: DAT_EVENT_NUMBER = 0x2001;
pub const DAT_CONNECTION_EVENT_ESTABLISHED: DAT_EVENT_NUMBER = 0x4001;
pub const DAT_CONNECTION_EVENT_PEER_REJECTED: DAT_EVENT_NUMBER = 0x4002;
pub const DAT_CONNECTION_EVENT_NON_PEER_REJECTED: DAT_EVENT_NUMBER = 0x4003;
pub const DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR: DAT_EVENT_NUMBER = 0x4004;
pub const DAT_CONNECTION_EVENT_DISCONNECTED: DAT_EVENT_NUMBER = 0x4005;
pub const DAT_CONNECTION_EVENT_BROKEN: DAT_EVENT_NUMBER = 0x4006;
pub const DAT_CONNECTION_EVENT_TIMED_OUT: DAT_EVENT_NUMBER = 0x4007;
pub const DAT_CONNECTION_EVENT_UNREACHABLE: DAT_EVENT_NUMBER = 0x4008;
pub const DAT_ASYNC_ERROR_EVD_OVERFLOW: DAT_EVENT_NUMBER = 0x8001;
pub const DAT_ASYNC_ERROR_IA_CATASTROPHIC: DAT_EVENT_NUMBER = 0x8002;
pub const DAT_ASYNC_ERROR_EP_BROKEN: DAT_EVENT_NUMBER = 0x8003;
pub const DAT_ASYNC_ERROR_TIMED_OUT: DAT_EVENT_NUMBER = 0x8004;
pub const DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR: DAT_EVENT_NUMBER = 0x8005;
pub const DAT_SOFTWARE_EVENT: DAT_EVENT_NUMBER = 0x1_0001;

structs! {
    /// The event data, which depends on the event number.
    pub union DAT_EVENT_DATA {
        pub dto_completion_event_data: DAT_DTO_COMPLETION_EVENT_DATA,
        pub rmr_completion_event_data: DAT_RMR_BIND_COMPLETION_EVENT_DATA,
        pub cr_arrival_event_data: DAT_CR_ARRIVAL_EVENT_DATA,
        pub connect_event_data: DAT_CONNECTION_EVENT_DATA,
        pub asynch_error_event_data: DAT_ASYNCH_ERROR_EVENT_DATA,
        pub software_event_data: DAT_SOFTWARE_EVENT_DATA,
    }

    /// Event data of a data transfer completion.
    pub struct DAT_DTO_COMPLETION_EVENT_DATA {
        pub ep_handle: DAT_EP_HANDLE,
        pub user_cookie: DAT_DTO_COOKIE,
        pub status: DAT_DTO_COMPLETION_STATUS,
        v1 {
            pub transfered_length: DAT_VLEN,
        }
        v2 {
            pub transfered_length: DAT_SEG_LENGTH,
            pub operation: DAT_DTOS,
            pub rmr_context: DAT_RMR_CONTEXT,
        }
    }

    /// The service point at which a connection request arrived.
    pub union DAT_SP_HANDLE {
        pub rsp_handle: DAT_RSP_HANDLE,
        pub psp_handle: DAT_PSP_HANDLE,
        v2 {
            pub csp_handle: DAT_CSP_HANDLE,
        }
    }

    /// Event data of a connection request.
    pub struct DAT_CR_ARRIVAL_EVENT_DATA {
        pub sp_handle: DAT_SP_HANDLE,
        pub local_ia_address_ptr: DAT_IA_ADDRESS_PTR,
        pub conn_qual: DAT_CONN_QUAL,
        pub cr_handle: DAT_CR_HANDLE,
        v2 {
            pub truncate_flag: DAT_BOOLEAN,
        }
    }
}

v2! {
    // Added by DAT 2.0.
    pub const DAT_HA_DOWN_TO_1: DAT_EVENT_NUMBER = 0x8101;
    pub const DAT_HA_UP_TO_MULTI_PATH: DAT_EVENT_NUMBER = 0x8102;
    pub const DAT_EXTENSION_EVENT: DAT_EVENT_NUMBER = 0x2_0000;
    pub const DAT_IB_EXTENSION_RANGE_BASE: DAT_EVENT_NUMBER = 0x4_0000;
    pub const DAT_IW_EXTENSION_RANGE_BASE: DAT_EVENT_NUMBER = 0x8_0000;
}

structs! {
    /// An event.
    pub struct DAT_EVENT {
        pub event_number: DAT_EVENT_NUMBER,
        pub evd_handle: DAT_EVD_HANDLE,
        pub event_data: DAT_EVENT_DATA,
        v2 {
            pub event_extension_data: [DAT_UINT64; 8],
        }
    }
}

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
