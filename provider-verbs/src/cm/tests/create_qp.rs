//! rdma_create_qp(3).

use super::*;
use crate::sys::verbs as sys;

#[test]
fn without_a_binding_there_is_no_queue_pair() {
    with_device(|_| {
        let id = Id::new_synchronous(PortSpace::Tcp).expect("an identifier");
        let refused = id.create_queue_pair(None, &INIT).expect_err("unbound");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn the_default_domain_is_one_for_the_device() {
    with_device(|address| {
        let ids = [0, 1].map(|_| bound(address, PortSpace::Tcp));
        for id in &ids {
            id.create_queue_pair(None, &INIT).expect("a queue pair");
        }
        let [one, other] = ids.each_ref().map(|id| id.domain().expect("the default one").raw());
        assert_eq!(one, other);
    });
}

#[test]
fn a_given_domain_is_that_of_the_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let domain = ProtectionDomain::new(&id.context().expect("bound")).expect("a domain");
        let capabilities = id.create_queue_pair(Some(&domain), &INIT).expect("a queue pair");
        let queue_pair = id.queue_pair(capabilities).expect("made");
        assert_eq!(id.domain().expect("given").raw(), domain.raw());
        assert_eq!(queue_pair.domain().raw(), domain.raw());
    });
}

#[test]
fn a_domain_of_another_device_is_refused() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let all = devices().expect("the libraries").expect("the devices");
        // The same device opened again is another one to the library.
        let other = all.first().expect("a device").open().expect("opened");
        let domain = ProtectionDomain::new(&other).expect("a domain");
        let refused = id.create_queue_pair(Some(&domain), &INIT).expect_err("not of the device");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn queues_that_are_not_given_are_made_with_their_channels() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        assert!(id.queues().is_none());
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let [sends, receives] = id.queues().expect("made with it");
        assert!(sends.channel.is_some() && receives.channel.is_some());
        assert!(sends.queue.depth() >= CAPABILITIES.max_send_wr);
        assert!(receives.queue.depth() >= CAPABILITIES.max_recv_wr);
        sends.queue.arm(false).expect("it can be waited on");
    });
}

#[test]
fn given_queues_are_those_of_the_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let context = id.context().expect("bound");
        let queue = CompletionQueue::new(&context, 16, 1, None).expect("a queue");
        let init =
            IdQueuePairInit { send_queue: Some(&queue), receive_queue: Some(&queue), ..INIT };
        let capabilities = id.create_queue_pair(None, &init).expect("a queue pair");
        let queue_pair = id.queue_pair(capabilities).expect("made");
        queue_pair.post_receive(3, &[]).expect("posted");
        queue_pair.set_error().expect("in error");
        let mut done = [WorkCompletion::default()];
        while queue.poll(&mut done).expect("polled") == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(done[0].wr_id, 3);
    });
}

#[test]
fn the_capabilities_that_it_got_are_returned() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let got = id.create_queue_pair(None, &INIT).expect("a queue pair");
        assert!(got.max_send_wr >= CAPABILITIES.max_send_wr, "{got:?}");
        assert!(got.max_recv_wr >= CAPABILITIES.max_recv_wr, "{got:?}");
        assert!(got.max_send_sge >= CAPABILITIES.max_send_sge, "{got:?}");
        assert!(got.max_recv_sge >= CAPABILITIES.max_recv_sge, "{got:?}");
    });
}

#[test]
fn an_identifier_has_one_queue_pair() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        id.create_queue_pair(None, &INIT).expect("a queue pair");
        let refused = id.create_queue_pair(None, &INIT).expect_err("the second");
        assert_eq!(refused.errno, libc::EINVAL);
    });
}

#[test]
fn receives_are_posted_right_after_and_on_datagrams_sends_too() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let capabilities = id.create_queue_pair(None, &INIT).expect("a queue pair");
        let connected = id.queue_pair(capabilities).expect("made");
        for number in 0..u64::from(CAPABILITIES.max_recv_wr) {
            connected.post_receive(number, &[]).expect("posted before there is a connection");
        }
        let id = bound(address, PortSpace::Udp);
        let init = IdQueuePairInit { kind: QueuePairKind::Datagram, ..INIT };
        let capabilities = id.create_queue_pair(None, &init).expect("a queue pair");
        let datagrams = id.queue_pair(capabilities).expect("made");
        datagrams.post_receive(1, &[]).expect("posted");
        assert_eq!(datagrams.query_state(), Ok(crate::sys::verbs::IBV_QPS_RTS), "it can send");
    });
}

#[test]
fn its_state_follows_the_connection() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let capabilities = id.create_queue_pair(None, &INIT).expect("a queue pair");
        let state = |id: &Id| id.queue_pair(capabilities).expect("made").query_state();
        assert_eq!(state(&id), Ok(sys::IBV_QPS_INIT), "receives can be posted");
        let (active, passive) = connected(address, None);
        assert_eq!(state(&active), Ok(sys::IBV_QPS_RTS));
        assert_eq!(state(&passive), Ok(sys::IBV_QPS_RTS));
        let active = std::thread::spawn(move || {
            active.disconnect().expect("connected");
            active
        });
        // The other side's end is what its disconnect waits for.
        drop(passive);
        let active = active.join().expect("the active side");
        assert_eq!(state(&active), Ok(sys::IBV_QPS_ERR), "nothing is sent any more");
    });
}

#[test]
fn what_the_device_has_not_is_an_error_with_its_errno() {
    with_device(|address| {
        let id = bound(address, PortSpace::Tcp);
        let capabilities = ibv_qp_cap { max_send_sge: u32::MAX >> 1, ..CAPABILITIES };
        let refused = id.create_queue_pair(None, &IdQueuePairInit { capabilities, ..INIT });
        assert_ne!(refused.expect_err("too many segments").errno, 0);
        assert!(id.queues().is_none(), "nothing is left of it");
        id.create_queue_pair(None, &INIT).expect("it has none yet");
    });
}
