//! Requests to post, and their form in C.
#![allow(unsafe_code, reason = "a request is a union, and mostly not all of it is written")]
#![allow(non_camel_case_types, reason = "part of a type of C")]

use std::mem::{MaybeUninit, offset_of};
use std::ptr::{self, null_mut};

use super::{AddressHandle, Sge};
use crate::sys::verbs::{self as sys, ibv_send_wr, ibv_send_wr_wr, rdma_wr};

/// A request (ibv_post_send(3)).
pub(crate) struct Post<'a> {
    /// Comes back in the completion.
    pub(crate) id: u64,
    /// A set of `IBV_SEND_…`.
    pub(crate) flags: u32,
    /// The local side.
    pub(crate) segments: &'a [Sge],
    /// What it does.
    pub(crate) what: What<'a>,
}

/// What a request does. Addresses and keys are the peer's. Immediate data go as the machine has
/// them and not in network order: so the OpenFabrics DAPL sends and takes them, and both sides of
/// a connection may be either.
#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    Send,
    SendInvalidate {
        key: u32,
    },
    Write {
        address: u64,
        key: u32,
    },
    WriteImmediate {
        address: u64,
        key: u32,
        data: u32,
    },
    Read {
        address: u64,
        key: u32,
    },
    FetchAdd {
        address: u64,
        key: u32,
        add: u64,
    },
    CompareSwap {
        address: u64,
        key: u32,
        compare: u64,
        swap: u64,
    },
    /// A datagram; the handle has to live until it completes.
    Datagram {
        handle: &'a AddressHandle,
        number: u32,
        key: u32,
    },
}

/// What a request of the kind that is posted most does: one with one segment, and with nothing to
/// say beside it. Addresses and keys are the peer's.
#[derive(Clone, Copy)]
pub(crate) enum Plain {
    Send,
    Write { address: u64, key: u32 },
    Read { address: u64, key: u32 },
}

impl Plain {
    /// Writes the form in C to a place, which borrows the segment: all that a request of its kind
    /// has, and nothing where others have more.
    #[inline(always)]
    pub(super) fn write_c(
        self,
        id: u64,
        flags: u32,
        segment: &Sge,
        place: &mut MaybeUninit<ibv_send_wr>,
    ) {
        let (opcode, remote) = match self {
            Self::Send => (sys::IBV_WR_SEND, None),
            Self::Write { address, key } => (sys::IBV_WR_RDMA_WRITE, Some((address, key))),
            Self::Read { address, key } => (sys::IBV_WR_RDMA_READ, Some((address, key))),
        };
        let head = ibv_send_wr_head {
            wr_id: id,
            next: null_mut(),
            sg_list: ptr::from_ref(segment).cast_mut(),
            num_sge: 1,
            opcode,
            send_flags: flags,
            imm_or_key: 0,
        };
        let place = place.as_mut_ptr();
        if let Some((remote_addr, rkey)) = remote {
            let rdma = rdma_wr { remote_addr, rkey };
            // SAFETY: so an RDMA request starts, and the place has the room of a request.
            unsafe { place.cast::<ibv_send_wr_rdma>().write(ibv_send_wr_rdma { head, rdma }) };
        } else {
            // SAFETY: the same of any request.
            unsafe { place.cast::<ibv_send_wr_head>().write(head) };
        }
    }
}

/// What all requests have; the rest depends on what one does.
#[repr(C)]
struct ibv_send_wr_head {
    wr_id: u64,
    next: *mut ibv_send_wr,
    sg_list: *mut Sge,
    num_sge: i32,
    opcode: u32,
    send_flags: u32,
    imm_or_key: u32,
}

#[repr(C)]
struct ibv_send_wr_rdma {
    head: ibv_send_wr_head,
    rdma: rdma_wr,
}

const _: () = {
    assert!(offset_of!(ibv_send_wr_head, num_sge) == offset_of!(ibv_send_wr, num_sge));
    assert!(offset_of!(ibv_send_wr_head, opcode) == offset_of!(ibv_send_wr, opcode));
    assert!(offset_of!(ibv_send_wr_head, send_flags) == offset_of!(ibv_send_wr, send_flags));
    assert!(offset_of!(ibv_send_wr_head, imm_or_key) == offset_of!(ibv_send_wr, imm_or_key));
    assert!(offset_of!(ibv_send_wr_rdma, rdma) == offset_of!(ibv_send_wr, wr));
};

impl What<'_> {
    /// Whether the device may take the bytes with the request itself.
    #[inline(always)]
    pub(crate) const fn takes_along(self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::SendInvalidate { .. }
                | Self::Write { .. }
                | Self::WriteImmediate { .. }
        )
    }
}

impl Post<'_> {
    /// The form in C; it borrows the segments and the address handle.
    #[inline(always)]
    pub(super) fn to_c(&self) -> ibv_send_wr {
        let rdma =
            |address, key| ibv_send_wr_wr { rdma: rdma_wr { remote_addr: address, rkey: key } };
        let none = rdma(0, 0);
        let (opcode, imm_or_key, wr) = match self.what {
            What::Send => (sys::IBV_WR_SEND, 0, none),
            What::SendInvalidate { key } => (sys::IBV_WR_SEND_WITH_INV, key, none),
            What::Write { address, key } => (sys::IBV_WR_RDMA_WRITE, 0, rdma(address, key)),
            What::WriteImmediate { address, key, data } => {
                (sys::IBV_WR_RDMA_WRITE_WITH_IMM, data, rdma(address, key))
            }
            What::Read { address, key } => (sys::IBV_WR_RDMA_READ, 0, rdma(address, key)),
            What::FetchAdd { address, key, add } => {
                (sys::IBV_WR_ATOMIC_FETCH_AND_ADD, 0, atomic(address, key, add, 0))
            }
            What::CompareSwap { address, key, compare, swap } => {
                (sys::IBV_WR_ATOMIC_CMP_AND_SWP, 0, atomic(address, key, compare, swap))
            }
            What::Datagram { handle, number, key } => {
                let to = sys::ud_wr { ah: handle.raw(), remote_qpn: number, remote_qkey: key };
                (sys::IBV_WR_SEND, 0, ibv_send_wr_wr { ud: to })
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

fn atomic(address: u64, key: u32, compare_add: u64, swap: u64) -> ibv_send_wr_wr {
    ibv_send_wr_wr { atomic: sys::atomic_wr { remote_addr: address, compare_add, swap, rkey: key } }
}

/// What a request that is no bind has in the place of one.
pub(super) const NO_BIND: sys::bind_mw_wr = sys::bind_mw_wr {
    mw: null_mut(),
    rkey: 0,
    bind_info: sys::ibv_mw_bind_info { mr: null_mut(), addr: 0, length: 0, mw_access_flags: 0 },
};
