//! rdma_get_request(3).

use std::net::SocketAddr;
use std::time::Duration;

use rdma_verbs::cm::{ConnectParameters, EventKind, Parameters, PortSpace};

use crate::common::*;

/// Requests a connection in a thread, which ends when the request is answered.
fn ask(at: SocketAddr, data: &'static [u8]) -> std::thread::JoinHandle<rdma_verbs::Result<()>> {
    std::thread::spawn(move || {
        let wanted = ConnectParameters {
            private_data: data,
            responder_resources: 3,
            initiator_depth: 2,
            ..ConnectParameters::default()
        };
        active_endpoint(at).connect(&wanted)
    })
}

#[test]
fn take_request_returns_the_next_request() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, None);
        for data in [&b"one"[..], b"two"] {
            let asking = ask(at, data);
            let request = passive.take_request().expect("a request");
            let event = request.last_event().expect("that of the request");
            assert_eq!(event.private_data[..3], *data);
            request.reject(&[]).expect("answered");
            assert!(asking.join().expect("the active side").is_err());
        }
    });
}

#[test]
fn take_request_blocks_until_there_is_a_request() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, None);
        let waiting = std::thread::spawn(move || passive.take_request().expect("a request"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "there is no request yet");
        let asking = ask(at, b"");
        let request = waiting.join().expect("the passive side");
        request.reject(&[]).expect("answered");
        assert!(asking.join().expect("the active side").is_err());
    });
}

#[test]
fn a_failure_is_an_error_with_its_errno() {
    with_device(|address| {
        let channel = new_channel();
        let (listening, _) = listener(&channel, address, 5, PortSpace::Tcp);
        let refused = listening.take_request().expect_err("asynchronous");
        assert_eq!((refused.call, refused.errno), ("rdma_get_request", libc::EINVAL));
    });
}

#[test]
fn only_synchronous_listeners_take_requests() {
    with_device(|address| {
        let channel = new_channel();
        let (listening, at) = listener(&channel, address, 5, PortSpace::Tcp);
        assert!(listening.take_request().is_err(), "asynchronous");
        listening.migrate(None).expect("synchronous");
        let asking = ask(at, b"");
        let request = listening.take_request().expect("a request");
        request.reject(&[]).expect("answered");
        assert!(asking.join().expect("the active side").is_err());
    });
}

#[test]
fn the_request_is_an_identifier_of_its_own() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        let asking = ask(at, b"");
        let request = passive.take_request().expect("a request");
        drop(passive);
        assert_eq!(request.local_port(), at.port());
        assert!(request.peer_address().is_some());
        request.accept(&ConnectParameters::default()).expect("established");
        asking.join().expect("the active side").expect("established");
    });
}

#[test]
fn the_event_is_kept_until_the_request_is_answered() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        let asking = ask(at, b"hello");
        let request = passive.take_request().expect("a request");
        for _ in 0..2 {
            let event = request.last_event().expect("that of the request");
            assert_eq!(event.kind, EventKind::ConnectRequest);
        }
        request.accept(&ConnectParameters::default()).expect("established");
        let event = request.last_event().expect("that of the acceptance");
        assert_eq!(event.kind, EventKind::Established);
        asking.join().expect("the active side").expect("established");
    });
}

#[test]
fn the_event_has_the_parameters_of_the_peer() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, None);
        let asking = ask(at, b"hello");
        let request = passive.take_request().expect("a request");
        let event = request.last_event().expect("that of the request");
        assert_eq!(event.private_data[..5], *b"hello");
        let Parameters::Connection { responder_resources, initiator_depth, .. } = event.parameters
        else {
            panic!("not of a connection");
        };
        assert_eq!((responder_resources, initiator_depth), (2, 3), "seen from this side");
        // Dropping the identifier rejects the request too.
        drop(request);
        assert!(asking.join().expect("the active side").is_err());
    });
}

#[test]
fn with_attributes_the_request_has_a_queue_pair() {
    with_device(|address| {
        for with in [false, true] {
            let (passive, at) = passive_endpoint(address, None, with.then_some(&INIT));
            let asking = ask(at, b"");
            let request = passive.take_request().expect("a request");
            assert_eq!(request.queue_pair().is_some(), with);
            request.reject(&[]).expect("answered");
            assert!(asking.join().expect("the active side").is_err());
        }
    });
}
