//! The requests whose acknowledgement the peer waits for.

use std::rc::Rc;

use super::choices::Choices;
use super::place::Place;
use super::script::{Scenario, Step};
use super::side::Side;
use super::world::World;
use crate::frame::{Body, Frame};

/// A side executes a write of one byte to its place.
fn write(side: &mut Side, place: &Place, quiet: bool) {
    let (executed, outbound) = (side.protocol.inbound.executed, &side.protocol.outbound);
    let (done, posted) = (outbound.sends.executed, outbound.peer_posted);
    let body = Body::Write { length: 1, remote: place.target(0) };
    side.read((Frame { done, posted, quiet, ..Frame::new(body) }, vec![7]));
    assert_eq!(side.protocol.inbound.executed, executed.wrapping_add(1));
}

fn open(check: impl FnOnce(&mut Side, &Place)) {
    let scenario = Scenario::new("acknowledgements", &[], &[Step::Receive(10)]);
    let places = [0, 1].map(|side| Rc::new(Place::new(side, (scenario.slot, scenario.slots))));
    let mut world = World::new(&scenario, &places, &Choices::default());
    let [_, receiver] = &mut world.sides;
    let place = Rc::clone(&receiver.place);
    check(receiver, &place);
}

#[test]
fn the_driver_leaves_quiet_requests_to_a_reply_and_no_others() {
    open(|side, place| {
        for _ in 0..3 {
            write(side, place, true);
            assert!(side.protocol.note_driver_requests(), "nothing waits for it");
        }
        assert!(side.protocol.replies.await_reply());
        assert!(side.protocol.awaits_reply());
        write(side, place, false);
        assert!(!side.protocol.note_driver_requests());
        assert!(!side.protocol.awaits_reply(), "the peer waits for the last one");
        side.advance_and_acknowledge(side.protocol.awaits_reply());
        assert!(!side.protocol.owes_acknowledgement());
        write(side, place, true);
        assert!(side.protocol.note_driver_requests(), "the urgent one is acknowledged");
    });
}

#[test]
fn polls_leave_quiet_requests_to_a_reply_only_if_more_polls_follow() {
    open(|side, place| {
        let (lent, not_lent) = ((true, false), (false, false));
        write(side, place, true);
        assert!(!side.protocol.note_requests(1, 1, not_lent));
        assert!(!side.protocol.ack_delay.awaits_reply(), "no other poll need follow");
        write(side, place, true);
        assert!(!side.protocol.note_requests(1, 2, lent));
        assert!(side.protocol.ack_delay.awaits_reply());
        write(side, place, false);
        assert!(!side.protocol.note_requests(1, 3, lent));
        assert!(!side.protocol.ack_delay.awaits_reply(), "the peer waits for the last one");
    });
}

#[test]
fn quiet_requests_that_keep_arriving_are_acknowledged_with_one_that_is_not_quiet() {
    open(|side, place| {
        let lent = (true, false);
        for owed in 1..=32 {
            write(side, place, true);
            assert!(!side.protocol.note_requests(1, owed, lent), "the peer waits for none of them");
        }
        write(side, place, false);
        assert!(side.protocol.note_requests(1, 33, lent), "the peer waits for the last one");
    });
}
