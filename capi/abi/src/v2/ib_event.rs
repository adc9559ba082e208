//! InfiniBand extensions: events.

use super::*;

/// Event numbers of the InfiniBand extensions.
pub type DAT_IB_EVENT_NUMBER = u32;
pub const DAT_IB_DTO_EVENT: DAT_IB_EVENT_NUMBER = 0x4_0000;
pub const DAT_IB_UD_CONNECTION_REQUEST_EVENT: DAT_IB_EVENT_NUMBER = 0x4_0001;
pub const DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED: DAT_IB_EVENT_NUMBER = 0x4_0002;
pub const DAT_IB_UD_CONNECTION_REJECT_EVENT: DAT_IB_EVENT_NUMBER = 0x4_0003;
pub const DAT_IB_UD_CONNECTION_ERROR_EVENT: DAT_IB_EVENT_NUMBER = 0x4_0004;
pub const DAT_IB_COLLECTIVE_EVENT: DAT_IB_EVENT_NUMBER = 0x4_0005;

/// The operation that an extension event reports.
pub type DAT_IB_EXT_TYPE = u32;
pub const DAT_IB_FETCH_AND_ADD: DAT_IB_EXT_TYPE = 0;
pub const DAT_IB_CMP_AND_SWAP: DAT_IB_EXT_TYPE = 1;
pub const DAT_IB_RDMA_WRITE_IMMED: DAT_IB_EXT_TYPE = 2;
pub const DAT_IB_RDMA_WRITE_IMMED_DATA: DAT_IB_EXT_TYPE = 3;
pub const DAT_IB_RECV_IMMED_DATA: DAT_IB_EXT_TYPE = 4;
pub const DAT_IB_UD_CONNECT_REQUEST: DAT_IB_EXT_TYPE = 5;
pub const DAT_IB_UD_REMOTE_AH: DAT_IB_EXT_TYPE = 6;
pub const DAT_IB_UD_PASSIVE_REMOTE_AH: DAT_IB_EXT_TYPE = 7;
pub const DAT_IB_UD_SEND: DAT_IB_EXT_TYPE = 8;
pub const DAT_IB_UD_RECV: DAT_IB_EXT_TYPE = 9;
pub const DAT_IB_UD_CONNECT_REJECT: DAT_IB_EXT_TYPE = 10;
pub const DAT_IB_UD_CONNECT_ERROR: DAT_IB_EXT_TYPE = 11;
pub const DAT_IB_COLLECTIVE_CREATE_STATUS: DAT_IB_EXT_TYPE = 12;
pub const DAT_IB_COLLECTIVE_CREATE_DATA: DAT_IB_EXT_TYPE = 13;
pub const DAT_IB_COLLECTIVE_CLOCK_SET_STATUS: DAT_IB_EXT_TYPE = 14;
pub const DAT_IB_COLLECTIVE_SCATTER_STATUS: DAT_IB_EXT_TYPE = 15;
pub const DAT_IB_COLLECTIVE_SCATTERV_STATUS: DAT_IB_EXT_TYPE = 16;
pub const DAT_IB_COLLECTIVE_GATHER_STATUS: DAT_IB_EXT_TYPE = 17;
pub const DAT_IB_COLLECTIVE_GATHERV_STATUS: DAT_IB_EXT_TYPE = 18;
pub const DAT_IB_COLLECTIVE_ALLGATHER_STATUS: DAT_IB_EXT_TYPE = 19;
pub const DAT_IB_COLLECTIVE_ALLGATHERV_STATUS: DAT_IB_EXT_TYPE = 20;
pub const DAT_IB_COLLECTIVE_ALLTOALL_STATUS: DAT_IB_EXT_TYPE = 21;
pub const DAT_IB_COLLECTIVE_ALLTOALLV_STATUS: DAT_IB_EXT_TYPE = 22;
pub const DAT_IB_COLLECTIVE_REDUCE_STATUS: DAT_IB_EXT_TYPE = 23;
pub const DAT_IB_COLLECTIVE_ALLREDUCE_STATUS: DAT_IB_EXT_TYPE = 24;
pub const DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS: DAT_IB_EXT_TYPE = 25;
pub const DAT_IB_COLLECTIVE_SCAN_STATUS: DAT_IB_EXT_TYPE = 26;
pub const DAT_IB_COLLECTIVE_BROADCAST_STATUS: DAT_IB_EXT_TYPE = 27;
pub const DAT_IB_COLLECTIVE_BARRIER_STATUS: DAT_IB_EXT_TYPE = 28;

/// Completion status of an extended operation.
pub type DAT_IB_STATUS = u32;
pub const DAT_OP_SUCCESS: DAT_IB_STATUS = 0;
pub const DAT_IB_OP_ERR: DAT_IB_STATUS = 1;
pub const DAT_IB_COLL_COMP_ERR: DAT_IB_STATUS = 2;

/// The extended operation that completed; extends DAT_DTOS.
pub type DAT_IB_DTOS = u32;
pub const DAT_IB_DTO_RDMA_WRITE_IMMED: DAT_IB_DTOS = 8;
pub const DAT_IB_DTO_RECV_IMMED: DAT_IB_DTOS = 9;
pub const DAT_IB_DTO_FETCH_ADD: DAT_IB_DTOS = 10;
pub const DAT_IB_DTO_CMP_SWAP: DAT_IB_DTOS = 11;
pub const DAT_IB_DTO_RECV_MSG_IMMED: DAT_IB_DTOS = 12;
pub const DAT_IB_DTO_SEND_UD: DAT_IB_DTOS = 13;
pub const DAT_IB_DTO_RECV_UD: DAT_IB_DTOS = 14;
pub const DAT_IB_DTO_RECV_UD_IMMED: DAT_IB_DTOS = 15;
pub const DAT_IB_DTO_COLLECTIVES: DAT_IB_DTOS = 16;

/// An address handle of libibverbs.
#[repr(C)]
pub struct ibv_ah {
    _opaque: [u8; 0],
}

structs! {
    /// The destination of datagrams.
    pub struct DAT_IB_ADDR_HANDLE {
        pub ah: *mut ibv_ah,
        pub qpn: DAT_UINT32,
        pub ia_addr: DAT_SOCK_ADDR6,
    }

    /// Immediate data.
    pub struct DAT_IB_IMMED_DATA {
        pub data: DAT_UINT32,
    }

    /// The result value of an extended operation.
    pub union DAT_IB_EXTENSION_VALUE {
        pub immed: DAT_IB_IMMED_DATA,
    }

    /// Additional data of an extension event. C programs access its members as if they were
    /// members of the event data itself.
    pub union DAT_IB_EXTENSION_PEER {
        pub remote_ah: DAT_IB_ADDR_HANDLE,
        pub coll: DAT_IB_COLLECTIVE_EVENT_DATA,
    }

    /// The extension data of an event, stored in event_extension_data of DAT_EVENT.
    pub struct DAT_IB_EXTENSION_EVENT_DATA {
        pub r#type: DAT_IB_EXT_TYPE,
        pub status: DAT_IB_STATUS,
        pub val: DAT_IB_EXTENSION_VALUE,
        pub peer: DAT_IB_EXTENSION_PEER,
        pub context: DAT_CONTEXT,
    }
}
