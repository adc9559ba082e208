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

fn requested_multipath_may_be_ignored() {
    let node = Node::new();
    let psp = node.psp();
    let (client, server) = (node.ep(), node.ep());
    let mut connect = Connect::to(node.address(), psp.qualifier());
    connect.flags = ConnectFlags::MULTIPATH;
    client.connect(&connect).expect("a wish can't be refused");
    expect_request(&node.requests).request.accept(Some(&server), b"").expect("unconnected");
    expect_connections(&node.connect, &[&server, &client], ConnectionEventKind::Established);
    if node.ia.provider_attributes().supports_multipath {
        assert!(SINGLE.contains(&state(&client)));
    } else {
        assert_eq!(state(&client), EpState::Connected);
    }
    exchange(&node, &client, &server);
}

fn required_multipath_needs_support() {
    let node = Node::new();
    let psp = node.psp();
    let client = node.ep();
    for flags in [
        ConnectFlags::MULTIPATH_REQUIRED,
        ConnectFlags::MULTIPATH_REQUIRED | ConnectFlags::MULTIPATH,
    ] {
        let mut connect = Connect::to(node.address(), psp.qualifier());
        connect.flags = flags;
        if node.ia.provider_attributes().supports_multipath {
            // Whether several paths exist depends on the network.
            let ep = node.ep();
            ep.connect(&connect).expect("supported");
            continue;
        }
        refused(client.connect(&connect), ReturnType::ModelNotSupported);
        assert_eq!(state(&client), EpState::Unconnected);
        expect_no_event(&node.requests);
        expect_no_event(&node.connect);
    }
}

fn unknown_connect_flags_are_refused() {
    let node = Node::new();
    let psp = node.psp();
    let client = node.ep();
    for bits in [0x4, 0x8000_0000, 0x5] {
        let mut connect = Connect::to(node.address(), psp.qualifier());
        connect.flags = ConnectFlags::from_bits_retain(bits);
        refused(client.connect(&connect), Subtype::InvalidArg8);
        assert_eq!(state(&client), EpState::Unconnected);
    }
    expect_no_event(&node.requests);
}

fn a_duplicate_inherits_the_flags() {
    let node = Node::new();
    let psp = node.psp();
    let mut connect = Connect::to(node.address(), psp.qualifier());
    connect.flags = ConnectFlags::MULTIPATH;
    let (first, second) = (node.ep(), node.ep());
    let servers = [node.ep(), node.ep()];
    first.connect(&connect).expect("a wish can't be refused");
    expect_request(&node.requests).request.accept(Some(&servers[0]), b"").expect("unconnected");
    expect_connections(&node.connect, &[&servers[0], &first], ConnectionEventKind::Established);
    second.dup_connect(&first, Timeout::Infinite, b"", Qos::BEST_EFFORT).expect("connected");
    let arrival = expect_request(&node.requests);
    assert_eq!(arrival.qualifier, psp.qualifier());
    arrival.request.accept(Some(&servers[1]), b"").expect("unconnected");
    expect_connections(&node.connect, &[&servers[1], &second], ConnectionEventKind::Established);
    exchange(&node, &second, &servers[1]);
}
