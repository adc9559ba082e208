//! Posts (ibv_post_send(3), ibv_post_recv(3)).

use std::ffi::c_int;

use dat_soft_verbs::{
    Data, Destination, Inline, Remote, SendFlags, SendOperation, SendRequest, Sge,
};
use rdma_verbs::sys::verbs as sys;
use rdma_verbs::sys::verbs::{ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_sge};

use super::{address_handle, queue_pair, window};
use crate::guard::{self, Failure, Result, in_range, invalid};

// The program's lists of segments are passed on unchanged.
const _: () = assert!(size_of::<ibv_sge>() == size_of::<Sge>());
const _: () = assert!(align_of::<ibv_sge>() == align_of::<Sge>());

/// The segments of a request.
///
/// # Safety
/// There must be this number of segments, which live as long as the result.
#[inline]
pub(crate) unsafe fn segments<'a>(list: *const ibv_sge, count: c_int) -> Result<&'a [Sge]> {
    if count == 0 {
        return Ok(&[]);
    }
    let count = in_range(count, "the number of segments (num_sge)")?;
    if list.is_null() {
        return Err(invalid("the segments (sg_list) of a request are null"));
    }
    // SAFETY: the caller guarantees the segments; both types have the same fields.
    Ok(unsafe { std::slice::from_raw_parts(list.cast::<Sge>(), count) })
}

/// Posts a list of requests one by one, until one is refused, and returns that one in `bad`.
///
/// # Safety
/// The list must be valid, and the place of the result there.
#[inline]
unsafe fn each<T>(
    mut request: *mut T,
    bad: *mut *mut T,
    next: impl Fn(&T) -> *mut T,
    post: impl Fn(&T) -> Result<()>,
) -> c_int {
    while !request.is_null() {
        // SAFETY: the caller guarantees a list of requests.
        let one = unsafe { &*request };
        if let Err(Failure(errno)) = guard::run(|| post(one)) {
            // SAFETY: the caller guarantees the result.
            unsafe { bad.write(request) };
            return errno;
        }
        request = next(one);
    }
    0
}

/// As [`each`], for receives, whose numbers and segments the function posts.
///
/// # Safety
/// As [`each`], and the segments must be valid.
#[inline]
pub(crate) unsafe fn each_receive(
    requests: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
    post: impl Fn(u64, &[Sge]) -> dat_soft_verbs::Result<()>,
) -> c_int {
    let post = |one: &ibv_recv_wr| {
        // SAFETY: the caller guarantees the segments.
        Ok(post(one.wr_id, unsafe { segments(one.sg_list, one.num_sge) }?)?)
    };
    // SAFETY: the caller guarantees a list of requests and the result.
    unsafe { each(requests, bad, |one| one.next, post) }
}

/// The operation of `ibv_post_recv`.
pub(crate) unsafe extern "C" fn receive(
    qp: *mut ibv_qp,
    requests: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: the caller guarantees a live queue pair.
    let core = unsafe { queue_pair::core(qp) };
    // SAFETY: the caller guarantees a list of requests with their segments, and the result.
    unsafe { each_receive(requests, bad, |wr_id, segments| core.post_receive(wr_id, segments)) }
}

/// The operation of `ibv_post_send`.
pub(crate) unsafe extern "C" fn send(
    qp: *mut ibv_qp,
    requests: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: the caller guarantees a live queue pair.
    let core = unsafe { queue_pair::core(qp) };
    // SAFETY: as above; the field never changes.
    let is_datagram = unsafe { (*qp).qp_type } == sys::IBV_QPT_UD;
    let post = |one: &ibv_send_wr| {
        // SAFETY: the caller guarantees a well-formed request.
        Ok(core.post_send(&unsafe { send_request(one, is_datagram) }?)?)
    };
    // SAFETY: the caller guarantees a list of requests and the result.
    unsafe { each(requests, bad, |one| one.next, post) }
}

