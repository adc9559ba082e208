//! Work completions, in the layout of `ibv_wc`.

/// A finished operation (ibv_poll_cq(3)). The layout is that of `ibv_wc`, and every bit pattern is valid, so a
/// program written in C passes its array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WorkCompletion {
    /// The value of the post.
    pub wr_id: u64,
    /// How it ended. Of a failure only this, `wr_id`, `qp_num` and `vendor_err` have a meaning.
    pub status: WcStatus,
    /// The operation.
    pub opcode: WcOpcode,
    /// Further information about a failure; 0 here.
    pub vendor_err: u32,
    /// Number of bytes moved; of receives, reads and atomics only.
    pub byte_len: u32,
    /// The immediate data in network order (`WcFlags::WITH_IMM`), or the invalidated key (`WITH_INV`).
    pub imm_data: u32,
    /// The number of the local queue pair.
    pub qp_num: u32,
    /// The number of the sending queue pair, of datagrams only.
    pub src_qp: u32,
    /// [`WcFlags`].
    pub wc_flags: u32,
    /// Always 0.
    pub pkey_index: u16,
    /// Always 0: RoCE has no local identifiers.
    pub slid: u16,
    /// The service level; of a received datagram, whether it came by IPv4 (10) or IPv6 (9).
    pub sl: u8,
    /// Always 0.
    pub dlid_path_bits: u8,
}

/// How an operation ended (`ibv_wc_status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct WcStatus(pub u32);

impl WcStatus {
    /// It succeeded.
    pub const SUCCESS: Self = Self(0);
    /// A message was longer than its receive.
    pub const LOC_LEN_ERR: Self = Self(1);
    /// The queue pair cannot do the operation.
    pub const LOC_QP_OP_ERR: Self = Self(2);
    /// A local segment is not accessible.
    pub const LOC_PROT_ERR: Self = Self(4);
    /// The queue pair was in the state `ERR`, or got there before the operation ended.
    pub const WR_FLUSH_ERR: Self = Self(5);
    /// A bind failed.
    pub const MW_BIND_ERR: Self = Self(6);
    /// The peer answered with something unexpected.
    pub const BAD_RESP_ERR: Self = Self(7);
    /// A local segment is not accessible for a write of the peer.
    pub const LOC_ACCESS_ERR: Self = Self(8);
    /// The receive of the peer is too short, or the peer does not accept the operation.
    pub const REM_INV_REQ_ERR: Self = Self(9);
    /// The peer refused the access to its memory.
    pub const REM_ACCESS_ERR: Self = Self(10);
    /// The peer could not complete the operation.
    pub const REM_OP_ERR: Self = Self(11);
    /// The peer does not answer.
    pub const RETRY_EXC_ERR: Self = Self(12);
    /// The peer has posted no receive for too long.
    pub const RNR_RETRY_EXC_ERR: Self = Self(13);
    /// The device is gone.
    pub const FATAL_ERR: Self = Self(19);
    /// Another failure.
    pub const GENERAL_ERR: Self = Self(21);
}

/// The operation of a completion (`ibv_wc_opcode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct WcOpcode(pub u32);

impl WcOpcode {
    /// A send of any kind.
    pub const SEND: Self = Self(0);
    /// A write, with or without immediate data.
    pub const RDMA_WRITE: Self = Self(1);
    /// A read.
    pub const RDMA_READ: Self = Self(2);
    /// A compare-and-swap.
    pub const COMP_SWAP: Self = Self(3);
    /// A fetch-and-add.
    pub const FETCH_ADD: Self = Self(4);
    /// A bind.
    pub const BIND_MW: Self = Self(5);
    /// A local invalidation.
    pub const LOCAL_INV: Self = Self(6);
    /// A receive; a bit that all kinds of receives have.
    pub const RECV: Self = Self(128);
    /// A receive that a write with immediate data has completed.
    pub const RECV_RDMA_WITH_IMM: Self = Self(129);
}

bitflags::bitflags! {
    /// Further properties of a completion (`ibv_wc_flags`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct WcFlags: u32 {
        /// The first 40 bytes of the receive are the global route header.
        const GRH = 1;
        /// `imm_data` is valid.
        const WITH_IMM = 1 << 1;
        /// `imm_data` is a key that the sender has invalidated.
        const WITH_INV = 1 << 3;
    }
}
