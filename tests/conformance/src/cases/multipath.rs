//! Connections over more than one path.

use crate::prelude::*;

cases! {
    "dat_ep_connect(3DAT)":
        requested_multipath_may_be_ignored,
        unknown_connect_flags_are_refused;
    "DAT 2.0, dat_ep_connect: DAT_CONNECT_MULTIPATH_REQUIRED_FLAG":
        required_multipath_needs_support;
    "dat_ep_dup_connect(3DAT)":
        a_duplicate_inherits_the_flags;
}

const SINGLE: [EpState; 3] =
    [EpState::Connected, EpState::ConnectedSinglePath, EpState::ConnectedMultiPath];

/// An attempt to connect to a service point of the node, with flags.
fn to(node: &Node, psp: &Psp, flags: ConnectFlags) -> Connect<'static> {
    Connect { flags, ..Connect::to(node.address(), psp.qualifier()) }
}

/// Accepts the next request on a new endpoint, which it returns; takes the events of both sides.
fn accept(node: &Node, client: &Ep, psp: &Psp) -> Ep {
    let server = node.ep();
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.qualifier, psp.qualifier());
    arrival.request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&server, client], ConnectionEventKind::Established);
    server
}

fn requested_multipath_may_be_ignored() {
    let (node, psp) = with_psp();
    let client = node.ep();
    let wish = to(&node, &psp, ConnectFlags::MULTIPATH);
    client.connect(&wish).expect("a wish can't be refused");
    let server = accept(&node, &client, &psp);
    if node.ia.provider_attributes().supports_multipath {
        assert!(SINGLE.contains(&state(&client)));
    } else {
        assert_eq!(state(&client), EpState::Connected);
    }
    exchange(&node, &client, &server);
}

fn required_multipath_needs_support() {
    let (node, psp) = with_psp();
    let client = node.ep();
    for flags in [
        ConnectFlags::MULTIPATH_REQUIRED,
        ConnectFlags::MULTIPATH_REQUIRED | ConnectFlags::MULTIPATH,
    ] {
        let connect = to(&node, &psp, flags);
        if node.ia.provider_attributes().supports_multipath {
            // The network decides whether several paths exist.
            let ep = node.ep();
            ep.connect(&connect).expect("supported");
            continue;
        }
        refused(client.connect(&connect), ReturnType::ModelNotSupported);
        assert_eq!(state(&client), EpState::Unconnected);
        expect_no_events(&[&node.requests, &node.connect]);
    }
}

fn unknown_connect_flags_are_refused() {
    let (node, psp) = with_psp();
    let client = node.ep();
    for bits in [0x4, 0x8000_0000, 0x5] {
        let connect = to(&node, &psp, ConnectFlags::from_bits_retain(bits));
        refused(client.connect(&connect), Subtype::InvalidArg8);
        assert_eq!(state(&client), EpState::Unconnected);
    }
    expect_no_event(&node.requests);
}

fn a_duplicate_inherits_the_flags() {
    let (node, psp) = with_psp();
    let (first, second) = (node.ep(), node.ep());
    let wish = to(&node, &psp, ConnectFlags::MULTIPATH);
    first.connect(&wish).expect("a wish can't be refused");
    let _server = accept(&node, &first, &psp);
    second.dup_connect(&first, Timeout::Infinite, b"", Qos::BEST_EFFORT).expect("connected");
    let server = accept(&node, &second, &psp);
    exchange(&node, &second, &server);
}