/// The request of a C structure.
///
/// # Safety
/// The structure must be well formed, with all it points to.
#[inline]
unsafe fn send_request<'a>(one: &ibv_send_wr, is_datagram: bool) -> Result<SendRequest<'a>> {
    // SAFETY: the caller guarantees the segments.
    let list = unsafe { segments(one.sg_list, one.num_sge) }?;
    let flags = SendFlags::from_bits_truncate(one.send_flags);
    let data = if flags.contains(SendFlags::INLINE) {
        // SAFETY: the caller guarantees that the memory of the segments is readable during the post.
        Data::Inline(unsafe { Inline::from_segments(list) })
    } else {
        Data::Segments(list)
    };
    let destination = if is_datagram {
        // SAFETY: requests of datagrams have this member.
        let to = unsafe { one.wr.ud };
        if to.ah.is_null() {
            return Err(invalid("cannot send a datagram without an address handle (wr.ud.ah)"));
        }
        // SAFETY: the caller guarantees a live address handle.
        let address = unsafe { address_handle::core(to.ah) };
        Some(Destination { address, number: to.remote_qpn, key: to.remote_qkey })
    } else {
        None
    };
    // SAFETY: the caller guarantees the member of the operation.
    let operation = unsafe { operation(one) }?;
    Ok(SendRequest { wr_id: one.wr_id, operation, flags, data, destination })
}

#[cold]
fn unknown(opcode: u32) -> Failure {
    invalid(format!("cannot post a request with the opcode {opcode}: the device does not have it"))
}

/// The operation of a request.
///
/// # Safety
/// The members that the opcode demands must be valid.
#[inline]
unsafe fn operation<'a>(one: &ibv_send_wr) -> Result<SendOperation<'a>> {
    let remote = || {
        // SAFETY: the caller guarantees the member.
        let to = unsafe { one.wr.rdma };
        Remote { address: to.remote_addr, key: to.rkey }
    };
    Ok(match one.opcode {
        sys::IBV_WR_SEND => SendOperation::Send,
        sys::IBV_WR_SEND_WITH_IMM => SendOperation::SendWithImmediate(one.imm_or_key),
        sys::IBV_WR_SEND_WITH_INV => SendOperation::SendWithInvalidate(one.imm_or_key),
        sys::IBV_WR_RDMA_WRITE => SendOperation::Write(remote()),
        sys::IBV_WR_RDMA_WRITE_WITH_IMM => {
            SendOperation::WriteWithImmediate(remote(), one.imm_or_key)
        }
        sys::IBV_WR_RDMA_READ => SendOperation::Read(remote()),
        sys::IBV_WR_ATOMIC_CMP_AND_SWP | sys::IBV_WR_ATOMIC_FETCH_AND_ADD => {
            // SAFETY: the caller guarantees the member.
            let to = unsafe { one.wr.atomic };
            let remote = Remote { address: to.remote_addr, key: to.rkey };
            if one.opcode == sys::IBV_WR_ATOMIC_FETCH_AND_ADD {
                SendOperation::FetchAdd { remote, add: to.compare_add }
            } else {
                SendOperation::CompareSwap { remote, compare: to.compare_add, swap: to.swap }
            }
        }
        sys::IBV_WR_LOCAL_INV => SendOperation::LocalInvalidate(one.imm_or_key),
        sys::IBV_WR_BIND_MW => {
            if one.bind_mw.mw.is_null() {
                return Err(invalid("cannot bind a window that is null (bind_mw.mw)"));
            }
            // SAFETY: the caller guarantees a live window.
            let window = unsafe { window::core(one.bind_mw.mw) };
            // SAFETY: the caller guarantees a live region.
            let bind = unsafe { window::bind_of(&one.bind_mw.bind_info) };
            SendOperation::Bind { window, key: one.bind_mw.rkey, bind }
        }
        // IBV_WR_TSO and what other devices have.
        opcode => return Err(unknown(opcode)),
    })
}
