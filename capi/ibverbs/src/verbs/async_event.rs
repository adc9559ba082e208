//! Asynchronous events (ibv_get_async_event(3)).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::without_provenance_mut;

use dat_soft_verbs::{AsyncElement, AsyncEventType};
use rdma_verbs::sys::verbs as sys;
use rdma_verbs::sys::verbs::{ibv_async_event, ibv_context, ibv_cq, ibv_qp, ibv_srq};

use super::acknowledged::Unacknowledged;
use super::{completion_queue, context, queue_pair, shared_receive};
use crate::guard;
use crate::object;

fn event_type(kind: AsyncEventType) -> u32 {
    match kind {
        AsyncEventType::CompletionQueueError => sys::IBV_EVENT_CQ_ERR,
        AsyncEventType::QueuePairFatal => sys::IBV_EVENT_QP_FATAL,
        AsyncEventType::QueuePairRequestError => sys::IBV_EVENT_QP_REQ_ERR,
        AsyncEventType::QueuePairAccessError => sys::IBV_EVENT_QP_ACCESS_ERR,
        AsyncEventType::CommunicationEstablished => sys::IBV_EVENT_COMM_EST,
        AsyncEventType::SendQueueDrained => sys::IBV_EVENT_SQ_DRAINED,
        AsyncEventType::SharedReceiveLimitReached => sys::IBV_EVENT_SRQ_LIMIT_REACHED,
        AsyncEventType::LastWorkRequestReached => sys::IBV_EVENT_QP_LAST_WQE_REACHED,
        _ => sys::IBV_EVENT_DEVICE_FATAL,
    }
}

/// The object of an event, or its port, in the field of C.
fn element(element: AsyncElement) -> *mut c_void {
    match element {
        AsyncElement::CompletionQueue(user)
        | AsyncElement::QueuePair(user)
        | AsyncElement::SharedReceiveQueue(user) => object::at(user),
        AsyncElement::Device => without_provenance_mut(0),
    }
}

/// The events of an object that the program has not acknowledged.
///
/// # Safety
/// The object must be alive.
unsafe fn of<'a>(element: AsyncElement) -> Option<&'a Unacknowledged> {
    match element {
        AsyncElement::CompletionQueue(user) => {
            // SAFETY: the caller guarantees a live queue.
            Some(unsafe { completion_queue::async_events(object::at(user)) })
        }
        AsyncElement::QueuePair(user) => {
            // SAFETY: the caller guarantees a live queue pair.
            Some(unsafe { queue_pair::async_events(object::at(user)) })
        }
        AsyncElement::SharedReceiveQueue(user) => {
            // SAFETY: the caller guarantees a live queue.
            Some(unsafe { shared_receive::async_events(object::at(user)) })
        }
        AsyncElement::Device => None,
    }
}

/// Takes an event, and waits for one unless the descriptor is non-blocking: 0, or -1 with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_async_event(
    context: *mut ibv_context,
    event: &mut MaybeUninit<ibv_async_event>,
) -> c_int {
    guard::number(|| {
        // SAFETY: the caller guarantees an open context.
        let events = unsafe { context::core(context) }.async_events();
        let taken = events.next_counted(|taken| {
            // SAFETY: an object with an event is alive, and is not destroyed until the event is acknowledged.
            if let Some(unacknowledged) = unsafe { of(taken.element) } {
                unacknowledged.take();
            }
        })?;
        event.write(ibv_async_event {
            element: element(taken.element),
            event_type: event_type(taken.kind),
        });
        Ok(0)
    })
}

/// Acknowledges an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_ack_async_event(event: &ibv_async_event) {
    let ibv_async_event { element, event_type } = *event;
    let unacknowledged = match event_type {
        // SAFETY: its object is alive until this acknowledgement.
        sys::IBV_EVENT_CQ_ERR => unsafe { completion_queue::async_events(element.cast::<ibv_cq>()) },
        // SAFETY: as above.
        sys::IBV_EVENT_SRQ_ERR | sys::IBV_EVENT_SRQ_LIMIT_REACHED => unsafe {
            shared_receive::async_events(element.cast::<ibv_srq>())
        },
        sys::IBV_EVENT_QP_FATAL
        | sys::IBV_EVENT_QP_REQ_ERR
        | sys::IBV_EVENT_QP_ACCESS_ERR
        | sys::IBV_EVENT_COMM_EST
        | sys::IBV_EVENT_SQ_DRAINED
        | sys::IBV_EVENT_PATH_MIG
        | sys::IBV_EVENT_PATH_MIG_ERR
        // SAFETY: as above.
        | sys::IBV_EVENT_QP_LAST_WQE_REACHED => unsafe { queue_pair::async_events(element.cast::<ibv_qp>()) },
        _ => return,
    };
    unacknowledged.acknowledge(1);
}
