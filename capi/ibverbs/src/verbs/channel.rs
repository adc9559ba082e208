//! Completion channels and their events (ibv_create_comp_channel(3), ibv_get_cq_event(3)).

use std::ffi::{c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use dat_soft_verbs::CompletionChannel;
use rdma_verbs::sys::verbs::{ibv_comp_channel, ibv_context, ibv_cq};

use super::{completion_queue, context};
use crate::guard;
use crate::object::{self, fields_of};

#[repr(C)]
struct Channel {
    c: ibv_comp_channel,
    core: Arc<CompletionChannel>,
}

fields_of!(ibv_comp_channel as Channel: core: Arc<CompletionChannel>);

/// Creates a channel, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_comp_channel(
    context: *mut ibv_context,
) -> *mut ibv_comp_channel {
    guard::object(|| {
        // SAFETY: the caller guarantees an open context.
        let core = unsafe { context::core(context) }.create_channel()?;
        let c = ibv_comp_channel { context, fd: core.descriptor().as_raw_fd(), refcnt: 0 };
        Ok(object::create(|_| Ok(Channel { c, core }))?.cast())
    })
}

/// Destroys a channel: 0 or an errno, `EBUSY` while it has completion queues.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live channel.
        unsafe { core(channel) }.destroy()?;
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(channel.cast::<Channel>()) };
        Ok(())
    })
}

/// Takes an event, and waits for one unless the descriptor is non-blocking: 0, or -1 with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut ibv_comp_channel,
    cq: &mut MaybeUninit<*mut ibv_cq>,
    cq_context: &mut MaybeUninit<*mut c_void>,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees a live channel.
        let core = unsafe { core(channel) };
        let count = |user| {
            // SAFETY: a queue with an event is alive, and is not destroyed until the event is acknowledged.
            unsafe { completion_queue::completion_events(object::at(user)) }.take();
        };
        let user = core.next_counted(count)?;
        let queue: *mut ibv_cq = object::at(user);
        cq.write(queue);
        // SAFETY: the queue is alive; the field never changes.
        cq_context.write(unsafe { (*queue).cq_context });
        Ok(0)
    })
}

/// Acknowledges events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_ack_cq_events(cq: *mut ibv_cq, number: c_uint) {
    // SAFETY: the caller guarantees a live queue.
    unsafe { completion_queue::completion_events(cq) }.acknowledge(number);
}
