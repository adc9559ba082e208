//! Event dispatchers: the list of the cases, and what they share.

mod descriptor;
mod overflow;
mod queue;
mod waiting;

use crate::prelude::*;
use descriptor::*;
use overflow::*;
use queue::*;
use waiting::*;

cases! {
    "dat_evd_create(3DAT)":
        what_can_not_be_made_is_refused_and_takes_no_room,
        completions_within_the_length_are_never_lost,
        an_overflow_of_completions_is_reported_once_until_it_is_drained,
        an_overflow_by_requests_is_reported_once_until_it_is_drained,
        connection_events_are_kept_beyond_the_length_and_the_overflow_reported;
    "dat_evd_free(3DAT)":
        it_is_freed_once_and_not_used_again;
    "dat_evd_post_se(3DAT)":
        software_events_come_in_order_until_the_queue_is_full,
        software_events_need_their_flag;
    "dat_evd_dequeue(3DAT)":
        an_empty_queue_gives_nothing_and_leaves_the_storage_alone,
        each_event_is_delivered_once_however_many_threads_dequeue;
    "dat_evd_wait(3DAT)":
        a_wait_of_no_time_polls,
        a_time_out_passes_and_tells_how_many_there_are,
        thresholds_that_can_never_be_met_are_refused,
        a_waiter_is_woken_at_its_threshold_not_before,
        the_threshold_counts_events_of_all_streams,
        there_is_one_waiter_and_it_owns_the_dispatcher,
        after_a_time_out_the_dispatcher_is_free_again,
        waits_and_dequeues_in_turn_take_each_completion_in_order,
        no_wake_up_is_lost_to_a_waiter,
        unsignalled_completions_wake_nobody_and_signalled_ones_do,
        an_error_notifies_also_when_the_post_is_unsignalled;
    "dat_evd_set_unwaitable(3DAT), dat_evd_clear_unwaitable(3DAT)":
        an_unwaitable_dispatcher_is_not_waited_on_and_otherwise_as_before,
        it_returns_also_when_the_dispatcher_is_waitable_again_before_it_looks;
    "dat_evd_resize(3DAT)":
        a_resize_keeps_what_is_queued,
        a_resize_keeps_completions_too;
    "dat_ep_disconnect(3DAT)":
        completions_come_before_the_disconnect_on_one_dispatcher;
    "reading: the descriptor of an event dispatcher":
        an_armed_descriptor_shows_the_next_event,
        an_armed_descriptor_shows_completions_and_connection_events,
        a_freed_dispatcher_shows_at_its_armed_descriptor,
        a_waited_dispatcher_can_not_be_armed,
        no_wake_up_is_lost_to_a_producer_of_software_events,
        no_wake_up_is_lost_to_a_producer_of_completions;
    "dat_evd_query(3DAT)":
        the_query_tells_how_it_was_made;
    "dat_evd_set_unwaitable(3DAT)":
        a_blocked_waiter_returns_when_the_dispatcher_becomes_unwaitable;
}

fn software(qlen: u32) -> EventDispatcher {
    open("").evd_create(&EvdOptions::new(qlen, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

/// Starts a thread that waits on the dispatcher; returns when it does.
#[track_caller]
fn waiter(evd: &EventDispatcher, threshold: u32) -> Background<Result<(Waited, Event)>> {
    let thread = Background::with(evd, move |evd| {
        let mut event = Event::default();
        evd.wait(LIMIT.into(), threshold, &mut event).map(|waited| (waited, event))
    });
    until("the thread waits", || {
        // The queue is below the threshold, so the call fails only if a thread owns the dispatcher.
        evd.wait(Timeout::ZERO, evd.query().expect("live").qlen, &mut Event::default()).is_err()
    });
    thread
}

/// Starts a thread that posts software events 0, 1, 2 and so on, and retries while the queue is full.
fn produce(evd: &EventDispatcher, events: u64) -> Background<()> {
    let evd = evd.clone();
    Background::run(move || {
        for value in 0..events {
            while evd.post_se(value).is_err() {
                std::thread::yield_now();
            }
            if value % 7 == 0 {
                std::thread::yield_now();
            }
        }
    })
}

/// An endpoint without a dispatcher for requests.
fn silent(node: &Node) -> Endpoint {
    let spec = EpSpec::new(&node.pz).recv_evd(&node.recv).connect_evd(&node.connect);
    node.ia.ep_create(&spec).expect("an endpoint")
}
