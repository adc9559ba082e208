//! rdma_create_ep(3).

use super::*;

#[test]
fn with_attributes_the_active_side_has_its_queue_pair_at_once() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1);
        let id = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        assert!(id.queue_pair(CAPABILITIES).is_some());
        assert!(id.is_synchronous());
        assert_eq!(id.peer_port(), at.port(), "it is resolved");
    });
}

#[test]
fn without_attributes_there_is_no_queue_pair() {
    with_device(|address| {
        let at = SocketAddr::new(address.ip(), 4_791);
        let id = Id::create_endpoint(&resolve(at, false), None, None).expect("an identifier");
        assert!(id.queue_pair(CAPABILITIES).is_none());
        let id = Id::create_endpoint(&resolve(address, true), None, None).expect("an identifier");
        assert!(id.queue_pair(CAPABILITIES).is_none());
    });
}

#[test]
fn the_passive_side_keeps_domain_and_attributes_for_each_request() {
    with_device(|address| {
        let passive = Id::create_endpoint(&resolve(address, true), None, Some(&INIT));
        let passive = passive.expect("an identifier");
        assert!(passive.queue_pair(CAPABILITIES).is_none(), "it has none itself");
        passive.listen(4).expect("at once");
        let at = SocketAddr::new(address.ip(), passive.local_port());
        for round in 0..2_u8 {
            let active = std::thread::spawn(move || {
                let from = resolve(at, false);
                let id = Id::create_endpoint(&from, None, Some(&INIT)).expect("whole");
                let data = [round; 3];
                let wanted = ConnectParameters { private_data: &data, ..Default::default() };
                // No call to resolve anything comes before.
                id.connect(&wanted).expect("connected when it returns");
                let kept = id.kept_event().expect("the event of the call");
                assert_eq!(kept.kind, EventKind::Established);
                id
            });
            let request = passive.take_request().expect("a request");
            let kept = request.kept_event().expect("the event of the request");
            assert_eq!(kept.kind, EventKind::ConnectRequest);
            assert_eq!(kept.private_data[..3], [round; 3]);
            let queue_pair = request.queue_pair(CAPABILITIES).expect("made with the request");
            queue_pair.post_receive(1, &[]).expect("posted before it is accepted");
            request.accept(&ConnectParameters::default()).expect("connected when it returns");
            let active = active.join().expect("the active side");
            // It waits for the answer of the other side, which the release gives.
            let active = std::thread::spawn(move || active.disconnect());
            drop((queue_pair, request));
            active.join().expect("the active side").expect("connected");
        }
    });
}

#[test]
fn it_is_synchronous_until_it_is_migrated_to_a_channel() {
    with_device(|address| {
        let passive = Id::create_endpoint(&resolve(address, true), None, Some(&INIT));
        let passive = passive.expect("an identifier");
        passive.listen(4).expect("at once");
        let at = SocketAddr::new(address.ip(), passive.local_port());
        let active = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        let channel = new_channel();
        active.migrate(Some(&channel)).expect("moved");
        assert!(!active.is_synchronous());
        active.connect(&ConnectParameters::default()).expect("it begins, and returns at once");
        let request = passive.take_request().expect("a request");
        // It waits for the other side's last word, which that sends as it takes the event.
        let passive = std::thread::spawn(move || request.accept(&ConnectParameters::default()));
        expect(&channel, EventKind::Established);
        passive.join().expect("the passive side").expect("connected");
    });
}

#[test]
fn it_is_released_with_its_queue_pair() {
    with_device(|address| {
        for _ in 0..20 {
            let at = SocketAddr::new(address.ip(), 4_791);
            let id = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
            let queue_pair = id.queue_pair(CAPABILITIES).expect("made");
            drop(id);
            queue_pair.post_receive(1, &[]).expect("whoever uses the queue pair keeps it");
        }
    });
}

#[test]
fn a_given_domain_is_that_of_the_active_sides_queue_pair() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1);
        let device = bound(address, PortSpace::Tcp).context().expect("bound");
        let domain = ProtectionDomain::new(&device).expect("a domain");
        let given = Id::create_endpoint(&resolve(at, false), Some(&domain), Some(&INIT));
        let given = given.expect("whole");
        assert_eq!(given.domain().expect("given").raw(), domain.raw());
        let left_out = Id::create_endpoint(&resolve(at, false), None, Some(&INIT)).expect("whole");
        let other = bound(address, PortSpace::Tcp);
        other.create_queue_pair(None, &INIT).expect("a queue pair");
        let default = other.domain().expect("the default one").raw();
        assert_eq!(left_out.domain().expect("the default one").raw(), default);
    });
}

#[test]
fn a_given_domain_is_that_of_each_request() {
    with_device(|address| {
        let device = bound(address, PortSpace::Tcp).context().expect("bound");
        let domain = ProtectionDomain::new(&device).expect("a domain");
        let (active, passive) = connected(address, Some(&domain));
        assert_eq!(passive.domain().expect("saved").raw(), domain.raw());
        assert_ne!(active.domain().expect("the default one").raw(), domain.raw());
    });
}

#[test]
fn what_can_not_be_made_is_an_error_with_its_errno() {
    with_device(|address| {
        let channel = new_channel();
        let (_listener, at) = listener(&channel, address, 1);
        let all = devices().expect("the libraries").expect("the devices");
        let other = all.first().expect("a device").open().expect("opened");
        let domain = ProtectionDomain::new(&other).expect("a domain");
        let made = Id::create_endpoint(&resolve(at, false), Some(&domain), Some(&INIT));
        assert_eq!(made.err().expect("not of the device").errno, libc::EINVAL);
        let capabilities = ibv_qp_cap { max_send_wr: u32::MAX >> 1, ..CAPABILITIES };
        let init = IdQueuePairInit { capabilities, ..INIT };
        let made = Id::create_endpoint(&resolve(at, false), None, Some(&init));
        assert_ne!(made.err().expect("too large").errno, 0);
    });
}
