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
        a_qualifier_without_a_listener_is_a_non_peer_reject,
        an_address_without_a_host_is_unreachable,
        the_unspecified_address_is_that_of_the_adapter,
        an_unanswered_attempt_times_out,
        an_answer_in_time_cancels_the_timeout,
        the_timeout_of_an_attempt_does_not_end_the_next,
        a_reject_by_the_consumer_is_a_peer_reject,
        an_accept_establishes_the_connection_with_one_event_per_side,
        invalid_arguments_are_refused_and_change_nothing,
        in_every_state_but_unconnected_a_connect_is_refused,
        an_endpoint_without_a_zone_does_not_connect;
    "dat_ep_dup_connect(3DAT)":
        a_duplicate_connects_to_the_same_service_point;
    "dat_ep_disconnect(3DAT)":
        the_state_decides_what_a_disconnect_does,
        abandoning_an_attempt_flushes_the_receives_and_voids_the_request,
        an_abrupt_disconnect_flushes_everything_in_posting_order_on_both_sides,
        receives_are_flushed_once_each_in_posting_order,
        a_graceful_disconnect_lets_requests_finish_first,
        an_abrupt_disconnect_overtakes_a_graceful_one,
        a_simultaneous_disconnect_gives_one_event_per_side,
        posts_that_race_with_a_disconnect_complete_once_each;
    "dat_ep_post_recv(3DAT)":
        an_error_breaks_the_connection_on_both_sides;
    "dat_ep_free(3DAT)":
        freeing_an_endpoint_ends_its_connection_for_the_peer,
        freeing_a_connecting_endpoint_abandons_the_attempt,
        an_endpoint_can_be_freed_unless_a_service_point_or_request_holds_it;
    "dat_ep_reset(3DAT)":
        only_unconnected_and_disconnected_endpoints_can_be_reset,
        a_reset_endpoint_can_connect_again,
        a_reset_keeps_queued_events,
        a_marker_posted_after_a_disconnect_is_flushed_last,
        late_events_of_a_connection_are_ignored_after_the_reset;
    "dat_ep_query(3DAT)":
        the_ports_are_known_from_the_connect_call_on;
}
