//! The completion flags of endpoints that share a dispatcher (dat_ep_create(3DAT), USAGE, and
//! dat_ep_create_with_srq(3DAT), USAGE).

use crate::prelude::*;

cases! {
    "dat_ep_create(3DAT)":
        by_default_any_number_of_streams_share_a_dispatcher,
        unsignalled_streams_share_a_dispatcher_only_with_each_other,
        unsignalled_requests_exclude_other_receives,
        solicited_receives_share_a_dispatcher_only_with_each_other,
        threshold_streams_share_a_dispatcher_only_with_each_other,
        the_two_streams_of_one_endpoint_must_match_on_one_dispatcher,
        on_separate_dispatchers_every_stream_has_its_own_mode,
        a_dispatcher_of_other_streams_allows_only_the_threshold_mode,
        the_mode_of_a_freed_endpoint_no_longer_applies;
    "dat_ep_create_with_srq(3DAT)":
        endpoints_with_a_shared_queue_follow_the_same_rules;
    "dat_evd_wait(3DAT)":
        a_threshold_above_1_needs_the_default_completion_mode;
}

const UNSIGNALLED: CompletionFlags = CompletionFlags::UNSIGNALLED;
const SOLICITED: CompletionFlags = CompletionFlags::SOLICITED_WAIT;
const THRESHOLD: CompletionFlags = CompletionFlags::EVD_THRESHOLD;

/// A node with a further dispatcher for completions.
fn dispatcher() -> (Node, Evd) {
    let node = Node::new();
    let evd = node.evd(EvdFlags::DTO);
    (node, evd)
}

/// An endpoint whose receives complete on a dispatcher, in a mode.
fn receiving(node: &Node, evd: &Evd, flags: CompletionFlags) -> Result<Ep> {
    let attributes = node.attributes_with(|it| it.recv_completion_flags = flags);
    node.ia.ep_create(&EpSpec::new(&node.pz).recv_evd(evd).attributes(&attributes))
}

/// An endpoint whose requests complete on a dispatcher, in a mode.
fn requesting(node: &Node, evd: &Evd, flags: CompletionFlags) -> Result<Ep> {
    let attributes = node.attributes_with(|it| it.request_completion_flags = flags);
    node.ia.ep_create(&EpSpec::new(&node.pz).request_evd(evd).attributes(&attributes))
}

/// An endpoint with both its streams on a dispatcher.
pub(super) fn both(
    node: &Node,
    evd: &Evd,
    recv: CompletionFlags,
    request: CompletionFlags,
) -> Result<Ep> {
    let spec = node.spec_with(|it| {
        it.recv_completion_flags = recv;
        it.request_completion_flags = request;
    });
    node.ia.ep_create(&spec.recv_evd(evd).request_evd(evd))
}

#[track_caller]
fn no_match(made: Result<Ep>, name: &str) {
    refused_naming(made, Subtype::InvalidArg6, name);
}

fn by_default_any_number_of_streams_share_a_dispatcher() {
    let (node, evd) = dispatcher();
    let eps = [
        receiving(&node, &evd, NONE),
        requesting(&node, &evd, NONE),
        both(&node, &evd, NONE, NONE),
        // The threshold flag is the default, given explicitly.
        receiving(&node, &evd, THRESHOLD),
        both(&node, &evd, NONE, THRESHOLD),
    ]
    .map(|made| made.expect("all in one mode"));
    let param = evd.query().expect("a live dispatcher");
    assert!(!param.config_notify && !param.config_solicited);
    for ep in eps {
        ep.free().expect("unconnected");
    }
    node.finish_with(&[&evd]);
}

fn unsignalled_streams_share_a_dispatcher_only_with_each_other() {
    let (node, evd) = dispatcher();
    let first = receiving(&node, &evd, UNSIGNALLED).expect("the first decides");
    for flags in [NONE, THRESHOLD, SOLICITED] {
        no_match(receiving(&node, &evd, flags), "recv_completion_flags");
    }
    for flags in [NONE, THRESHOLD] {
        no_match(requesting(&node, &evd, flags), "request_completion_flags");
        no_match(both(&node, &evd, UNSIGNALLED, flags), "request_completion_flags");
        no_match(both(&node, &evd, flags, UNSIGNALLED), "recv_completion_flags");
    }
    let second = receiving(&node, &evd, UNSIGNALLED).expect("the same mode");
    let third = requesting(&node, &evd, UNSIGNALLED).expect("the same mode");
    let fourth = both(&node, &evd, UNSIGNALLED, UNSIGNALLED).expect("the same mode");
    assert!(evd.query().expect("a live dispatcher").config_notify);
    node.finish_with(&[&first, &second, &third, &fourth, &evd]);
}

fn unsignalled_requests_exclude_other_receives() {
    let node = Node::new();
    let evd = node.evd(EvdFlags::COMPLETIONS);
    let first = requesting(&node, &evd, UNSIGNALLED).expect("the first decides");
    for flags in [NONE, THRESHOLD, SOLICITED] {
        no_match(receiving(&node, &evd, flags), "recv_completion_flags");
    }
    let error = receiving(&node, &evd, SOLICITED).expect_err("another mode");
    for name in ["DAT_COMPLETION_SOLICITED_WAIT_FLAG", "DAT_COMPLETION_UNSIGNALLED_FLAG"] {
        assert!(error.reason().contains(name), "{name} is to be named: {error}");
    }
    receiving(&node, &evd, UNSIGNALLED).expect("the same mode").free().expect("unconnected");
    node.finish_with(&[&first, &evd]);
}

