//! rdma_create_ep(3).

use std::net::SocketAddr;
use std::sync::Arc;

use rdma_verbs::cm::{CmId, CmQueuePairInit, ConnectParameters, EventKind, PortSpace};
use rdma_verbs::verbs::{Capabilities, CompletionQueue, ProtectionDomain, SharedReceiveAttributes};

use crate::common::*;

#[test]
fn an_identifier_is_created_from_each_result_of_a_resolution() {
    with_device(|address| {
        let at = elsewhere(address);
        let info = resolve(at, false);
        let id = CmId::create_endpoint(&info, None, None).expect("an identifier");
        assert_eq!((id.port_space(), id.peer_port()), (Some(PortSpace::Tcp), at.port()));
        for entry in info.iter() {
            CmId::create_endpoint(entry, None, None).expect("of each result");
        }
    });
}

#[test]
fn domain_and_attributes_are_optional() {
    with_device(|address| {
        let at = elsewhere(address);
        for passive in [false, true] {
            let id = CmId::create_endpoint(&resolve(at, passive), None, None);
            assert!(id.expect("an identifier").queue_pair().is_none());
        }
    });
}

#[test]
fn a_failure_is_an_error_with_its_errno() {
    with_device(|address| {
        let (_listener, at) = passive_endpoint(address, None, None);
        let taken = CmId::create_endpoint(&resolve(at, true), None, None);
        assert_eq!(taken.expect_err("the port is taken").errno, libc::EADDRINUSE);
        let capabilities = Capabilities { max_send_wr: u32::MAX >> 1, ..SIZE };
        let init = CmQueuePairInit { capabilities, ..INIT };
        let made = CmId::create_endpoint(&resolve(at, false), None, Some(&init));
        assert_ne!(made.expect_err("too large").errno, 0);
    });
}

#[test]
fn the_active_side_has_its_queue_pair_at_once() {
    with_device(|address| {
        let at = elsewhere(address);
        let id = active_endpoint(at);
        let queue_pair = id.queue_pair().expect("made");
        queue_pair.post_receive(1, &[]).expect("posted");
    });
}

#[test]
fn the_queue_pair_belongs_to_the_given_domain_or_to_the_default_one() {
    with_device(|address| {
        let at = elsewhere(address);
        let device = bound(address, PortSpace::Tcp);
        let domain = ProtectionDomain::new(&device.context().expect("bound")).expect("a domain");
        let given = CmId::create_endpoint(&resolve(at, false), Some(&domain), Some(&INIT));
        assert_eq!(given.expect("whole").domain().expect("given"), domain);
        let left_out = active_endpoint(at);
        device.create_queue_pair(None, &INIT).expect("a queue pair");
        let default = device.domain().expect("the default one");
        assert_eq!(left_out.domain().expect("the default one"), default);
    });
}

#[test]
fn the_rules_of_rdma_create_qp_hold() {
    with_device(|address| {
        let at = elsewhere(address);
        let device = bound(address, PortSpace::Tcp).context().expect("bound");
        let domain = ProtectionDomain::new(&device).expect("a domain");
        let queue = CompletionQueue::new(&device, 16, 1, None).expect("a queue");
        let init = CmQueuePairInit { send_queue: Some(&queue), ..INIT };
        let id = CmId::create_endpoint(&resolve(at, false), Some(&domain), Some(&init));
        let id = id.expect("whole");
        let queue_pair = id.queue_pair().expect("made");
        assert!(Arc::ptr_eq(queue_pair.send_queue(), &queue), "given");
        assert!(queue_pair.receive_queue().channel().is_some(), "created");
        assert!(queue_pair.capabilities().max_recv_wr >= SIZE.max_recv_wr);
        let second = id.create_queue_pair(None, &INIT).expect_err("the second");
        assert_eq!(second.errno, libc::EINVAL);
        let alone = CmId::create_endpoint(&resolve(at, false), None, Some(&init));
        assert_eq!(alone.expect_err("a queue without its domain").errno, libc::EINVAL);
    });
}

#[test]
fn the_active_side_connects_without_further_calls() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        let active = connecting(at);
        let request = passive.take_request().expect("a request");
        request.accept(&ConnectParameters::default()).expect("established");
        let active = active.join().expect("the active side");
        assert_eq!(
            active.last_event().expect("rdma_connect keeps its event").kind,
            EventKind::Established
        );
        disconnect(active, request);
    });
}

#[test]
fn the_active_side_is_resolved() {
    with_device(|address| {
        let at = elsewhere(address);
        let id = CmId::create_endpoint(&resolve(at, false), None, None).expect("an identifier");
        assert!(id.context().is_some() && id.port() > 0);
        assert_eq!(id.peer_address(), Some(at));
    });
}

