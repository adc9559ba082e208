//! The endpoint.

use super::*;

pub const DAT_WATERMARK_INFINITE: DAT_COUNT = -1;
pub const DAT_HW_DEFAULT: DAT_COUNT = DAT_WATERMARK_INFINITE;

/// Connection flags.
pub type DAT_CONNECT_FLAGS = u32;
pub const DAT_CONNECT_DEFAULT_FLAG: DAT_CONNECT_FLAGS = 0x0;
pub const DAT_CONNECT_MULTIPATH_FLAG: DAT_CONNECT_FLAGS = 0x1;

/// How to close a connection or an adapter.
pub type DAT_CLOSE_FLAGS = u32;
pub const DAT_CLOSE_ABRUPT_FLAG: DAT_CLOSE_FLAGS = 0x0;
pub const DAT_CLOSE_GRACEFUL_FLAG: DAT_CLOSE_FLAGS = 0x1;
pub const DAT_CLOSE_DEFAULT: DAT_CLOSE_FLAGS = DAT_CLOSE_ABRUPT_FLAG;

/// The service type of an endpoint.
pub type DAT_SERVICE_TYPE = u32;
pub const DAT_SERVICE_TYPE_RC: DAT_SERVICE_TYPE = 0;

/// State of an endpoint.
pub type DAT_EP_STATE = u32;
pub const DAT_EP_STATE_UNCONNECTED: DAT_EP_STATE = 0;
pub const DAT_EP_STATE_UNCONFIGURED_UNCONNECTED: DAT_EP_STATE = 1;
pub const DAT_EP_STATE_RESERVED: DAT_EP_STATE = 2;
pub const DAT_EP_STATE_UNCONFIGURED_RESERVED: DAT_EP_STATE = 3;
pub const DAT_EP_STATE_PASSIVE_CONNECTION_PENDING: DAT_EP_STATE = 4;
pub const DAT_EP_STATE_UNCONFIGURED_PASSIVE: DAT_EP_STATE = 5;
pub const DAT_EP_STATE_ACTIVE_CONNECTION_PENDING: DAT_EP_STATE = 6;
pub const DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING: DAT_EP_STATE = 7;
pub const DAT_EP_STATE_UNCONFIGURED_TENTATIVE: DAT_EP_STATE = 8;
pub const DAT_EP_STATE_CONNECTED: DAT_EP_STATE = 9;
pub const DAT_EP_STATE_DISCONNECT_PENDING: DAT_EP_STATE = 10;
pub const DAT_EP_STATE_DISCONNECTED: DAT_EP_STATE = 11;
pub const DAT_EP_STATE_COMPLETION_PENDING: DAT_EP_STATE = 12;
pub const DAT_EP_STATE_ERROR: DAT_EP_STATE = DAT_EP_STATE_DISCONNECTED;

/// Mask of the DAT_EP_PARAM members to return or change.
pub type DAT_EP_PARAM_MASK = DAT_UINT64;
pub const DAT_EP_FIELD_IA_HANDLE: DAT_EP_PARAM_MASK = 0x1_u64;
pub const DAT_EP_FIELD_EP_STATE: DAT_EP_PARAM_MASK = 0x2_u64;
pub const DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE: DAT_EP_PARAM_MASK = 0x1000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE: DAT_EP_PARAM_MASK = 0x2000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE: DAT_EP_PARAM_MASK = 0x4000_u64;
pub const DAT_EP_FIELD_EP_ATTR_QOS: DAT_EP_PARAM_MASK = 0x8000_u64;
pub const DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS: DAT_EP_PARAM_MASK = 0x1_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS: DAT_EP_PARAM_MASK = 0x2_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS: DAT_EP_PARAM_MASK = 0x4_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS: DAT_EP_PARAM_MASK = 0x8_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV: DAT_EP_PARAM_MASK = 0x10_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV: DAT_EP_PARAM_MASK = 0x20_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN: DAT_EP_PARAM_MASK = 0x40_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT: DAT_EP_PARAM_MASK = 0x80_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW: DAT_EP_PARAM_MASK = 0x100_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV: DAT_EP_PARAM_MASK = 0x200_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV: DAT_EP_PARAM_MASK = 0x400_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR: DAT_EP_PARAM_MASK = 0x800_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR: DAT_EP_PARAM_MASK = 0x1000_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR: DAT_EP_PARAM_MASK = 0x2000_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR: DAT_EP_PARAM_MASK = 0x4000_0000_u64;
pub const DAT_EP_FIELD_EP_ATTR_ALL: DAT_EP_PARAM_MASK = 0x7fff_f000_u64;

