//! Extended completion queues (ibv_create_cq_ex(3)): completions are read field by field.

use std::ffi::{c_int, c_uint};

use rdma_verbs::sys::completion_ex::{
    IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CQ_INIT_ATTR_MASK_PD, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, IBV_WC_STANDARD_FLAGS, ibv_cq_ex,
    ibv_cq_init_attr_ex, ibv_poll_cq_attr,
};
use rdma_verbs::sys::verbs::ibv_context;

use super::clock;
use super::completion_queue::{self, Cq};
use crate::guard::{self, Failure, invalid, unsupported};
use crate::object::write_field;

/// `IBV_CREATE_CQ_ATTR_SINGLE_THREADED` and `IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN`.
const FLAGS: u32 = 1 | 1 << 1;

/// The fields that can be requested.
const FIELDS: u64 = IBV_WC_STANDARD_FLAGS
    | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
    | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

/// The operation of `ibv_create_cq_ex`.
pub(crate) unsafe extern "C" fn create(
    context: *mut ibv_context,
    attributes: *mut ibv_cq_init_attr_ex,
) -> *mut ibv_cq_ex {
    guard::object(|| {
        // SAFETY: the caller guarantees the structure.
        let attributes = unsafe { &*attributes };
        if attributes.comp_mask & !(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) != 0 {
            return Err(invalid(format!(
                "cannot create a completion queue: comp_mask {:#x} has unknown bits",
                attributes.comp_mask
            )));
        }
        let has_flags = attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS != 0;
        if attributes.wc_flags & !FIELDS != 0 || has_flags && attributes.flags & !FLAGS != 0 {
            return Err(unsupported(format!(
                "cannot create a completion queue with wc_flags {:#x} and flags {:#x}: the device lacks some of them",
                attributes.wc_flags, attributes.flags
            )));
        }
        let (depth, vector) = (attributes.cqe, attributes.comp_vector);
        // SAFETY: the caller guarantees the context and the channel.
        let cq = unsafe {
            completion_queue::create(
                context,
                depth,
                attributes.cq_context,
                attributes.channel,
                vector,
            )
        }?;
        // SAFETY: it was just created, so no other thread has it.
        let whole = unsafe { &mut *cq };
        fill(&mut whole.c, attributes.wc_flags);
        whole.is_timed = attributes.wc_flags & !IBV_WC_STANDARD_FLAGS != 0;
        Ok(cq.cast())
    })
}

/// The functions of the header. Those of fields that were not requested exist, too.
fn fill(cq: &mut ibv_cq_ex, wanted: u64) {
    cq.start_poll = Some(start_poll);
    cq.next_poll = Some(next_poll);
    cq.end_poll = Some(end_poll);
    cq.read_opcode = Some(opcode);
    cq.read_vendor_err = Some(vendor_err);
    cq.read_byte_len = Some(byte_len);
    cq.read_imm_data = Some(imm_data);
    cq.read_qp_num = Some(qp_num);
    cq.read_src_qp = Some(src_qp);
    cq.read_wc_flags = Some(wc_flags);
    cq.read_slid = Some(slid);
    cq.read_sl = Some(sl);
    cq.read_dlid_path_bits = Some(dlid_path_bits);
    if wanted & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP != 0 {
        cq.read_completion_ts = Some(timestamp);
    }
    if wanted & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK != 0 {
        cq.read_completion_wallclock_ns = Some(wallclock);
    }
}

/// Takes the next completion: 0, or `ENOENT` if there is none.
///
/// # Safety
/// The queue must be alive, and the calling thread in a poll of it.
unsafe fn take(cq: *mut ibv_cq_ex) -> c_int {
    let whole = cq.cast::<Cq>();
    let taken = guard::run(|| {
        // SAFETY: the caller guarantees a live queue.
        let core = unsafe { &(*whole).core };
        // SAFETY: the thread polls, so no other one accesses the completion.
        let current = unsafe { &mut (*whole).current };
        if core.poll(std::slice::from_mut(current)) == 0 {
            return Err(Failure(libc::ENOENT));
        }
        let (status, wr_id) = (current.status.0, current.wr_id);
        write_field!(cq, status = status);
        write_field!(cq, wr_id = wr_id);
        // SAFETY: the queue is alive; the field never changes.
        if unsafe { (*whole).is_timed } {
            let times = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME].map(clock::nanoseconds);
            write_field!(whole, times = times);
        }
        Ok(())
    });
    taken.err().map_or(0, |Failure(errno)| errno)
}

unsafe extern "C" fn start_poll(cq: *mut ibv_cq_ex, attributes: *mut ibv_poll_cq_attr) -> c_int {
    // SAFETY: the caller guarantees the structure.
    if !attributes.is_null() && unsafe { (*attributes).comp_mask } != 0 {
        return libc::EINVAL;
    }
    // SAFETY: the caller guarantees a live queue.
    let polling = unsafe { &(*cq.cast::<Cq>()).polling };
    polling.take();
    // SAFETY: as above, and the thread now polls.
    let result = unsafe { take(cq) };
    if result != 0 {
        // After a failure the program does not call ibv_end_poll.
        polling.release();
    }
    result
}

unsafe extern "C" fn next_poll(cq: *mut ibv_cq_ex) -> c_int {
    // SAFETY: the program calls it in a poll.
    unsafe { take(cq) }
}

unsafe extern "C" fn end_poll(cq: *mut ibv_cq_ex) {
    // SAFETY: the caller guarantees a live queue.
    unsafe { &(*cq.cast::<Cq>()).polling }.release();
}

/// Functions that read a field of the current completion.
macro_rules! fields {
    ($($name:ident: $type:ty = |$completion:ident| $value:expr;)+) => {$(
        unsafe extern "C" fn $name(cq: *mut ibv_cq_ex) -> $type {
            // SAFETY: the program calls it in a poll, so no other thread accesses the completion.
            let $completion = unsafe { &(*cq.cast::<Cq>()).current };
            $value
        }
    )+};
}

fields! {
    opcode: c_uint = |wc| wc.opcode.0;
    vendor_err: u32 = |wc| wc.vendor_err;
    byte_len: u32 = |wc| wc.byte_len;
    imm_data: u32 = |wc| wc.imm_data;
    qp_num: u32 = |wc| wc.qp_num;
    src_qp: u32 = |wc| wc.src_qp;
    wc_flags: c_uint = |wc| wc.wc_flags;
    slid: u32 = |wc| wc.slid.into();
    sl: u8 = |wc| wc.sl;
    dlid_path_bits: u8 = |wc| wc.dlid_path_bits;
}

unsafe extern "C" fn timestamp(cq: *mut ibv_cq_ex) -> u64 {
    // SAFETY: as for the other fields.
    unsafe { (*cq.cast::<Cq>()).times[0] }
}

unsafe extern "C" fn wallclock(cq: *mut ibv_cq_ex) -> u64 {
    // SAFETY: as for the other fields.
    unsafe { (*cq.cast::<Cq>()).times[1] }
}
