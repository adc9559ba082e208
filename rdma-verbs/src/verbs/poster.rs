//! Posts with one segment and without a record, whose constant fields are written once.
//!
//! A program that posts often keeps a poster for each work queue of a queue pair. The poster holds a
//! request in its C form, and a post writes only the fields that differ between requests.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::Arc;

use super::{QueuePair, Sge};
use crate::sys::dispatch::{PostRecv, PostSend, Posts};
use crate::sys::verbs::{self as sys, ibv_qp, ibv_recv_wr, ibv_send_wr, rdma_wr};

/// The identifier of a post (`wr_id`) in two halves.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Id {
    /// Its alignment is that of the number, which is 4 on 32-bit x86.
    aligned: [u64; 0],
    #[cfg(target_endian = "big")]
    high: u32,
    low: u32,
    #[cfg(target_endian = "little")]
    high: u32,
}

/// A receive: the beginning of `struct ibv_recv_wr`.
#[derive(Debug)]
#[repr(C)]
pub struct SingleSgeReceive {
    wr_id: Id,
    next: *mut ibv_recv_wr,
    sg_list: *const Sge,
    num_sge: i32,
}

/// A send, RDMA write or RDMA read: the fields of `struct ibv_send_wr` that these have.
#[derive(Debug)]
#[repr(C)]
pub struct SingleSgeRequest {
    wr_id: Id,
    next: *mut ibv_send_wr,
    sg_list: *const Sge,
    num_sge: i32,
    opcode: u32,
    send_flags: u32,
    imm_or_key: u32,
    rdma: rdma_wr,
}

const _: () = {
    assert!(offset_of!(SingleSgeReceive, next) == offset_of!(ibv_recv_wr, next));
    assert!(offset_of!(SingleSgeReceive, sg_list) == offset_of!(ibv_recv_wr, sg_list));
    assert!(offset_of!(SingleSgeReceive, num_sge) == offset_of!(ibv_recv_wr, num_sge));
    assert!(size_of::<SingleSgeReceive>() == size_of::<ibv_recv_wr>());
    assert!(offset_of!(SingleSgeRequest, num_sge) == offset_of!(ibv_send_wr, num_sge));
    assert!(offset_of!(SingleSgeRequest, opcode) == offset_of!(ibv_send_wr, opcode));
    assert!(offset_of!(SingleSgeRequest, send_flags) == offset_of!(ibv_send_wr, send_flags));
    assert!(offset_of!(SingleSgeRequest, imm_or_key) == offset_of!(ibv_send_wr, imm_or_key));
    assert!(offset_of!(SingleSgeRequest, rdma) == offset_of!(ibv_send_wr, wr));
    assert!(align_of::<SingleSgeReceive>() == align_of::<ibv_recv_wr>());
    assert!(align_of::<SingleSgeRequest>() == align_of::<ibv_send_wr>());
};

/// The operation of a request that has one segment and no immediate data. Addresses and keys are
/// the peer's.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are those of `struct ibv_send_wr`")]
pub enum SingleSgeOp {
    /// `IBV_WR_SEND`
    Send,
    /// `IBV_WR_RDMA_WRITE`
    Write { address: u64, key: u32 },
    /// `IBV_WR_RDMA_READ`
    Read { address: u64, key: u32 },
}

/// A kind of request that a [`Poster`] can hold.
pub trait WorkRequest: Sized {
    /// The type of the library.
    #[doc(hidden)]
    type C;

    /// A request whose constant fields are set, with that lower half of its identifier.
    #[doc(hidden)]
    fn with_id(low: u32) -> Self;

    /// The function of a device that posts it.
    #[doc(hidden)]
    fn function(posts: &Posts) -> PostFunction<Self::C>;
}

type PostFunction<C> = unsafe extern "C" fn(*mut ibv_qp, *mut C, *mut *mut C) -> c_int;

impl WorkRequest for SingleSgeReceive {
    type C = ibv_recv_wr;

    fn with_id(low: u32) -> Self {
        let wr_id = Id { aligned: [], low, high: 0 };
        Self { wr_id, next: null_mut(), sg_list: null_mut(), num_sge: 1 }
    }

    fn function(posts: &Posts) -> PostRecv {
        posts.recv
    }
}

impl WorkRequest for SingleSgeRequest {
    type C = ibv_send_wr;

    fn with_id(low: u32) -> Self {
        Self {
            wr_id: Id { aligned: [], low, high: 0 },
            next: null_mut(),
            sg_list: null_mut(),
            num_sge: 1,
            opcode: sys::IBV_WR_SEND,
            send_flags: 0,
            imm_or_key: 0,
            rdma: rdma_wr { remote_addr: 0, rkey: 0 },
        }
    }

    fn function(posts: &Posts) -> PostSend {
        posts.send
    }
}

/// Posts requests of one kind with one segment, without a record.
pub struct Poster<W: WorkRequest> {
    request: W,
    segment: Sge,
    post: PostFunction<W::C>,
    queue_pair: *mut ibv_qp,
    /// Written by the library after an error, and never read.
    bad: *mut W::C,
    attached: Option<Arc<QueuePair>>,
}