v2! {
    // Added by DAT 2.0.
    pub const DAT_CONNECT_MULTIPATH_REQUIRED_FLAG: DAT_CONNECT_FLAGS = 0x2;
    pub const DAT_CONNECT_MULTIPATH_REQUESTED_FLAG: DAT_CONNECT_FLAGS = DAT_CONNECT_MULTIPATH_FLAG;

    // Added by DAT 2.0.
    pub const DAT_SERVICE_TYPE_EXTENSION_BASE: DAT_SERVICE_TYPE = 1;
}

structs! {
    /// Attributes of an endpoint.
    pub struct DAT_EP_ATTR {
        pub service_type: DAT_SERVICE_TYPE,
        v1 {
            pub max_message_size: DAT_VLEN,
            pub max_rdma_size: DAT_VLEN,
        }
        v2 {
            pub max_message_size: DAT_SEG_LENGTH,
            pub max_rdma_size: DAT_SEG_LENGTH,
        }
        pub qos: DAT_QOS,
        pub recv_completion_flags: DAT_COMPLETION_FLAGS,
        pub request_completion_flags: DAT_COMPLETION_FLAGS,
        pub max_recv_dtos: DAT_COUNT,
        pub max_request_dtos: DAT_COUNT,
        pub max_recv_iov: DAT_COUNT,
        pub max_request_iov: DAT_COUNT,
        pub max_rdma_read_in: DAT_COUNT,
        pub max_rdma_read_out: DAT_COUNT,
        pub srq_soft_hw: DAT_COUNT,
        pub max_rdma_read_iov: DAT_COUNT,
        pub max_rdma_write_iov: DAT_COUNT,
        pub ep_transport_specific_count: DAT_COUNT,
        pub ep_transport_specific: *mut DAT_NAMED_ATTR,
        pub ep_provider_specific_count: DAT_COUNT,
        pub ep_provider_specific: *mut DAT_NAMED_ATTR,
    }
}

v2! {
    // Added by DAT 2.0.
    pub const DAT_EP_STATE_CONNECTED_SINGLE_PATH: DAT_EP_STATE = 13;
    pub const DAT_EP_STATE_CONNECTED_MULTI_PATH: DAT_EP_STATE = 14;
}

structs! {
    /// Parameters of an endpoint, for dat_ep_query and dat_ep_modify.
    pub struct DAT_EP_PARAM {
        pub ia_handle: DAT_IA_HANDLE,
        pub ep_state: DAT_EP_STATE,
        v2 {
            pub comm: DAT_COMM,
        }
        pub local_ia_address_ptr: DAT_IA_ADDRESS_PTR,
        pub local_port_qual: DAT_PORT_QUAL,
        pub remote_ia_address_ptr: DAT_IA_ADDRESS_PTR,
        pub remote_port_qual: DAT_PORT_QUAL,
        pub pz_handle: DAT_PZ_HANDLE,
        pub recv_evd_handle: DAT_EVD_HANDLE,
        pub request_evd_handle: DAT_EVD_HANDLE,
        pub connect_evd_handle: DAT_EVD_HANDLE,
        pub srq_handle: DAT_SRQ_HANDLE,
        pub ep_attr: DAT_EP_ATTR,
    }
}

// The bits below those of the attributes: DAT_EP_FIELD_COMM of DAT 2.0 moved them.

v2! {
    pub const DAT_EP_FIELD_COMM: DAT_EP_PARAM_MASK = 0x4_u64;
}

values! {
    pub const DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR: DAT_EP_PARAM_MASK = 0x4_u64, 0x8_u64;
    pub const DAT_EP_FIELD_LOCAL_PORT_QUAL: DAT_EP_PARAM_MASK = 0x8_u64, 0x10_u64;
    pub const DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR: DAT_EP_PARAM_MASK = 0x10_u64, 0x20_u64;
    pub const DAT_EP_FIELD_REMOTE_PORT_QUAL: DAT_EP_PARAM_MASK = 0x20_u64, 0x40_u64;
    pub const DAT_EP_FIELD_PZ_HANDLE: DAT_EP_PARAM_MASK = 0x40_u64, 0x80_u64;
    pub const DAT_EP_FIELD_RECV_EVD_HANDLE: DAT_EP_PARAM_MASK = 0x80_u64, 0x100_u64;
    pub const DAT_EP_FIELD_REQUEST_EVD_HANDLE: DAT_EP_PARAM_MASK = 0x100_u64, 0x200_u64;
    pub const DAT_EP_FIELD_CONNECT_EVD_HANDLE: DAT_EP_PARAM_MASK = 0x200_u64, 0x400_u64;
    pub const DAT_EP_FIELD_SRQ_HANDLE: DAT_EP_PARAM_MASK = 0x400_u64, 0x800_u64;
    pub const DAT_EP_FIELD_ALL: DAT_EP_PARAM_MASK = 0x7fff_f7ff_u64, 0x7fff_ffff_u64;
}
