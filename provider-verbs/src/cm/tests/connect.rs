//! rdma_establish(3), rdma_reject(3).

use super::*;

#[test]
fn who_has_no_queue_pair_of_the_identifiers_gets_the_response_and_establishes() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5);
        let id = Id::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        find_way(&id, &here, at);
        let wanted = ConnectParameters {
            private_data: b"hello",
            // No other test has these: a number stays the connection's for a while.
            queue_pair: Some((0x7f_ff01, false)),
            ..ConnectParameters::default()
        };
        id.connect(&wanted).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        assert_eq!(event.key, 5, "that of the listener");
        assert_eq!(&event.private_data[..5], b"hello");
        let request = event.request.expect("an identifier of its own");
        request.set_key(6);
        let answer = ConnectParameters { queue_pair: Some((0x7f_ff02, false)), ..wanted };
        request.accept(&answer).expect("it begins");
        expect(&here, EventKind::ConnectResponse);
        id.establish().expect("established");
        assert_eq!(expect(&there, EventKind::Established).key, 6);
        id.disconnect().expect("connected");
        assert_eq!(expect(&there, EventKind::Disconnected).key, 6);
    });
}

#[test]
fn a_refusal_carries_private_data() {
    with_device(|address| {
        let (here, there) = (new_channel(), new_channel());
        let (_listener, at) = listener(&there, address, 5);
        let id = Id::new(&here, 1, PortSpace::Tcp).expect("an identifier");
        find_way(&id, &here, at);
        let queue_pair = Some((0x7f_ff03, false));
        id.connect(&ConnectParameters { queue_pair, ..Default::default() }).expect("it begins");
        let event = expect(&there, EventKind::ConnectRequest);
        event.request.expect("an identifier").reject(b"no").expect("sent");
        let event = expect(&here, EventKind::Rejected);
        assert_eq!((&event.private_data[..2], event.status), (&b"no"[..], 28));
    });
}
