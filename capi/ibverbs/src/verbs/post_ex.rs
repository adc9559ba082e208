//! Posts by `ibv_wr_*` (ibv_wr_post(3)): requests are built between `ibv_wr_start` and `ibv_wr_complete`, which posts
//! them.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use dat_soft_verbs::{
    Data, Destination, Inline, Remote, SendFlags, SendOperation, SendRequest, Sge,
};
use libc::size_t;
use rdma_verbs::sys::extended::{ibv_data_buf, ibv_qp_ex};
use rdma_verbs::sys::verbs as sys;
use rdma_verbs::sys::verbs::{ibv_ah, ibv_mw, ibv_mw_bind_info, ibv_sge};

use super::held::Held;
use super::queue_pair::Qp;
use super::{address_handle, post, window};
use crate::guard::{self, Failure, Result, given, in_range, unsupported};

/// The operations of datagrams and of connections (`IBV_QP_EX_WITH_*`).
const DATAGRAM: u64 = sys::IBV_QP_EX_WITH_SEND | sys::IBV_QP_EX_WITH_SEND_WITH_IMM;
const UNRELIABLE: u64 = DATAGRAM
    | sys::IBV_QP_EX_WITH_RDMA_WRITE
    | sys::IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
    | sys::IBV_QP_EX_WITH_LOCAL_INV
    | sys::IBV_QP_EX_WITH_BIND_MW
    | sys::IBV_QP_EX_WITH_SEND_WITH_INV;
const RELIABLE: u64 = UNRELIABLE
    | sys::IBV_QP_EX_WITH_RDMA_READ
    | sys::IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP
    | sys::IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

/// Checks the requested operations of a queue pair.
///
/// # Errors
/// `EOPNOTSUPP` for one that its type does not have.
pub(crate) fn check(qp_type: u32, wanted: u64) -> Result<()> {
    let known = match qp_type {
        sys::IBV_QPT_RC => RELIABLE,
        sys::IBV_QPT_UC => UNRELIABLE,
        sys::IBV_QPT_UD => DATAGRAM,
        _ => 0,
    };
    let unknown = wanted & !known;
    if unknown == 0 {
        return Ok(());
    }
    Err(unsupported(format!(
        "cannot create a queue pair of type {qp_type} with the operations {unknown:#x}: this type lacks them"
    )))
}

/// The requests that a thread builds.
#[derive(Default)]
pub(crate) struct Builder {
    held: Held,
    /// Accessed only by the thread that holds the lock.
    content: UnsafeCell<Content>,
}

#[derive(Default)]
struct Content {
    requests: Vec<Request>,
    segments: Vec<Sge>,
    /// Inline data, which is copied at once: the program may reuse its memory.
    bytes: Vec<u8>,
    /// A fault that `ibv_wr_complete` reports.
    failure: Option<Failure>,
}

/// A request that is built. Its local memory is a part of the segments or of the bytes.
struct Request {
    wr_id: u64,
    flags: SendFlags,
    operation: SendOperation<'static>,
    segments: (usize, usize),
    bytes: Option<(usize, usize)>,
    destination: Option<Destination<'static>>,
}

/// The functions of the header.
pub(crate) fn fill(qp: &mut ibv_qp_ex, _wanted: u64) {
    qp.wr_atomic_cmp_swp = Some(compare_swap);
    qp.wr_atomic_fetch_add = Some(fetch_add);
    qp.wr_bind_mw = Some(bind);
    qp.wr_local_inv = Some(local_invalidate);
    qp.wr_rdma_read = Some(read);
    qp.wr_rdma_write = Some(write);
    qp.wr_rdma_write_imm = Some(write_immediate);
    qp.wr_send = Some(send);
    qp.wr_send_imm = Some(send_immediate);
    qp.wr_send_inv = Some(send_invalidate);
    qp.wr_send_tso = Some(segmented);
    qp.wr_set_ud_addr = Some(set_destination);
    qp.wr_set_xrc_srqn = Some(set_shared_receive);
    qp.wr_set_inline_data = Some(set_inline);
    qp.wr_set_inline_data_list = Some(set_inline_list);
    qp.wr_set_sge = Some(set_segment);
    qp.wr_set_sge_list = Some(set_segments);
    qp.wr_start = Some(start);
    qp.wr_complete = Some(complete);
    qp.wr_abort = Some(abort);
    qp.wr_atomic_write = Some(atomic_write);
}

