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
        a_refused_create_takes_no_resources,
        completions_within_the_length_are_never_lost,
        an_overflow_of_completions_is_reported_once_until_it_is_drained,
        an_overflow_by_requests_is_reported_once_until_it_is_drained,
        connection_events_beyond_the_length_are_kept_and_the_overflow_reported;
    "dat_evd_free(3DAT)":
        a_freed_dispatcher_is_refused;
    "dat_evd_post_se(3DAT)":
        software_events_come_in_order_until_the_queue_is_full,
        software_events_need_their_flag;
    "dat_evd_dequeue(3DAT)":
        an_empty_queue_leaves_the_event_untouched,
        each_event_is_delivered_once_however_many_threads_dequeue;
    "dat_evd_wait(3DAT)":
        a_wait_with_a_timeout_of_0_polls,
        a_timeout_elapses_and_returns_the_number_of_events,
        thresholds_above_the_queue_length_are_refused,
        a_waiter_wakes_at_its_threshold_and_not_before,
        the_threshold_counts_events_of_all_streams,
        a_waiter_has_exclusive_access,
        a_timeout_releases_the_dispatcher,
        waits_and_dequeues_in_turn_take_each_completion_in_order,
        no_wake_up_is_lost_to_a_waiter,
        only_signalled_completions_wake_a_waiter,
        an_error_notifies_also_when_the_post_is_unsignalled;
    "dat_evd_set_unwaitable(3DAT), dat_evd_clear_unwaitable(3DAT)":
        an_unwaitable_dispatcher_only_refuses_waits,
        a_blocked_waiter_returns_even_if_the_dispatcher_becomes_waitable_again;
    "dat_evd_resize(3DAT)":
        a_resize_keeps_software_events,
        a_resize_keeps_completions;
    "dat_ep_disconnect(3DAT)":
        completions_come_before_the_disconnect_on_one_dispatcher;
    "reading: the descriptor of an event dispatcher":
        the_next_event_makes_the_armed_descriptor_readable,
        completions_and_connection_events_make_the_armed_descriptor_readable,
        a_free_makes_the_armed_descriptor_readable,
        a_dispatcher_with_a_waiter_cannot_be_armed,
        no_wake_up_is_lost_to_a_producer_of_software_events,
        no_wake_up_is_lost_to_a_producer_of_completions;
    "dat_evd_query(3DAT)":
        a_query_returns_the_current_parameters;
    "dat_evd_set_unwaitable(3DAT)":
        a_blocked_waiter_returns_when_the_dispatcher_becomes_unwaitable;
}

fn software(qlen: u32) -> Evd {
    open("").evd_create(&EvdOptions::new(qlen, EvdFlags::SOFTWARE)).expect("a dispatcher")
}

/// Starts a thread that waits on the dispatcher; returns when it does.
#[track_caller]
fn owner(evd: &Evd, threshold: u32) -> Background<Result<(WaitResult, Event)>> {
    let thread = waiter(evd, threshold);
    until("the thread waits", || {
        // The queue is below the threshold, so the call fails only if a thread owns the dispatcher.
        evd.wait(Timeout::ZERO, evd.query().expect("live").qlen, &mut Event::default()).is_err()
    });
    thread
}

/// Starts a thread that posts software events 0, 1, 2 and so on, and retries while the queue is full.
fn produce(evd: &Evd, events: u64) -> Background<()> {
    Background::with(evd, move |evd| {
        for value in 0..events {
            while evd.post_software_event(value).is_err() {
                std::thread::yield_now();
            }
            if value % 7 == 0 {
                std::thread::yield_now();
            }
        }
    })
}