fn solicited_receives_share_a_dispatcher_only_with_each_other() {
    let (node, evd) = dispatcher();
    let first = receiving(&node, &evd, SOLICITED).expect("the first decides");
    for flags in [NONE, THRESHOLD, UNSIGNALLED] {
        no_match(receiving(&node, &evd, flags), "recv_completion_flags");
        // Requests have no such mode, so they need another dispatcher.
        no_match(requesting(&node, &evd, flags), "request_completion_flags");
        no_match(both(&node, &evd, SOLICITED, flags), "request_completion_flags");
    }
    let second = receiving(&node, &evd, SOLICITED).expect("the same mode");
    assert!(evd.query().expect("a live dispatcher").config_solicited);
    node.finish_with(&[&first, &second, &evd]);
}

fn threshold_streams_share_a_dispatcher_only_with_each_other() {
    let (node, evd) = dispatcher();
    for first_flags in [NONE, THRESHOLD] {
        let first = receiving(&node, &evd, first_flags).expect("the first decides");
        for flags in [UNSIGNALLED, SOLICITED] {
            no_match(receiving(&node, &evd, flags), "recv_completion_flags");
        }
        no_match(requesting(&node, &evd, UNSIGNALLED), "request_completion_flags");
        first.free().expect("unconnected");
    }
    node.finish_with(&[&evd]);
}

fn the_two_streams_of_one_endpoint_must_match_on_one_dispatcher() {
    let (node, evd) = dispatcher();
    no_match(both(&node, &evd, UNSIGNALLED, NONE), "request_completion_flags");
    no_match(both(&node, &evd, SOLICITED, UNSIGNALLED), "request_completion_flags");
    no_match(both(&node, &evd, THRESHOLD, UNSIGNALLED), "request_completion_flags");
    both(&node, &evd, UNSIGNALLED, UNSIGNALLED).expect("match").free().expect("unconnected");
    both(&node, &evd, THRESHOLD, NONE).expect("match").free().expect("unconnected");
    node.finish_with(&[&evd]);
}

fn on_separate_dispatchers_every_stream_has_its_own_mode() {
    let node = Node::new();
    let ep = node.ep_with(|it| {
        it.recv_completion_flags = SOLICITED;
        it.request_completion_flags = UNSIGNALLED;
    });
    assert!(node.recv.query().expect("live").config_solicited);
    assert!(node.request.query().expect("live").config_notify);
    node.finish_with(&[&ep]);
}

fn a_dispatcher_of_other_streams_allows_only_the_threshold_mode() {
    let node = Node::new();
    for other in [
        EvdFlags::SOFTWARE,
        EvdFlags::CONNECTION_REQUEST,
        EvdFlags::CONNECTION,
        EvdFlags::ASYNC,
        EvdFlags::all() - EvdFlags::COMPLETIONS,
    ] {
        let evd = node.evd(EvdFlags::COMPLETIONS | other);
        for flags in [UNSIGNALLED, SOLICITED] {
            no_match(receiving(&node, &evd, flags), "recv_completion_flags");
        }
        no_match(requesting(&node, &evd, UNSIGNALLED), "request_completion_flags");
        for flags in [NONE, THRESHOLD] {
            receiving(&node, &evd, flags).expect("threshold").free().expect("unconnected");
            requesting(&node, &evd, flags).expect("threshold").free().expect("unconnected");
        }
        evd.free().expect("unused");
    }
    node.finish();
}

fn the_mode_of_a_freed_endpoint_no_longer_applies() {
    let (node, evd) = dispatcher();
    let first = receiving(&node, &evd, UNSIGNALLED).expect("no stream is bound");
    let second = receiving(&node, &evd, UNSIGNALLED).expect("the same mode");
    first.free().expect("unconnected");
    no_match(receiving(&node, &evd, SOLICITED), "recv_completion_flags");
    drop(second);
    let third = receiving(&node, &evd, SOLICITED).expect("no stream is bound any more");
    third.free().expect("unconnected");
    receiving(&node, &evd, NONE).expect("nor now").free().expect("unconnected");
    let param = evd.query().expect("a live dispatcher");
    assert!(!param.config_notify && !param.config_solicited);
    node.finish_with(&[&evd]);
}

fn endpoints_with_a_shared_queue_follow_the_same_rules() {
    let (node, evd) = dispatcher();
    let srq = node.srq(4);
    let with = |flags| {
        let spec = node.spec_with(|it| it.recv_completion_flags = flags);
        node.ia.ep_create(&spec.recv_evd(&evd).srq(&srq))
    };
    let first = with(THRESHOLD).expect("the first decides");
    assert!(with(UNSIGNALLED).is_err() && with(SOLICITED).is_err());
    no_match(requesting(&node, &evd, UNSIGNALLED), "request_completion_flags");
    first.free().expect("unconnected");
    let second = with(SOLICITED).expect("no stream is bound any more");
    assert!(with(THRESHOLD).is_err() && with(NONE).is_err());
    node.finish_with(&[&second, &srq, &evd]);
}

fn a_threshold_above_1_needs_the_default_completion_mode() {
    let (node, evd) = dispatcher();
    let mut event = Event::default();
    for (flags, subtype) in [
        (UNSIGNALLED, Subtype::InvalidStateEvdConfigNotify),
        (SOLICITED, Subtype::InvalidStateEvdConfigSolicited),
    ] {
        let ep = receiving(&node, &evd, flags).expect("an endpoint");
        refused(evd.wait(Timeout::ZERO, 2, &mut event), subtype);
        assert!(!evd.wait(Timeout::ZERO, 1, &mut event).expect("1 is possible").is_event());
        ep.free().expect("unconnected");
    }
    let ep = receiving(&node, &evd, THRESHOLD).expect("an endpoint");
    assert!(!evd.wait(Timeout::ZERO, 2, &mut event).expect("any threshold").is_event());
    node.finish_with(&[&ep, &evd]);
}
