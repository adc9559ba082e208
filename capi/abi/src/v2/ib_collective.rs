//! InfiniBand extensions: collective operations. The macros of C programs need their names; no
//! provider has the operations.

use core::ffi::{CStr, c_int, c_uint, c_void};

use super::*;

/// Handle of a member or a group of a collective operation.
pub type DAT_IB_COLLECTIVE_HANDLE = DAT_HANDLE;

/// Event data of a collective operation.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_IB_COLLECTIVE_EVENT_DATA {
    pub handle: DAT_HANDLE,
    pub context: DAT_CONTEXT,
}

/// Type of the elements of a collective operation.
pub type DAT_IB_COLLECTIVE_DATA_TYPE = u32;
pub const DAT_IB_COLLECTIVE_TYPE_INT8: DAT_IB_COLLECTIVE_DATA_TYPE = 0;
pub const DAT_IB_COLLECTIVE_TYPE_UINT8: DAT_IB_COLLECTIVE_DATA_TYPE = 1;
pub const DAT_IB_COLLECTIVE_TYPE_INT16: DAT_IB_COLLECTIVE_DATA_TYPE = 2;
pub const DAT_IB_COLLECTIVE_TYPE_UINT16: DAT_IB_COLLECTIVE_DATA_TYPE = 3;
pub const DAT_IB_COLLECTIVE_TYPE_INT32: DAT_IB_COLLECTIVE_DATA_TYPE = 4;
pub const DAT_IB_COLLECTIVE_TYPE_UINT32: DAT_IB_COLLECTIVE_DATA_TYPE = 5;
pub const DAT_IB_COLLECTIVE_TYPE_INT64: DAT_IB_COLLECTIVE_DATA_TYPE = 6;
pub const DAT_IB_COLLECTIVE_TYPE_UINT64: DAT_IB_COLLECTIVE_DATA_TYPE = 7;
pub const DAT_IB_COLLECTIVE_TYPE_FLOAT: DAT_IB_COLLECTIVE_DATA_TYPE = 8;
pub const DAT_IB_COLLECTIVE_TYPE_DOUBLE: DAT_IB_COLLECTIVE_DATA_TYPE = 9;
pub const DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE: DAT_IB_COLLECTIVE_DATA_TYPE = 10;
pub const DAT_IB_COLLECTIVE_TYPE_SHORT_INT: DAT_IB_COLLECTIVE_DATA_TYPE = 11;
pub const DAT_IB_COLLECTIVE_TYPE_2INT: DAT_IB_COLLECTIVE_DATA_TYPE = 12;
pub const DAT_IB_COLLECTIVE_TYPE_FLOAT_INT: DAT_IB_COLLECTIVE_DATA_TYPE = 13;
pub const DAT_IB_COLLECTIVE_TYPE_LONG_INT: DAT_IB_COLLECTIVE_DATA_TYPE = 14;
pub const DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT: DAT_IB_COLLECTIVE_DATA_TYPE = 15;

/// Reduction operators of collective operations.
pub type DAT_IB_COLLECTIVE_REDUCE_DATA_OP = u32;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_MAX: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 0;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_MIN: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 1;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_SUM: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 2;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_PROD: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 3;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_LAND: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 4;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_BAND: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 5;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_LOR: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 6;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_BOR: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 7;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_LXOR: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 8;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_BXOR: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 9;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 10;
pub const DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC: DAT_IB_COLLECTIVE_REDUCE_DATA_OP = 11;

pub type DAT_IB_COLLECTIVE_RANK = c_uint;
pub type DAT_IB_COLLECTIVE_ID = c_uint;
pub type DAT_IB_COLLECTIVE_MEMBER = *mut c_void;

/// A member of a collective group.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_IB_COLLECTIVE_GROUP {
    pub local_size: c_int,
    pub local_rank: c_int,
    pub local_ranks: *mut c_int,
    pub external_size: c_int,
    pub external_rank: c_int,
    pub external_ranks: *mut c_int,
    pub intranode_table: *mut c_int,
    pub internode_table: *mut c_int,
    pub is_comm_world: c_int,
}

// Names in DAT_IA_ATTR by which an adapter tells that it has an operation.
pub const DAT_IB_COLL_SET_CLOCK: &CStr = c"DAT_COLL_SET_CLOCK";
pub const DAT_IB_COLL_READ_CLOCK: &CStr = c"DAT_COLL_READ_CLOCK";
pub const DAT_IB_COLL_BROADCAST: &CStr = c"DAT_COLL_BROADCAST";
pub const DAT_IB_COLL_BARRIER: &CStr = c"DAT_COLL_BARRIER";
pub const DAT_IB_COLL_SCATTER: &CStr = c"DAT_COLL_SCATTER";
pub const DAT_IB_COLL_SCATTERV: &CStr = c"DAT_COLL_SCATTERV";
pub const DAT_IB_COLL_GATHER: &CStr = c"DAT_COLL_GATHER";
pub const DAT_IB_COLL_GATHERV: &CStr = c"DAT_COLL_GATHERV";
pub const DAT_IB_COLL_ALLGATHER: &CStr = c"DAT_COLL_ALLGATHER";
pub const DAT_IB_COLL_ALLGATHERV: &CStr = c"DAT_COLL_ALLGATHERV";
pub const DAT_IB_COLL_ALLTOALL: &CStr = c"DAT_COLL_ALLTOALL";
pub const DAT_IB_COLL_ALLTOALLV: &CStr = c"DAT_COLL_ALLTOALLV";
pub const DAT_IB_COLL_REDUCE: &CStr = c"DAT_COLL_REDUCE";
pub const DAT_IB_COLL_ALLREDUCE: &CStr = c"DAT_COLL_ALLREDUCE";
pub const DAT_IB_COLL_REDUCE_SCATTER: &CStr = c"DAT_COLL_REDUCE_SCATTER";
pub const DAT_IB_COLL_SCAN: &CStr = c"DAT_COLL_SCAN";
