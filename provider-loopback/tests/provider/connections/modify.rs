//! Changing the specification of a queue pair.

use super::*;
use crate::common::Buffer;
use dat_core::flags::Privileges;

#[test]
fn modify_keeps_receives_and_changes_the_rest() {
    in_world(|world| {
        let other = world.adapter.create_domain().unwrap();
        let (a, b) = (world.side(), world.side());
        let buffer = Buffer::new(&*other, 100, Privileges::ALL);
        b.receive(1, &[buffer.segment(0, 2), buffer.segment(2, 2), buffer.segment(4, 2)]);
        b.receive(2, &[buffer.segment(10, 5)]);
        let mut spec = b.spec.clone();
        spec.limits.max_receives = 1;
        assert!(b.qp.modify(spec.clone()).unwrap_err().is(ReturnType::InsufficientResources));
        spec.limits.max_receives = 3;
        spec.limits.max_receive_segments = 1;
        spec.domain = Some(Arc::clone(&other));
        b.qp.modify(spec).unwrap();
        b.receive(3, &[]);
        assert!(b.try_receive(4, &[]).is_err());
        world.join(&a, &b);
        let mine = world.buffer(6);
        let sent = mine.fill(3);
        a.send(5, &[mine.segment(0, 6)]);
        a.send(6, &[]);
        assert_eq!(buffer.bytes()[..6], sent);
        assert_eq!(b.done(), [(Receive, 1, 6, Success), (Receive, 2, 0, Success)]);
    });
}

#[test]
fn a_queue_pair_gets_its_domain_by_modify() {
    in_world(|world| {
        let (a, b) = (world.side(), world.side());
        let mut spec = b.spec.clone();
        spec.domain = None;
        b.qp.modify(spec).unwrap();
        world.connect(&a, &[]);
        let incoming = world.requests.take();
        assert!(incoming.responder.accept(&*b.qp, 1, &[]).is_err(), "no domain");
        b.qp.modify(b.spec.clone()).unwrap();
        incoming.responder.accept(&*b.qp, 1, &[]).unwrap();
        assert!(matches!(a.last_event().1, Event::Established { .. }));
    });
}
