//! The interface adapter.

use core::ffi::c_char;
use core::ptr;

use super::*;

/// Passed to dat_ia_open if an asynchronous error dispatcher already exists.
pub const DAT_EVD_ASYNC_EXISTS: DAT_EVD_HANDLE = ptr::without_provenance_mut(1);

/// Returned by dat_ia_query if the asynchronous error dispatcher belongs to another process.
pub const DAT_EVD_OUT_OF_SCOPE: DAT_EVD_HANDLE = ptr::without_provenance_mut(2);

/// Mask of the DAT_IA_ATTR members to return.
pub type DAT_IA_ATTR_MASK = DAT_UINT64;
pub const DAT_IA_FIELD_IA_MAX_MTU_SIZE: DAT_IA_ATTR_MASK = DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE;
pub const DAT_IA_FIELD_IA_ADAPTER_NAME: DAT_IA_ATTR_MASK = 0x1_u64;
pub const DAT_IA_FIELD_IA_VENDOR_NAME: DAT_IA_ATTR_MASK = 0x2_u64;
pub const DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION: DAT_IA_ATTR_MASK = 0x4_u64;
pub const DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION: DAT_IA_ATTR_MASK = 0x8_u64;
pub const DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION: DAT_IA_ATTR_MASK = 0x10_u64;
pub const DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION: DAT_IA_ATTR_MASK = 0x20_u64;
pub const DAT_IA_FIELD_IA_ADDRESS_PTR: DAT_IA_ATTR_MASK = 0x40_u64;
pub const DAT_IA_FIELD_IA_MAX_EPS: DAT_IA_ATTR_MASK = 0x80_u64;
pub const DAT_IA_FIELD_IA_MAX_DTO_PER_EP: DAT_IA_ATTR_MASK = 0x100_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN: DAT_IA_ATTR_MASK = 0x200_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT: DAT_IA_ATTR_MASK = 0x400_u64;
pub const DAT_IA_FIELD_IA_MAX_EVDS: DAT_IA_ATTR_MASK = 0x800_u64;
pub const DAT_IA_FIELD_IA_MAX_EVD_QLEN: DAT_IA_ATTR_MASK = 0x1000_u64;
pub const DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO: DAT_IA_ATTR_MASK = 0x2000_u64;
pub const DAT_IA_FIELD_IA_MAX_LMRS: DAT_IA_ATTR_MASK = 0x4000_u64;
pub const DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE: DAT_IA_ATTR_MASK = 0x8000_u64;
pub const DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS: DAT_IA_ATTR_MASK = 0x1_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_PZS: DAT_IA_ATTR_MASK = 0x2_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE: DAT_IA_ATTR_MASK = 0x4_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_SIZE: DAT_IA_ATTR_MASK = 0x8_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RMRS: DAT_IA_ATTR_MASK = 0x10_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS: DAT_IA_ATTR_MASK = 0x20_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_SRQS: DAT_IA_ATTR_MASK = 0x40_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_EP_PER_SRQ: DAT_IA_ATTR_MASK = 0x80_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ: DAT_IA_ATTR_MASK = 0x100_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ: DAT_IA_ATTR_MASK = 0x200_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE: DAT_IA_ATTR_MASK = 0x400_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_IN: DAT_IA_ATTR_MASK = 0x800_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT: DAT_IA_ATTR_MASK = 0x1000_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED: DAT_IA_ATTR_MASK = 0x2000_0000_u64;
pub const DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED: DAT_IA_ATTR_MASK = 0x4000_0000_u64;
pub const DAT_IA_ALL: DAT_IA_ATTR_MASK = DAT_IA_FIELD_ALL;
pub const DAT_IA_FIELD_NONE: DAT_IA_ATTR_MASK = 0x0_u64;

// Slots of DAT_PROVIDER.

pub type DAT_IA_OPEN_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_name: DAT_NAME_PTR,
        async_evd_min_qlen: DAT_COUNT,
        async_evd_handle: *mut DAT_EVD_HANDLE,
        ia_handle: *mut DAT_IA_HANDLE,
    ) -> DAT_RETURN,
>;

pub type DAT_IA_OPENV_FUNC = Option<
    unsafe extern "C-unwind" fn(
        ia_name: DAT_NAME_PTR,
        async_evd_min_qlen: DAT_COUNT,
        async_evd_handle: *mut DAT_EVD_HANDLE,
        ia_handle: *mut DAT_IA_HANDLE,
        dat_major: DAT_UINT32,
        dat_minor: DAT_UINT32,
        thread_safety: DAT_BOOLEAN,
    ) -> DAT_RETURN,
>;

