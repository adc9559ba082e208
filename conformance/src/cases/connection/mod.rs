//! Establishing and ending connections, with the events and states on both sides: the list of the cases,
//! and what they share.

mod attempts;
mod ends;
mod freeing;

use crate::prelude::*;
use attempts::*;
use ends::*;
use freeing::*;

cases! {
    "dat_ep_connect(3DAT)":
        without_a_listener_the_attempt_is_refused_by_nobody,
        without_a_host_it_is_unreachable,
        when_the_consumer_there_does_not_answer_it_times_out,
        an_answer_in_time_stops_the_clock,
        the_clock_of_an_attempt_has_no_hold_on_the_next_one,
        when_the_consumer_there_refuses_it_is_rejected_by_the_peer,
        accepted_it_stands_on_both_sides_with_one_event_each,
        arguments_that_can_not_be_are_refused_and_change_nothing,
        in_every_state_but_unconnected_a_connect_is_refused,
        an_endpoint_without_a_zone_does_not_connect;
    "dat_ep_dup_connect(3DAT)":
        a_duplicate_goes_where_the_original_went;
    "dat_ep_disconnect(3DAT)":
        a_disconnect_is_refused_without_effect_or_the_end_as_the_state_says,
        giving_an_attempt_up_flushes_the_receives_and_voids_the_request,
        an_abrupt_disconnect_flushes_everything_in_posting_order_on_both_sides,
        receives_are_flushed_in_posting_order_each_once,
        a_graceful_disconnect_lets_requests_finish_first,
        an_abrupt_disconnect_overtakes_a_graceful_one,
        both_sides_may_disconnect_at_once_and_get_one_event_each,
        posts_race_with_the_end_and_every_cookie_comes_back_once;
    "dat_ep_post_recv(3DAT)":
        an_error_breaks_the_connection_on_both_sides;
    "dat_ep_free(3DAT)":
        freeing_an_endpoint_ends_its_connection_for_the_peer,
        freeing_an_endpoint_that_connects_gives_the_attempt_up,
        an_endpoint_is_freed_in_every_state_in_which_nothing_decides_over_it;
    "dat_ep_reset(3DAT)":
        a_reset_is_possible_disconnected_and_unconnected_only,
        after_a_reset_an_endpoint_is_as_good_as_new,
        a_reset_drops_nothing_that_was_not_dequeued,
        the_marker_of_the_page_is_the_last_to_be_flushed,
        late_events_of_a_connection_are_ignored_after_the_reset;
    "dat_ep_query(3DAT)":
        the_ports_are_known_as_soon_as_it_connects;
}

#[track_caller]
fn listen(node: &Node) -> Psp {
    node.ia.psp_create_any(&node.requests, PspMaker::Consumer).expect("a service point")
}

/// Posts receives with the cookies 0 to 2.
#[track_caller]
fn post_receives(ep: &Endpoint) {
    for cookie in 0..3 {
        ep.post_recv(&[], cookie, NONE).expect("possible in every state");
    }
}

/// Takes the queued completions, which must all be flushes of the endpoint; returns their cookies.
#[track_caller]
fn flushed(evd: &EventDispatcher, ep: &Endpoint) -> Vec<u64> {
    drain(evd)
        .into_iter()
        .map(|event| match event {
            Event::Dto(completion) if completion.ep == ep.id() => {
                assert_eq!(completion.status, DtoStatus::Flushed, "{completion:?}");
                completion.cookie
            }
            other => panic!("no completion of {ep:?}: {other:?}"),
        })
        .collect()
}
