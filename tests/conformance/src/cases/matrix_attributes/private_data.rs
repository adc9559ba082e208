//! The private data and the timeout of a connection.

use std::time::Duration;

use super::bounds::{refused_with, small};
use crate::prelude::*;

/// Checks that private data arrived as sent, followed by zeros only.
pub(super) fn private_data_of_a_request_reach_the_limit() {
    let node = small();
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    let data: Vec<u8> = (1..=200).cycle().take(most + 1).collect();
    let psp = node.psp();
    let address = node.address();
    let socket = node.socket(5_151);
    let can_ask_commonly = HAS_2_0 && address.ip().is_some();
    let csp = can_ask_commonly.then(|| node.csp(socket.port()));
    let to = Connect::to(address, psp.qualifier());
    let (base, request) = node.asking(psp.qualifier());
    let server = node.ep();
    request.accept(Some(&server), b"").expect("unconnected");
    becomes(&base, EpState::Connected);
    type Call<'a> = &'a dyn Fn(&Ep, &[u8]) -> Result<()>;
    let calls: [(Call<'_>, Subtype); 3] = [
        (&|ep, data| ep.connect(&to.clone().private_data(data)), Subtype::InvalidArg5),
        (
            &|ep, data| ep.dup_connect(&base, Timeout::Infinite, data, Default::default()),
            Subtype::InvalidArg4,
        ),
        (&|ep, data| ep.common_connect(socket, Timeout::Infinite, data), Subtype::InvalidArg4),
    ];
    for (call, argument) in calls.into_iter().take(if can_ask_commonly { 3 } else { 2 }) {
        let ep = node.ep();
        refused_with(call(&ep, &data), argument, &[&"private data", &(most + 1), &most]);
        assert_eq!(state(&ep), EpState::Unconnected);
        expect_no_event(&node.requests);
        call(&ep, &data[..most]).expect("within the bound");
        let request = expect_request(&node.requests).request;
        arrived(&request.query().expect("waiting").private_data, &data[..most]);
    }
    drop((psp, csp));
}

pub(super) fn private_data_of_an_answer_reach_the_limit() {
    let node = small();
    let most = node.ia.provider_attributes().max_private_data_size as usize;
    let data: Vec<u8> = (1..=200).cycle().take(most + 1).collect();
    let psp = node.psp();
    let (client, request) = node.asking(psp.qualifier());
    let server = node.ep_of(&EpSpec::new(&node.pz));
    let result = request.accept(Some(&server), &data);
    refused_with(result, Subtype::InvalidArg3, &[&"private data", &(most + 1), &most]);
    assert_eq!(state(&server), EpState::Unconnected);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    request.accept(Some(&server), &data[..most]).expect("within the bound");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::Established);
    arrived(&event.private_data, &data[..most]);
    if !HAS_2_0 {
        return;
    }
    let (client, request) = node.asking(psp.qualifier());
    let result = request.reject(&data);
    refused_with(result, Subtype::InvalidArg2, &[&"private data", &(most + 1), &most]);
    assert_eq!(state(&client), EpState::ActiveConnectionPending);
    request.reject(&data[..most]).expect("within the bound");
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::PeerRejected);
    arrived(&event.private_data, &data[..most]);
}

pub(super) fn a_timeout_is_positive() {
    let node = small();
    let psp = node.psp();
    let (base, _server) = node.pair();
    let to = Connect::to(node.address(), psp.qualifier());
    let socket = node.socket(5_252);
    let ep = node.ep();
    let zero = Timeout::ZERO;
    for (result, argument) in [
        Some((ep.connect(&to.clone().timeout(zero)), Subtype::InvalidArg4)),
        Some((ep.dup_connect(&base, zero, b"", Default::default()), Subtype::InvalidArg3)),
        HAS_2_0.then(|| (ep.common_connect(socket, zero, b""), Subtype::InvalidArg3)),
    ]
    .into_iter()
    .flatten()
    {
        refused_with(result, argument, &[&"timeout", &0]);
        assert_eq!(state(&ep), EpState::Unconnected);
    }
    expect_no_event(&node.requests);
    ep.connect(&to.timeout(Duration::from_micros(1))).expect("the shortest there is");
    expect_connection(&node.connect, &ep, ConnectionEventKind::TimedOut);
    assert_eq!(state(&ep), EpState::Disconnected);
}