v2! {
    /// Extension families.
    pub type DAT_EXTENSION = u32;
    pub const DAT_EXTENSION_NONE: DAT_EXTENSION = 0;
    pub const DAT_EXTENSION_IB: DAT_EXTENSION = 1;
    pub const DAT_EXTENSION_IW: DAT_EXTENSION = 2;
    pub const DAT_IB_EXTENSION: DAT_EXTENSION = DAT_EXTENSION_IB;
    pub const DAT_IW_EXTENSION: DAT_EXTENSION = DAT_EXTENSION_IW;
}

structs! {
    /// Attributes and limits of an adapter.
    pub struct DAT_IA_ATTR {
        pub adapter_name: [c_char; DAT_NAME_MAX_LENGTH],
        pub vendor_name: [c_char; DAT_NAME_MAX_LENGTH],
        pub hardware_version_major: DAT_UINT32,
        pub hardware_version_minor: DAT_UINT32,
        pub firmware_version_major: DAT_UINT32,
        pub firmware_version_minor: DAT_UINT32,
        pub ia_address_ptr: DAT_IA_ADDRESS_PTR,
        pub max_eps: DAT_COUNT,
        pub max_dto_per_ep: DAT_COUNT,
        pub max_rdma_read_per_ep_in: DAT_COUNT,
        pub max_rdma_read_per_ep_out: DAT_COUNT,
        pub max_evds: DAT_COUNT,
        pub max_evd_qlen: DAT_COUNT,
        pub max_iov_segments_per_dto: DAT_COUNT,
        pub max_lmrs: DAT_COUNT,
        v1 {
            pub max_lmr_block_size: DAT_VLEN,
        }
        v2 {
            pub max_lmr_block_size: DAT_SEG_LENGTH,
        }
        pub max_lmr_virtual_address: DAT_VADDR,
        pub max_pzs: DAT_COUNT,
        v1 {
            pub max_message_size: DAT_VLEN,
            pub max_rdma_size: DAT_VLEN,
        }
        v2 {
            pub max_message_size: DAT_SEG_LENGTH,
            pub max_rdma_size: DAT_SEG_LENGTH,
        }
        pub max_rmrs: DAT_COUNT,
        pub max_rmr_target_address: DAT_VADDR,
        pub max_srqs: DAT_COUNT,
        pub max_ep_per_srq: DAT_COUNT,
        pub max_recv_per_srq: DAT_COUNT,
        pub max_iov_segments_per_rdma_read: DAT_COUNT,
        pub max_iov_segments_per_rdma_write: DAT_COUNT,
        pub max_rdma_read_in: DAT_COUNT,
        pub max_rdma_read_out: DAT_COUNT,
        pub max_rdma_read_per_ep_in_guaranteed: DAT_BOOLEAN,
        pub max_rdma_read_per_ep_out_guaranteed: DAT_BOOLEAN,
        v2 {
            pub zb_supported: DAT_BOOLEAN,
            pub extension_supported: DAT_EXTENSION,
            pub extension_version: DAT_COUNT,
        }
        pub num_transport_attr: DAT_COUNT,
        pub transport_attr: *mut DAT_NAMED_ATTR,
        pub num_vendor_attr: DAT_COUNT,
        pub vendor_attr: *mut DAT_NAMED_ATTR,
    }
}

// The end of the mask.

v2! {
    pub const DAT_IA_FIELD_IA_ZB_SUPPORTED: DAT_IA_ATTR_MASK = 0x8000_0000_u64;
    pub const DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED: DAT_IA_ATTR_MASK = 0x1_0000_0000_u64;
    pub const DAT_IA_FIELD_IA_EXTENSION: DAT_IA_ATTR_MASK = 0x1_0000_0000_u64;
    pub const DAT_IA_FIELD_IA_EXTENSION_VERSION: DAT_IA_ATTR_MASK = 0x2_0000_0000_u64;
}

values! {
    pub const DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR: DAT_IA_ATTR_MASK = 0x8000_0000_u64, 0x4_0000_0000_u64;
    pub const DAT_IA_FIELD_IA_TRANSPORT_ATTR: DAT_IA_ATTR_MASK = 0x1_0000_0000_u64, 0x8_0000_0000_u64;
    pub const DAT_IA_FIELD_IA_NUM_VENDOR_ATTR: DAT_IA_ATTR_MASK = 0x2_0000_0000_u64, 0x10_0000_0000_u64;
    pub const DAT_IA_FIELD_IA_VENDOR_ATTR: DAT_IA_ATTR_MASK = 0x4_0000_0000_u64, 0x20_0000_0000_u64;
    pub const DAT_IA_FIELD_ALL: DAT_IA_ATTR_MASK = 0x7_ffff_ffff_u64, 0x3f_ffff_ffff_u64;
}

v2! {
    // Slots of DAT_PROVIDER.

    pub type DAT_IA_HA_RELATED_FUNC = Option<
        unsafe extern "C-unwind" fn(
            ia_handle: DAT_IA_HANDLE,
            ia_name: DAT_NAME_PTR,
            related: *mut DAT_BOOLEAN,
        ) -> DAT_RETURN,
    >;
}
