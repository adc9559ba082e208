//! The attributes of queue pairs.

use rdma_verbs::cm::PortSpace;
use rdma_verbs::verbs::{Access, Mtu, QueuePairState, Service};

use crate::common::*;
use crate::objects::open;

#[test]
fn a_connection_reports_both_sides_as_they_were_set() {
    with_device(|address| {
        let (_, port, domain) = open(address);
        let (one, other) = crate::posts::pair(address, port, &domain, None);
        let attributes = one.query().expect("its attributes");
        assert_eq!(attributes.state, QueuePairState::ReadyToSend);
        assert_eq!((attributes.key, attributes.port), (3, port));
        assert!(attributes.capabilities.max_send_wr >= 8);
        let Service::Connected(access) = attributes.service else { panic!("a connection") };
        assert!(access.contains(Access::REMOTE_READ | Access::REMOTE_WRITE), "{access:?}");
        let receives = attributes.receive_side;
        assert_eq!((receives.peer, receives.mtu), (other.number(), Mtu::Bytes1024));
        assert_eq!((receives.responder_resources, receives.rnr_timer), (1, 12));
        assert!(receives.address.route.is_some(), "{receives:?}");
        let sends = attributes.send_side;
        assert_eq!((sends.timeout, sends.retry_count, sends.rnr_retry_count), (14, 7, 7));
        assert_eq!((attributes.alternate_path, attributes.all_signaled), (None, false));
        one.set_error().expect("in error");
        assert_eq!(one.query().expect("its attributes").state, QueuePairState::Error);
    });
}

#[test]
fn datagrams_are_reported_with_their_queue_key() {
    with_device(|address| {
        let id = bound(address, PortSpace::Udp);
        id.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
        let attributes = id.queue_pair().expect("made").query().expect("its attributes");
        assert_eq!(attributes.state, QueuePairState::ReadyToSend);
        assert_eq!(attributes.service, Service::Datagram(0x0123_4567));
        assert_eq!(attributes.receive_side.peer, 0);
    });
}