/// The request that the thread builds.
///
/// # Safety
/// The queue pair must be alive, and the thread between start and complete; the result is used until the call returns.
unsafe fn content<'a>(qp: *mut ibv_qp_ex) -> &'a mut Content {
    // SAFETY: the caller guarantees a live queue pair; the field never changes its place.
    let cell = unsafe { (*qp.cast::<Qp>()).builder.content.get() };
    // SAFETY: only the thread that holds the lock accesses it.
    unsafe { &mut *cell }
}

/// Begins a request.
///
/// # Safety
/// As [`content`].
unsafe fn begin(qp: *mut ibv_qp_ex, operation: SendOperation<'static>) {
    // SAFETY: the caller guarantees the same.
    let content = unsafe { content(qp) };
    // SAFETY: the program sets both fields before the call, and no other thread accesses them.
    let wr_id = unsafe { (*qp).wr_id };
    // SAFETY: as above.
    let flags = unsafe { (*qp).wr_flags };
    // The call that sets data decides whether it is inline.
    let flags = SendFlags::from_bits_truncate(flags) - SendFlags::INLINE;
    let segments = (content.segments.len(), 0);
    content.requests.push(Request {
        wr_id,
        flags,
        operation,
        segments,
        bytes: None,
        destination: None,
    });
}

/// Changes the newest request.
///
/// # Safety
/// As [`content`].
unsafe fn change(
    qp: *mut ibv_qp_ex,
    change: impl FnOnce(&mut Request, &mut Vec<Sge>, &mut Vec<u8>) -> Result<()>,
) {
    // SAFETY: the caller guarantees the same.
    let Content { requests, segments, bytes, failure } = unsafe { content(qp) };
    let newest = given(requests.last_mut(), "a request that ibv_wr_* begins");
    let changed = newest.and_then(|request| change(request, segments, bytes));
    *failure = failure.or(changed.err());
}

unsafe extern "C" fn start(qp: *mut ibv_qp_ex) {
    // SAFETY: the caller guarantees a live queue pair.
    unsafe { &(*qp.cast::<Qp>()).builder.held }.take();
    // SAFETY: the thread now holds the lock.
    unsafe { content(qp) }.clear();
}

impl Content {
    fn clear(&mut self) {
        self.requests.clear();
        self.segments.clear();
        self.bytes.clear();
        self.failure = None;
    }
}

unsafe extern "C" fn abort(qp: *mut ibv_qp_ex) {
    // SAFETY: the caller guarantees a live queue pair.
    unsafe { &(*qp.cast::<Qp>()).builder.held }.release();
}

unsafe extern "C" fn complete(qp: *mut ibv_qp_ex) -> c_int {
    let posted = guard::run(|| {
        // SAFETY: the thread holds the lock.
        let content = unsafe { content(qp) };
        // SAFETY: the caller guarantees a live queue pair.
        let core = unsafe { &(*qp.cast::<Qp>()).core };
        if let Some(failure) = content.failure {
            return Err(failure);
        }
        for request in &content.requests {
            let inline;
            let data = match request.bytes {
                Some((start, length)) => {
                    let bytes = &content.bytes[start..start + length];
                    let length = in_range(length, "the length of inline data")?;
                    inline = [Sge {
                        address: bytes.as_ptr().expose_provenance() as u64,
                        length,
                        key: 0,
                    }];
                    // SAFETY: the bytes live until the post returns.
                    Data::Inline(unsafe { Inline::from_segments(&inline) })
                }
                None => {
                    let (start, length) = request.segments;
                    Data::Segments(&content.segments[start..start + length])
                }
            };
            core.post_send(&SendRequest {
                wr_id: request.wr_id,
                operation: request.operation,
                flags: request.flags,
                data,
                destination: request.destination,
            })?;
        }
        Ok(())
    });
    // SAFETY: the caller guarantees a live queue pair.
    unsafe { &(*qp.cast::<Qp>()).builder.held }.release();
    posted.err().map_or(0, |Failure(errno)| errno)
}

/// Functions that begin a request.
macro_rules! operations {
    ($($name:ident($($argument:ident: $type:ty),*) = $operation:expr;)+) => {$(
        unsafe extern "C" fn $name(qp: *mut ibv_qp_ex, $($argument: $type),*) {
            // SAFETY: the program calls it between start and complete.
            unsafe { begin(qp, $operation) };
        }
    )+};
}