#[test]
fn the_passive_side_keeps_domain_and_attributes() {
    with_device(|address| {
        let device = bound(address, PortSpace::Tcp).context().expect("bound");
        let domain = ProtectionDomain::new(&device).expect("a domain");
        let queue = CompletionQueue::new(&device, 64, 1, None).expect("a queue");
        let init = CmQueuePairInit { receive_queue: Some(&queue), ..INIT };
        let (passive, at) = passive_endpoint(address, Some(&domain), Some(&init));
        assert!(passive.queue_pair().is_none(), "it has none itself");
        let kept = (Arc::downgrade(&domain), Arc::downgrade(&queue));
        drop((domain, queue));
        for _ in 0..2 {
            let active = std::thread::spawn(move || {
                active_endpoint(at).connect(&ConnectParameters::default()).expect_err("rejected");
            });
            let request = passive.take_request().expect("a request");
            let domain = kept.0.upgrade().expect("the listener keeps it");
            assert_eq!(request.domain().expect("kept"), domain);
            let queue_pair = request.queue_pair().expect("made");
            let queue = kept.1.upgrade().expect("the listener keeps it");
            assert!(Arc::ptr_eq(queue_pair.receive_queue(), &queue));
            drop(queue_pair);
            request.reject(&[]).expect("answered");
            drop(request);
            active.join().expect("the active side");
        }
    });
}

#[test]
fn a_request_has_a_queue_pair_with_the_attributes_of_its_listener() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        let active = connecting(at);
        let request = passive.take_request().expect("a request");
        let queue_pair = request.queue_pair().expect("made with the request");
        assert!(queue_pair.capabilities().max_recv_wr >= SIZE.max_recv_wr);
        queue_pair.post_receive(1, &[]).expect("posted before it is accepted");
        drop(queue_pair);
        request.accept(&ConnectParameters::default()).expect("established");
        disconnect(active.join().expect("the active side"), request);
    });
}

#[test]
fn the_passive_side_listens_without_further_calls() {
    with_device(|address| {
        let id = CmId::create_endpoint(&resolve(address, true), None, Some(&INIT));
        let id = id.expect("an identifier");
        id.listen(4).expect("at once");
        assert!(id.local_port() != 0);
    });
}

#[test]
fn the_passive_side_is_bound() {
    with_device(|address| {
        let at = SocketAddr::new(address.ip(), 0);
        let id = CmId::create_endpoint(&resolve(at, true), None, None).expect("an identifier");
        assert_eq!(id.local_address().map(|local| local.ip()), Some(address.ip()));
        assert!(id.bind(at).is_err(), "bound already");
    });
}

#[test]
fn requests_are_taken_one_after_the_other() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        for round in 0..2_u8 {
            let active = std::thread::spawn(move || {
                let id = active_endpoint(at);
                let data = [round; 3];
                let wanted = ConnectParameters { private_data: &data, ..Default::default() };
                id.connect(&wanted).expect("established");
                id
            });
            let request = passive.take_request().expect("a request");
            let event = request.last_event().expect("that of the request");
            assert_eq!(event.private_data[..3], [round; 3]);
            request.accept(&ConnectParameters::default()).expect("established");
            disconnect(active.join().expect("the active side"), request);
        }
    });
}

#[test]
fn an_endpoint_is_synchronous() {
    with_device(|address| {
        let at = elsewhere(address);
        for passive in [false, true] {
            let id = CmId::create_endpoint(&resolve(at, passive), None, None);
            assert!(id.expect("an identifier").is_synchronous());
        }
    });
}

#[test]
fn an_endpoint_is_asynchronous_after_its_migration_to_a_channel() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        let active = active_endpoint(at);
        let channel = new_channel();
        active.migrate(Some(&channel)).expect("moved");
        assert!(!active.is_synchronous());
        active.connect(&ConnectParameters::default()).expect("it begins, and returns at once");
        let request = passive.take_request().expect("a request");
        // accept waits for the last message of the peer, which sends it when its event is taken.
        let accepting = std::thread::spawn(move || request.accept(&ConnectParameters::default()));
        expect(&channel, EventKind::Established);
        accepting.join().expect("the passive side").expect("established");
    });
}

#[test]
fn a_dropped_endpoint_lives_until_its_last_handle_is_dropped() {
    with_device(|address| {
        let at = elsewhere(address);
        for _ in 0..20 {
            let id = CmId::create_endpoint(&resolve(at, false), None, None).expect("an identifier");
            let size = SharedReceiveAttributes { max_receives: 4, max_segments: 1, limit: 0 };
            id.create_shared_receive_queue(None, size).expect("a queue");
            id.create_queue_pair(None, &INIT).expect("a queue pair");
            let queue_pair = id.queue_pair().expect("made");
            drop(id);
            let shared = queue_pair.shared_receive_queue().expect("of the identifier");
            shared.post_receive(1, &[]).expect("the handle of the queue pair keeps it");
        }
    });
}
