//! rdma_create_qp(3).

use std::sync::Arc;

use rdma_verbs::cm::{CmQueuePairInit, PortSpace};
use rdma_verbs::verbs::{
    Access, Capabilities, CompletionQueue, CompletionStatus, Operation, ProtectionDomain,
    QueuePairState, QueuePairType, RequestData, SendRequest, devices,
};

use crate::common::*;

#[test]
fn it_is_of_the_identifier_and_moved_for_sending_and_receiving() {
    with_device(|address| {
        let (active, passive) = connected(address, None);
        for id in [&active, &passive] {
            let queue_pair = id.queue_pair().expect("made");
            assert_eq!(queue_pair.state(), Ok(QueuePairState::ReadyToSend));
        }
        disconnect(active, passive);
    });
}

#[test]
fn the_domain_is_optional() {
    with_device(|address| {
        let (without, with) = (bound(address, PortSpace::Tcp), bound(address, PortSpace::Tcp));
        without.create_queue_pair(None, &INIT).expect("a queue pair");
        let domain = ProtectionDomain::new(&with.context().expect("bound")).expect("a domain");
        with.create_queue_pair(Some(&domain), &INIT).expect("a queue pair");
        assert_eq!(with.domain().expect("given"), domain);
        assert_eq!(with.queue_pair().expect("made").domain(), &domain);
        assert_ne!(without.domain().expect("the default one"), domain);
    });
}

#[test]
fn an_unsupported_size_is_an_error_with_its_errno() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let capabilities = Capabilities { max_send_sge: u32::MAX >> 1, ..SIZE };
        let refused = id.create_queue_pair(None, &CmQueuePairInit { capabilities, ..INIT });
        assert_ne!(refused.expect_err("too many segments").errno, 0);
        assert!(id.queue_pair().is_none());
        id.create_queue_pair(None, &INIT).expect("nothing is left of the first");
    });
}

#[test]
fn an_unbound_identifier_gets_no_queue_pair() {
    with_device(|_| {
        let id = synchronous(PortSpace::Tcp);
        let refused = id.create_queue_pair(None, &INIT).expect_err("unbound");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn domain_and_queues_must_belong_to_the_same_device() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        // To the library, the same device opened again is another device.
        let other = devices().expect("devices").first().expect("one").open().expect("opened");
        let domain = ProtectionDomain::new(&other).expect("a domain");
        let refused = id.create_queue_pair(Some(&domain), &INIT).expect_err("not of the device");
        assert_eq!(refused.errno, libc::EINVAL);
        let queue = CompletionQueue::new(&other, 16, 1, None).expect("a queue");
        let init = CmQueuePairInit { send_queue: Some(&queue), ..INIT };
        let refused = id.create_queue_pair(None, &init).expect_err("not of the device");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn its_states_follow_the_connection() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        assert_eq!(id.queue_pair().expect("made").state(), Ok(QueuePairState::Init));
        let (active, passive) = connected(address, None);
        let queue_pair = active.queue_pair().expect("made");
        assert_eq!(queue_pair.state(), Ok(QueuePairState::ReadyToSend));
        disconnect(active, passive);
        assert_eq!(queue_pair.state(), Ok(QueuePairState::Error));
    });
}

#[test]
fn receives_can_be_posted_before_there_is_a_connection() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        for number in 0..u64::from(SIZE.max_recv_wr) {
            queue_pair.post_receive(number, &[]).expect("posted before there is a connection");
        }
        let early = SendRequest::new(1, Operation::Send, RequestData::Segments(&[]));
        let refused = queue_pair.post_send(&early).expect_err("there is no connection");
        assert_eq!(refused.errno, libc::ENOTCONN);
    });
}

#[test]
fn an_unconnected_one_can_send_right_after() {
    with_device(|address| {
        let id = bound(address, PortSpace::Udp);
        id.create_queue_pair(None, &DATAGRAMS).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        queue_pair.post_receive(1, &[]).expect("posted");
        assert_eq!(queue_pair.state(), Ok(QueuePairState::ReadyToSend));
    });
}

#[test]
fn without_a_domain_the_queue_pair_uses_the_default_one() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let domain = id.domain().expect("the default one");
        assert_eq!(id.queue_pair().expect("made").domain(), &domain);
        region(&domain, 64, Access::LOCAL_WRITE);
    });
}

#[test]
fn a_device_has_one_default_domain() {
    with_device(|address| {
        let ids = [(); 2].map(|()| bound(address, PortSpace::Tcp));
        for id in &ids {
            id.create_queue_pair(None, &INIT).expect("a queue pair");
        }
        let [one, other] = ids.each_ref().map(|id| id.domain().expect("the default one"));
        assert_eq!(one, other);
    });
}

#[test]
fn the_attributes_say_what_it_is() {
    with_device(|address| {
        let id = synchronous(PortSpace::Ib);
        id.resolve_address(None, address, LIMIT).expect("resolved");
        let queue_pair_type = QueuePairType::Uc;
        id.create_queue_pair(None, &CmQueuePairInit::new(queue_pair_type, SIZE))
            .expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        assert_eq!(queue_pair.queue_pair_type(), queue_pair_type);
        assert!(queue_pair.capabilities().max_send_wr >= SIZE.max_send_wr);
    });
}

#[test]
fn completion_queues_can_be_given() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let context = id.context().expect("bound");
        let queue = CompletionQueue::new(&context, 16, 1, None).expect("a queue");
        let init =
            CmQueuePairInit { send_queue: Some(&queue), receive_queue: Some(&queue), ..INIT };
        id.create_queue_pair(None, &init).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        assert!(Arc::ptr_eq(queue_pair.receive_queue(), &queue));
        queue_pair.post_receive(3, &[]).expect("posted");
        queue_pair.set_error().expect("in error");
        let flushed = completion(&queue);
        assert_eq!((flushed.id, flushed.status), (3, CompletionStatus::Flushed));
    });
}

#[test]
fn queues_that_are_not_given_are_created_with_channels() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        let queues = [
            (queue_pair.send_queue(), SIZE.max_send_wr),
            (queue_pair.receive_queue(), SIZE.max_recv_wr),
        ];
        for (queue, least) in queues {
            assert!(queue.depth() >= least);
            assert!(queue.channel().is_some());
            queue.arm(false).expect("it can be waited for");
        }
    });
}

#[test]
fn completions_are_taken_through_the_identifier() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        assert!(id.queue_pair().is_none());
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        queue_pair.post_receive(9, &[]).expect("posted");
        queue_pair.set_error().expect("in error");
        drop(queue_pair);
        assert_eq!(id.receive_completion().expect("flushed").id, 9);
    });
}

#[test]
fn the_granted_size_is_returned() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let got = id.create_queue_pair(None, &INIT).expect("a queue pair");
        assert!(got.max_send_wr >= SIZE.max_send_wr, "{got:?}");
        assert!(got.max_recv_wr >= SIZE.max_recv_wr, "{got:?}");
        assert!(got.max_send_sge >= SIZE.max_send_sge, "{got:?}");
        assert!(got.max_recv_sge >= SIZE.max_recv_sge, "{got:?}");
        assert!(got.max_inline_data >= SIZE.max_inline_data, "{got:?}");
    });
}

#[test]
fn an_identifier_has_at_most_one_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let refused = id.create_queue_pair(None, &INIT).expect_err("the second");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}