operations! {
    compare_swap(key: u32, address: u64, compare: u64, swap: u64) =
        SendOperation::CompareSwap { remote: Remote { address, key }, compare, swap };
    fetch_add(key: u32, address: u64, add: u64) =
        SendOperation::FetchAdd { remote: Remote { address, key }, add };
    local_invalidate(key: u32) = SendOperation::LocalInvalidate(key);
    read(key: u32, address: u64) = SendOperation::Read(Remote { address, key });
    write(key: u32, address: u64) = SendOperation::Write(Remote { address, key });
    write_immediate(key: u32, address: u64, immediate: u32) =
        SendOperation::WriteWithImmediate(Remote { address, key }, immediate);
    send() = SendOperation::Send;
    send_immediate(immediate: u32) = SendOperation::SendWithImmediate(immediate);
    send_invalidate(key: u32) = SendOperation::SendWithInvalidate(key);
}

unsafe extern "C" fn bind(
    qp: *mut ibv_qp_ex,
    mw: *mut ibv_mw,
    key: u32,
    info: *const ibv_mw_bind_info,
) {
    // SAFETY: the program passes a live window, which it keeps until complete.
    let window = unsafe { window::core(mw) };
    // SAFETY: the program passes the structure.
    let info = unsafe { &*info };
    // SAFETY: its region is alive until complete.
    let bind = unsafe { window::bind_of(info) };
    // SAFETY: the program calls it between start and complete.
    unsafe { begin(qp, SendOperation::Bind { window, key, bind }) };
}

/// Operations that the device does not have; complete reports them.
macro_rules! refused {
    ($($name:ident($($type:ty),+);)+) => {$(
        unsafe extern "C" fn $name(qp: *mut ibv_qp_ex, $(_: $type),+) {
            // SAFETY: the program calls it between start and complete.
            let failure = unsafe { &mut content(qp).failure };
            let text = concat!("cannot post: the device lacks the operation of ", stringify!($name));
            *failure = failure.or_else(|| Some(unsupported(text)));
        }
    )+};
}

refused! {
    segmented(*mut c_void, u16, u16);
    atomic_write(u32, u64, *const c_void);
    set_shared_receive(u32);
}

/// Appends inline data to the data of the request.
///
/// # Safety
/// There must be this number of bytes.
unsafe fn copy(request: &mut Request, bytes: &mut Vec<u8>, address: *const c_void, length: size_t) {
    let (start, before) = request.bytes.unwrap_or((bytes.len(), 0));
    if length > 0 {
        // SAFETY: the caller guarantees the bytes.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(address.cast(), length) });
    }
    request.bytes = Some((start, before + length));
}

/// Functions that change the newest request, its segments and its inline data.
macro_rules! settings {
    ($($name:ident($($argument:ident: $type:ty),+) = |$request:ident, $segments:ident, $bytes:ident| $change:block)+) => {$(
        unsafe extern "C" fn $name(qp: *mut ibv_qp_ex, $($argument: $type),+) {
            let change = |$request: &mut Request, $segments: &mut Vec<Sge>, $bytes: &mut Vec<u8>| -> Result<()> {
                $change
                Ok(())
            };
            // SAFETY: the program calls it between start and complete.
            unsafe { self::change(qp, change) };
        }
    )+};
}

settings! {
    set_destination(ah: *mut ibv_ah, number: u32, key: u32) = |request, _segments, _bytes| {
        // SAFETY: the program passes a live address handle, which it keeps until complete.
        let address = unsafe { address_handle::core(ah) };
        request.destination = Some(Destination { address, number, key });
    }
    set_segment(key: u32, address: u64, length: u32) = |request, segments, _bytes| {
        request.segments = (segments.len(), 1);
        segments.push(Sge { address, length, key });
    }
    set_segments(count: size_t, list: *const ibv_sge) = |request, segments, _bytes| {
        let count = in_range(count, "the number of segments")?;
        // SAFETY: the program passes this number of segments.
        let list = unsafe { post::segments(list, count) }?;
        request.segments = (segments.len(), list.len());
        segments.extend_from_slice(list);
    }
    set_inline(address: *mut c_void, length: size_t) = |request, _segments, bytes| {
        // SAFETY: the program passes this number of bytes.
        unsafe { copy(request, bytes, address, length) };
    }
    set_inline_list(count: size_t, list: *const ibv_data_buf) = |request, _segments, bytes| {
        // An empty list is empty data.
        request.bytes = Some((bytes.len(), 0));
        for index in 0..count {
            // SAFETY: the program passes this number of pieces.
            let piece = unsafe { list.wrapping_add(index).read() };
            // SAFETY: the program passes this number of bytes.
            unsafe { copy(request, bytes, piece.addr, piece.length) };
        }
    }
}
