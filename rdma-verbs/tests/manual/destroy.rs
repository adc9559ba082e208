//! rdma_destroy_id(3), rdma_destroy_qp(3), rdma_destroy_ep(3), rdma_destroy_srq(3) and
//! rdma_destroy_event_channel(3).

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use rdma_verbs::cm::{CmId, EventKind, PortSpace};
use rdma_verbs::verbs::SharedReceiveAttributes;

use crate::common::*;

const SHARED: SharedReceiveAttributes =
    SharedReceiveAttributes { max_receives: 4, max_segments: 1, limit: 0 };

#[test]
fn a_dropped_identifier_cancels_its_operation() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        // The resolution takes seconds, because no host of the network has the address.
        let away = match address {
            SocketAddr::V4(v4) => {
                let [a, b, c, _] = v4.ip().octets();
                SocketAddr::from(([a, b, c, 250], 1))
            }
            v6 => v6,
        };
        id.resolve_address(None, away, Duration::from_secs(600)).expect("it begins");
        drop(id);
        channel.set_nonblocking().expect("its descriptor");
        std::thread::sleep(Duration::from_millis(200));
        assert!(channel.take_event().expect_err("no event of it").would_block());
    });
}

#[test]
fn a_drop_never_fails() {
    with_device(|address| {
        for space in [PortSpace::Tcp, PortSpace::Udp] {
            for _ in 0..20 {
                drop(synchronous(space));
                drop(bound(address, space));
            }
        }
    });
}

#[test]
fn a_handle_of_the_queue_pair_keeps_the_identifier() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        drop(id);
        queue_pair.post_receive(1, &[]).expect("its handle keeps the identifier");
        drop(queue_pair);
    });
}

#[test]
fn a_taken_event_does_not_block_the_drop_of_its_identifier() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        let event = expect(&channel, EventKind::AddressResolved);
        // In C this would wait for an acknowledgement that this thread gives later.
        drop(id);
        assert_eq!(event.key, 1, "the event is a copy");
    });
}

#[test]
fn a_queue_pair_is_destroyed_and_another_one_created() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        assert_eq!(id.destroy_queue_pair().expect_err("none").errno, libc::EINVAL);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        id.destroy_queue_pair().expect("destroyed");
        assert!(id.queue_pair().is_none());
        id.create_queue_pair(None, &INIT).expect("another one");
    });
}

#[test]
fn a_queue_pair_in_use_is_not_destroyed() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair().expect("made");
        assert_eq!(id.destroy_queue_pair().expect_err("in use").errno, libc::EBUSY);
        let queue = Arc::clone(queue_pair.send_queue());
        drop(queue_pair);
        assert_eq!(id.destroy_queue_pair().expect_err("its queue is").errno, libc::EBUSY);
        drop(queue);
        id.destroy_queue_pair().expect("destroyed");
    });
}

#[test]
fn a_dropped_endpoint_frees_its_port_number() {
    with_device(|address| {
        let (passive, at) = passive_endpoint(address, None, Some(&INIT));
        drop(passive);
        let (again, same) = passive_endpoint(at, None, Some(&INIT));
        assert_eq!(same, at, "the port is free again");
        drop(again);
    });
}

#[test]
fn a_dropped_endpoint_destroys_its_queue_pair_and_shared_receive_queue() {
    with_device(|address| {
        let at = SocketAddr::new(address.ip(), 4_791);
        for _ in 0..20 {
            let id = CmId::create_endpoint(&resolve(at, false), None, None).expect("an identifier");
            drop(id.create_shared_receive_queue(None, SHARED).expect("a queue"));
            id.create_queue_pair(None, &INIT).expect("a queue pair");
        }
    });
}

#[test]
fn a_shared_receive_queue_is_destroyed_and_another_one_created() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let missing = id.destroy_shared_receive_queue().expect_err("none");
        assert_eq!(missing.errno, libc::EINVAL);
        let queue = id.create_shared_receive_queue(None, SHARED).expect("a queue");
        let second = id.create_shared_receive_queue(None, SHARED).expect_err("the second");
        assert_eq!(second.errno, libc::EINVAL);
        let busy = id.destroy_shared_receive_queue().expect_err("in use");
        assert_eq!(busy.errno, libc::EBUSY);
        drop(queue);
        id.destroy_shared_receive_queue().expect("destroyed");
        id.create_shared_receive_queue(None, SHARED).expect("another one");
    });
}

#[test]
fn a_handle_of_the_shared_receive_queue_keeps_the_identifier() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let queue = id.create_shared_receive_queue(None, SHARED).expect("a queue");
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let busy = id.destroy_shared_receive_queue().expect_err("the queue pair uses it");
        assert_eq!(busy.errno, libc::EBUSY);
        drop(id);
        queue.post_receive(1, &[]).expect("its handle keeps the identifier");
    });
}

#[test]
fn a_dropped_channel_closes_its_descriptor() {
    with_device(|_| {
        // Another thread may open a channel with the same number right away, but not each time.
        let is_closed = (0..50).any(|_| {
            let channel = new_channel();
            let link = format!("/proc/self/fd/{}", channel.as_fd().as_raw_fd());
            let before = std::fs::read_link(&link).expect("open");
            // Of soft-verbs it is an eventfd(2).
            let is_soft = before.as_os_str() == "anon_inode:[eventfd]";
            assert!(is_soft || before.ends_with("rdma_cm"), "{before:?}");
            drop(channel);
            std::fs::read_link(&link).map_or(true, |now| now != before)
        });
        assert!(is_closed);
    });
}

#[test]
fn identifiers_keep_their_channel() {
    with_device(|address| {
        let channel = new_channel();
        let id = CmId::new(&channel, 1, PortSpace::Tcp).expect("an identifier");
        id.resolve_address(None, address, LIMIT).expect("it begins");
        let weak = Arc::downgrade(&channel);
        drop(channel);
        let channel = weak.upgrade().expect("the identifier keeps it");
        expect(&channel, EventKind::AddressResolved);
        drop((id, channel));
        assert!(weak.upgrade().is_none(), "closed after the last identifier");
    });
}
