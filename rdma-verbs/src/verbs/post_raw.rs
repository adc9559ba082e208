//! Requests in a form close to C, for posts without records.

use std::ptr::null_mut;

use super::{AddressHandle, MemoryRegion, MemoryWindow, Sge};
use crate::sys::verbs::{self as sys, ibv_send_wr, ibv_send_wr_wr, rdma_wr};

/// A request of the send queue (ibv_post_send(3)).
#[derive(Debug)]
pub struct RawRequest<'a> {
    /// The identifier that its completion returns.
    pub id: u64,
    /// A set of `IBV_SEND_…`.
    pub flags: u32,
    /// The local segments.
    pub segments: &'a [Sge],
    /// The operation.
    pub operation: RawOperation<'a>,
}

/// The operation of a request. Addresses and keys are the peer's. Immediate data is sent in
/// its current byte order: C requires network byte order, but some protocols use the order of the
/// machine.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are those of `struct ibv_send_wr`")]
pub enum RawOperation<'a> {
    /// `IBV_WR_SEND`
    Send,
    /// `IBV_WR_SEND_WITH_IMM`
    SendImmediate { data: u32 },
    /// `IBV_WR_SEND_WITH_INV`
    SendInvalidate { key: u32 },
    /// `IBV_WR_RDMA_WRITE`
    Write { address: u64, key: u32 },
    /// `IBV_WR_RDMA_WRITE_WITH_IMM`
    WriteImmediate { address: u64, key: u32, data: u32 },
    /// `IBV_WR_RDMA_READ`
    Read { address: u64, key: u32 },
    /// `IBV_WR_ATOMIC_FETCH_AND_ADD`
    FetchAdd { address: u64, key: u32, add: u64 },
    /// `IBV_WR_ATOMIC_CMP_AND_SWP`
    CompareSwap { address: u64, key: u32, compare: u64, swap: u64 },
    /// `IBV_WR_LOCAL_INV`
    Invalidate { key: u32 },
    /// `IBV_WR_SEND` of a datagram; the handle must live until it completes.
    Datagram { handle: &'a AddressHandle, number: u32, key: u32 },
    /// `IBV_WR_SEND_WITH_IMM` of a datagram.
    DatagramImmediate { handle: &'a AddressHandle, number: u32, key: u32, data: u32 },
}

impl RawOperation<'_> {
    /// Returns true if its data can be copied into the request itself (`IBV_SEND_INLINE`).
    #[inline(always)]
    #[must_use]
    pub const fn supports_inline(self) -> bool {
        !matches!(
            self,
            Self::Read { .. }
                | Self::FetchAdd { .. }
                | Self::CompareSwap { .. }
                | Self::Invalidate { .. }
        )
    }
}

impl RawRequest<'_> {
    /// Converts it to C; the result borrows the segments and the address handle.
    #[inline(always)]
    pub(super) fn to_c(&self) -> ibv_send_wr {
        let rdma =
            |address, key| ibv_send_wr_wr { rdma: rdma_wr { remote_addr: address, rkey: key } };
        let none = rdma(0, 0);
        let (opcode, imm_or_key, wr) = match self.operation {
            RawOperation::Send => (sys::IBV_WR_SEND, 0, none),
            RawOperation::SendImmediate { data } => (sys::IBV_WR_SEND_WITH_IMM, data, none),
            RawOperation::Invalidate { key } => (sys::IBV_WR_LOCAL_INV, key, none),
            RawOperation::SendInvalidate { key } => (sys::IBV_WR_SEND_WITH_INV, key, none),
            RawOperation::Write { address, key } => (sys::IBV_WR_RDMA_WRITE, 0, rdma(address, key)),
            RawOperation::WriteImmediate { address, key, data } => {
                (sys::IBV_WR_RDMA_WRITE_WITH_IMM, data, rdma(address, key))
            }
            RawOperation::Read { address, key } => (sys::IBV_WR_RDMA_READ, 0, rdma(address, key)),
            RawOperation::FetchAdd { address, key, add } => {
                (sys::IBV_WR_ATOMIC_FETCH_AND_ADD, 0, atomic(address, key, add, 0))
            }
            RawOperation::CompareSwap { address, key, compare, swap } => {
                (sys::IBV_WR_ATOMIC_CMP_AND_SWP, 0, atomic(address, key, compare, swap))
            }
            RawOperation::Datagram { handle, number, key } => {
                (sys::IBV_WR_SEND, 0, datagram(handle, number, key))
            }
            RawOperation::DatagramImmediate { handle, number, key, data } => {
                (sys::IBV_WR_SEND_WITH_IMM, data, datagram(handle, number, key))
            }
        };
        ibv_send_wr {
            wr_id: self.id,
            next: null_mut(),
            sg_list: self.segments.as_ptr().cast_mut(),
            num_sge: i32::try_from(self.segments.len()).unwrap_or(i32::MAX),
            opcode,
            send_flags: self.flags,
            imm_or_key,
            wr,
            remote_srqn: 0,
            bind_mw: NO_BIND,
        }
    }
}

fn datagram(handle: &AddressHandle, number: u32, key: u32) -> ibv_send_wr_wr {
    let to = sys::ud_wr { ah: handle.raw(), remote_qpn: number, remote_qkey: key };
    ibv_send_wr_wr { ud: to }
}

fn atomic(address: u64, key: u32, compare_add: u64, swap: u64) -> ibv_send_wr_wr {
    ibv_send_wr_wr { atomic: sys::atomic_wr { remote_addr: address, compare_add, swap, rkey: key } }
}

/// The bind fields of a request that does not bind.
const NO_BIND: sys::bind_mw_wr = sys::bind_mw_wr {
    mw: null_mut(),
    rkey: 0,
    bind_info: sys::ibv_mw_bind_info { mr: null_mut(), addr: 0, length: 0, mw_access_flags: 0 },
};

/// The bind of a window.
#[derive(Debug)]
pub struct WindowBind<'a> {
    /// The identifier that its completion returns.
    pub id: u64,
    /// A set of `IBV_SEND_…`.
    pub flags: u32,
    /// The window.
    pub window: &'a MemoryWindow,
    /// The region; some libraries require one even for an empty range.
    pub region: Option<&'a MemoryRegion>,
    /// The address of the first byte, in the region's addresses.
    pub address: u64,
    /// Number of bytes; 0 ends the binding.
    pub length: u64,
    /// A set of `IBV_ACCESS_…`.
    pub access: u32,
    /// The new key of a window of type 2.
    pub key: u32,
}