// SAFETY: `queue_pair` is valid as long as `attached`, and its calls are thread safe; the other
// pointers are written before each post, or never followed.
unsafe impl<W: WorkRequest> Send for Poster<W> {}
// SAFETY: the same holds, and every access through a pointer takes `&mut self`.
unsafe impl<W: WorkRequest> Sync for Poster<W> {}

impl<W: WorkRequest> Poster<W> {
    /// A poster whose posts fail with `ENOSYS` until it is attached to a queue pair. `low` is the
    /// lower half of the identifiers that its completions return.
    #[must_use]
    pub fn new(low: u32) -> Self {
        Self {
            request: W::with_id(low),
            segment: Sge { addr: 0, length: 0, lkey: 0 },
            post: W::function(&Posts::NONE),
            queue_pair: null_mut(),
            bad: null_mut(),
            attached: None,
        }
    }

    /// Attaches it to the queue pair to which it posts from now on, or to none.
    pub fn attach(&mut self, queue_pair: Option<&Arc<QueuePair>>) {
        self.post = W::function(queue_pair.map_or(&Posts::NONE, |queue_pair| &queue_pair.posts));
        self.queue_pair = queue_pair.map_or(null_mut(), |queue_pair| queue_pair.raw());
        self.attached = queue_pair.cloned();
    }

    /// The queue pair to which it is attached.
    #[must_use]
    pub const fn attached(&self) -> Option<&Arc<QueuePair>> {
        self.attached.as_ref()
    }

    /// Posts the request.
    ///
    /// # Safety
    /// The request must be well formed, with all that it points to.
    #[inline(always)]
    unsafe fn call(&mut self) -> Result<(), c_int> {
        let request = (&raw mut self.request).cast::<W::C>();
        // SAFETY: `attached` keeps the queue pair alive; without one, the function accesses
        // nothing. The request begins as its C type, the library reads only the fields of its
        // operation, and the caller guarantees these.
        match unsafe { (self.post)(self.queue_pair, request, &raw mut self.bad) } {
            0 => Ok(()),
            code => Err(code),
        }
    }
}

impl Poster<SingleSgeReceive> {
    /// Posts a receive whose identifier has that upper half. The device checks that the segment lies
    /// in registered memory.
    ///
    /// # Errors
    /// The result of the library, for [`Error::from_post`](super::Error::from_post).
    #[inline(always)]
    pub fn post(&mut self, high: u32, segment: Sge) -> Result<(), c_int> {
        self.segment = segment;
        self.request.wr_id.high = high;
        self.request.sg_list = &raw const self.segment;
        // SAFETY: the receive is well formed: its segment lives as long as the poster.
        unsafe { self.call() }
    }
}

impl Poster<SingleSgeRequest> {
    /// Posts a request whose identifier has that upper half; `flags` is a set of `IBV_SEND_…`.
    ///
    /// # Errors
    /// The result of the library, for [`Error::from_post`](super::Error::from_post).
    ///
    /// # Safety
    /// As [`Unrecorded::unchecked`](super::Unrecorded::unchecked), if `flags` has `IBV_SEND_INLINE`.
    #[inline(always)]
    pub unsafe fn post(
        &mut self,
        high: u32,
        flags: u32,
        segment: Sge,
        operation: SingleSgeOp,
    ) -> Result<(), c_int> {
        self.segment = segment;
        let request = &mut self.request;
        request.wr_id.high = high;
        request.sg_list = &raw const self.segment;
        request.send_flags = flags;
        let (opcode, remote) = match operation {
            SingleSgeOp::Send => (sys::IBV_WR_SEND, None),
            SingleSgeOp::Write { address, key } => (sys::IBV_WR_RDMA_WRITE, Some((address, key))),
            SingleSgeOp::Read { address, key } => (sys::IBV_WR_RDMA_READ, Some((address, key))),
        };
        request.opcode = opcode;
        if let Some((remote_addr, rkey)) = remote {
            request.rdma = rdma_wr { remote_addr, rkey };
        }
        // SAFETY: the request is well formed: its segment lives as long as the poster. The caller
        // guarantees the memory.
        unsafe { self.call() }
    }
}

impl<W: WorkRequest> std::fmt::Debug for Poster<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("attached", &self.attached).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poster_without_a_queue_pair_refuses_posts() {
        let mut receives = Poster::<SingleSgeReceive>::new(1);
        assert_eq!(receives.post(2, Sge::default()), Err(libc::ENOSYS));
        let mut requests = Poster::<SingleSgeRequest>::new(1);
        // SAFETY: the request is not inline, so no memory is read.
        let posted = unsafe { requests.post(2, 0, Sge::default(), SingleSgeOp::Send) };
        assert_eq!(posted, Err(libc::ENOSYS));
    }

    #[test]
    fn the_identifier_has_its_halves_in_the_order_of_the_machine() {
        let id = Id { aligned: [], low: 0x1234, high: 7 };
        // SAFETY: it has eight bytes, for which every bit pattern is a number.
        let id = unsafe { (&raw const id).cast::<u64>().read() };
        assert_eq!(id, 7 << 32 | 0x1234);
    }
}
