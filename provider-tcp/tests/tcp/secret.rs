//! The secret that both sides must have (docs/provider-tcp.md, "What is protected"), and the reason of a
//! refusal.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use dat_conformance::{Node, exchange, expect_connection, expect_no_event, expect_request, link};
use dat_core::{Connect, ConnectionEventKind, EpProvision, EventText, RefusalCause};

use crate::common::node;

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dat-secret-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path
}

fn with(secret: Option<&PathBuf>) -> Node {
    node(&secret.map_or(String::new(), |path| format!("secret={}", path.display())))
}

#[test]
fn adapters_with_the_same_secret_connect() {
    let path = file("same", "a secret of twenty-four\n");
    let (near, far) = (with(Some(&path)), with(Some(&path)));
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    client.free().expect("live");
    server.free().expect("live");
    let (client, server) = near.pair();
    exchange(&near, &client, &server);
    std::fs::remove_file(path).expect("there");
}

#[test]
fn a_qualifier_without_a_listener_is_named() {
    let node = with(None);
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    let port = psp.qualifier();
    psp.free().expect("live");
    let client = node.ep();
    client.connect(&Connect::to(node.address(), port)).expect("an attempt");
    let refused = ConnectionEventKind::NonPeerRejected;
    let event = expect_connection(&node.connect, &client, refused);
    assert_eq!(event.cause, RefusalCause::NoListener);
}

/// As a process does that has ended, or has no descriptor for the connection.
#[test]
fn a_peer_that_closes_without_an_answer_is_not_taken_for_one_that_does_not_listen() {
    let node = with(None);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let client = node.ep();
    client.connect(&Connect::to(node.address(), u64::from(port))).expect("an attempt");
    drop(listener.accept().expect("a connection"));
    let event = expect_connection(&node.connect, &client, ConnectionEventKind::NonPeerRejected);
    assert_eq!(event.cause, RefusalCause::Closed);
    assert!(event.cause.text().is_some_and(|text| text.contains("closed it without an answer")));
}

#[test]
fn a_request_that_was_abandoned_before_it_was_accepted_is_named() {
    let node = with(None);
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    let (client, server) = (node.ep(), node.ep());
    client.connect(&Connect::to(node.address(), psp.qualifier())).expect("an attempt");
    let request = expect_request(&node.requests).request;
    client.free().expect("connecting");
    request.accept(Some(&server), &[]).expect("only the transport can see it");
    let failed = ConnectionEventKind::AcceptCompletionError;
    let event = expect_connection(&node.connect, &server, failed);
    assert_eq!(event.cause, RefusalCause::Abandoned);
    assert!(event.cause.text().is_some_and(|text| text.contains("had ended its attempt")));
}

#[test]
fn a_peer_without_the_same_secret_is_refused() {
    let (one, other) = (file("one", "a secret of someone"), file("other", "a secret of another"));
    for (near, far) in [(None, Some(&one)), (Some(&one), None), (Some(&one), Some(&other))] {
        let (near, far) = (with(near), with(far));
        let psp = far.ia.psp_create_any(&far.requests, EpProvision::Consumer).expect("a port");
        let client = near.ep();
        client.connect(&Connect::to(far.address(), psp.qualifier())).expect("an attempt");
        let refused = ConnectionEventKind::NonPeerRejected;
        let event = expect_connection(&near.connect, &client, refused);
        assert_eq!(event.cause, RefusalCause::Secret);
        let advice = EventText::from_number(refused.number()).advice;
        assert!(advice.contains("both sides need the same"), "{advice}");
        expect_no_event(&far.requests);
        psp.free().expect("live");
        // The listening adapter goes on.
        let (client, server) = far.pair();
        exchange(&far, &client, &server);
    }
    for path in [one, other] {
        std::fs::remove_file(path).expect("there");
    }
}
