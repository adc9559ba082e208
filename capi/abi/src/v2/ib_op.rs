//! InfiniBand extensions: operations, and what they add to the enumerations.

use core::ffi::CStr;

use super::*;

// The version of the extensions that this is.
pub const DAT_IB_EXTENSION_VERSION: DAT_COUNT = 209;

/// Operation codes of the InfiniBand extensions.
pub type DAT_IB_OP = u32;
pub const DAT_IB_FETCH_AND_ADD_OP: DAT_IB_OP = 0;
pub const DAT_IB_CMP_AND_SWAP_OP: DAT_IB_OP = 1;
pub const DAT_IB_RDMA_WRITE_IMMED_OP: DAT_IB_OP = 2;
pub const DAT_IB_UD_SEND_OP: DAT_IB_OP = 3;
pub const DAT_IB_QUERY_COUNTERS_OP: DAT_IB_OP = 4;
pub const DAT_IB_PRINT_COUNTERS_OP: DAT_IB_OP = 5;
pub const DAT_IB_COLLECTIVE_CREATE_MEMBER_OP: DAT_IB_OP = 6;
pub const DAT_IB_COLLECTIVE_FREE_MEMBER_OP: DAT_IB_OP = 7;
pub const DAT_IB_COLLECTIVE_CREATE_GROUP_OP: DAT_IB_OP = 8;
pub const DAT_IB_COLLECTIVE_FREE_GROUP_OP: DAT_IB_OP = 9;
pub const DAT_IB_COLLECTIVE_SET_CLOCK_OP: DAT_IB_OP = 10;
pub const DAT_IB_COLLECTIVE_READ_CLOCK_OP: DAT_IB_OP = 11;
pub const DAT_IB_COLLECTIVE_SCATTER_OP: DAT_IB_OP = 12;
pub const DAT_IB_COLLECTIVE_SCATTERV_OP: DAT_IB_OP = 13;
pub const DAT_IB_COLLECTIVE_GATHER_OP: DAT_IB_OP = 14;
pub const DAT_IB_COLLECTIVE_GATHERV_OP: DAT_IB_OP = 15;
pub const DAT_IB_COLLECTIVE_ALLGATHER_OP: DAT_IB_OP = 16;
pub const DAT_IB_COLLECTIVE_ALLGATHERV_OP: DAT_IB_OP = 17;
pub const DAT_IB_COLLECTIVE_ALLTOALL_OP: DAT_IB_OP = 18;
pub const DAT_IB_COLLECTIVE_ALLTOALLV_OP: DAT_IB_OP = 19;
pub const DAT_IB_COLLECTIVE_REDUCE_OP: DAT_IB_OP = 20;
pub const DAT_IB_COLLECTIVE_ALLREDUCE_OP: DAT_IB_OP = 21;
pub const DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP: DAT_IB_OP = 22;
pub const DAT_IB_COLLECTIVE_SCAN_OP: DAT_IB_OP = 23;
pub const DAT_IB_COLLECTIVE_BROADCAST_OP: DAT_IB_OP = 24;
pub const DAT_IB_COLLECTIVE_BARRIER_OP: DAT_IB_OP = 25;
pub const DAT_IB_START_COUNTERS_OP: DAT_IB_OP = 26;
pub const DAT_IB_STOP_COUNTERS_OP: DAT_IB_OP = 27;
pub const DAT_IB_UD_CM_FREE_OP: DAT_IB_OP = 28;
pub const DAT_IB_UD_AH_FREE_OP: DAT_IB_OP = 29;
pub const DAT_IB_OPEN_QUERY_OP: DAT_IB_OP = 0x1000;
pub const DAT_IB_CLOSE_QUERY_OP: DAT_IB_OP = 0x2000;
pub const DAT_QUERY_COUNTERS_OP: DAT_IB_OP = DAT_IB_QUERY_COUNTERS_OP;
pub const DAT_PRINT_COUNTERS_OP: DAT_IB_OP = DAT_IB_PRINT_COUNTERS_OP;

/// Return types of the InfiniBand extensions.
pub type DAT_IB_RETURN = u32;
pub const DAT_IB_ERR: DAT_IB_RETURN = 0x1000_0000;
pub const DAT_IB_COLLECTIVE_ERR: DAT_IB_RETURN = 0x1000_0001;

/// Object kinds of the InfiniBand extensions; extends DAT_HANDLE_TYPE.
pub type DAT_IB_HANDLE_TYPE = u32;
pub const DAT_IB_HANDLE_TYPE_EXT: DAT_IB_HANDLE_TYPE = 12;
pub const DAT_IB_HANDLE_TYPE_COLLECTIVE: DAT_IB_HANDLE_TYPE = 13;

/// The stream of extension events; extends DAT_EVD_FLAGS.
pub type DAT_IB_EVD_EXTENSION_FLAGS = u32;
pub const DAT_IB_EVD_EXTENSION_FLAG: DAT_IB_EVD_EXTENSION_FLAGS = 0x200;

/// The remote atomic privilege; extends DAT_MEM_PRIV_FLAGS.
pub type DAT_IB_MEM_PRIV_FLAGS = u32;
pub const DAT_IB_MEM_PRIV_REMOTE_ATOMIC: DAT_IB_MEM_PRIV_FLAGS = 0x40;

/// The datagram service type; extends DAT_SERVICE_TYPE.
pub type DAT_IB_SERVICE_TYPE = u32;
pub const DAT_IB_SERVICE_TYPE_UD: DAT_IB_SERVICE_TYPE = 1;

// Names in DAT_IA_ATTR by which an adapter tells that it has an operation.
pub const DAT_IB_ATTR_COUNTERS: &CStr = c"DAT_COUNTERS";
pub const DAT_IB_ATTR_FETCH_AND_ADD: &CStr = c"DAT_IB_FETCH_AND_ADD";
pub const DAT_IB_ATTR_CMP_AND_SWAP: &CStr = c"DAT_IB_CMP_AND_SWAP";
pub const DAT_IB_ATTR_IMMED_DATA: &CStr = c"DAT_IB_IMMED_DATA";
pub const DAT_IB_ATTR_UD: &CStr = c"DAT_IB_UD";
pub const DAT_ATTR_COUNTERS: &CStr = DAT_IB_ATTR_COUNTERS;
