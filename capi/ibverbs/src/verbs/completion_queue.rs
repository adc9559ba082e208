//! Completion queues (ibv_create_cq(3), ibv_poll_cq(3)).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use dat_soft_verbs::{CompletionQueue, WorkCompletion};
use rdma_verbs::sys::completion_ex::{IBV_CQ_ATTR_MODERATE, ibv_cq_ex, ibv_modify_cq_attr};
use rdma_verbs::sys::verbs::{ibv_comp_channel, ibv_context, ibv_cq, ibv_wc};

use super::acknowledged::Unacknowledged;
use super::held::Held;
use super::{channel, context};
use crate::guard::{self, Failure, Result, in_range, invalid, unsupported};
use crate::object::{self, Zero, fields_of, write_field};

/// A completion queue. All are extended in memory; only those that were created as such have the functions.
#[repr(C)]
pub(crate) struct Cq {
    pub(crate) c: ibv_cq_ex,
    pub(crate) core: Arc<CompletionQueue>,
    completion_events: Unacknowledged,
    async_events: Unacknowledged,
    /// From `ibv_start_poll` to `ibv_end_poll`.
    pub(crate) polling: Held,
    /// The completion that the functions `ibv_wc_read_*` read.
    pub(crate) current: WorkCompletion,
    /// When it was taken, by the monotonic clock and the real-time clock, if the program requested times.
    pub(crate) times: [u64; 2],
    /// True if the program requested times.
    pub(crate) is_timed: bool,
}

// The program's array of completions is filled in place.
const _: () = assert!(size_of::<ibv_wc>() == size_of::<WorkCompletion>());
const _: () = assert!(align_of::<ibv_wc>() == align_of::<WorkCompletion>());

fields_of!(
    ibv_cq as Cq: core: Arc<CompletionQueue>, completion_events: Unacknowledged, async_events: Unacknowledged
);

/// Creates a queue.
///
/// # Safety
/// The context and the channel, if there is one, must be alive.
pub(crate) unsafe fn create(
    context: *mut ibv_context,
    depth: u32,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: u32,
) -> Result<*mut Cq> {
    if vector != 0 {
        return Err(invalid(format!(
            "cannot create a completion queue with the vector {vector}: the device has only vector 0"
        )));
    }
    // SAFETY: the caller guarantees an open context.
    let owner = unsafe { context::core(context) };
    let events = match channel.is_null() {
        true => None,
        // SAFETY: the caller guarantees a live channel.
        false => Some(unsafe { channel::core(channel) }),
    };
    object::create(|user| {
        let core = owner.create_completion_queue(depth, user, events)?;
        let mut c = ibv_cq_ex::zero();
        c.context = context;
        c.channel = channel;
        c.cq_context = cq_context;
        c.cqe = c_int::try_from(core.depth()).unwrap_or(c_int::MAX);
        Ok(Cq {
            c,
            core,
            completion_events: Unacknowledged::default(),
            async_events: Unacknowledged::default(),
            polling: Held::default(),
            current: WorkCompletion::default(),
            times: [0; 2],
            is_timed: false,
        })
    })
}

/// Creates a queue, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: c_int,
) -> *mut ibv_cq {
    guard::object(|| {
        let depth = in_range(cqe, "the size of a completion queue")?;
        let vector = in_range(vector, "the vector of a completion queue")?;
        // SAFETY: the caller guarantees both.
        Ok(unsafe { create(context, depth, cq_context, channel, vector) }?.cast())
    })
}

/// Destroys a queue, after all its events have been acknowledged: 0 or an errno, `EBUSY` while queue pairs use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue.
        unsafe { core(cq) }.destroy()?;
        // SAFETY: as above.
        unsafe { completion_events(cq) }.wait();
        // SAFETY: as above.
        unsafe { async_events(cq) }.wait();
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(cq.cast::<Cq>()) };
        Ok(())
    })
}

/// Changes the size of a queue: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_resize_cq(cq: *mut ibv_cq, cqe: c_int) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue.
        let core = unsafe { core(cq) };
        core.resize(in_range(cqe, "the size of a completion queue")?)?;
        let depth = c_int::try_from(core.depth()).unwrap_or(c_int::MAX);
        write_field!(cq, cqe = depth);
        Ok(())
    })
}

/// The operation of `ibv_poll_cq`: the number of completions, or a negative number.
pub(crate) unsafe extern "C" fn poll(cq: *mut ibv_cq, count: c_int, into: *mut ibv_wc) -> c_int {
    let polled = guard::run(|| {
        let count = in_range(count, "the number of completions to poll")?;
        if count == 0 {
            return Ok(0);
        }
        // SAFETY: the caller guarantees memory for this number of completions. Every bit pattern is valid, and it is
        // the program's memory, so the compiler knows nothing of its content.
        let into = unsafe { std::slice::from_raw_parts_mut(into.cast::<WorkCompletion>(), count) };
        // SAFETY: the caller guarantees a live queue.
        Ok(unsafe { core(cq) }.poll(into) as c_int)
    });
    polled.unwrap_or_else(|Failure(errno)| -errno)
}

/// The operation of `ibv_req_notify_cq`.
pub(crate) unsafe extern "C" fn request_notification(
    cq: *mut ibv_cq,
    solicited_only: c_int,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live queue.
        Ok(unsafe { core(cq) }.request_notification(solicited_only != 0)?)
    })
}

/// The operation of `ibv_modify_cq`. Moderation limits how often events may be made; here each request makes one.
pub(crate) unsafe extern "C" fn modify(
    _cq: *mut ibv_cq,
    attributes: *mut ibv_modify_cq_attr,
) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees the structure.
        let attributes = unsafe { &*attributes };
        if attributes.attr_mask & !IBV_CQ_ATTR_MODERATE != 0 {
            return Err(invalid("cannot modify a completion queue: attr_mask has unknown bits"));
        }
        let moderate = attributes.moderate;
        if attributes.attr_mask != 0 && (moderate.cq_count, moderate.cq_period) != (0, 0) {
            return Err(unsupported(
                "cannot modify a completion queue: its events are not moderated",
            ));
        }
        Ok(())
    })
}
