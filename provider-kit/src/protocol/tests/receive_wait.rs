//! The limited wait for a receive of a peer that shares its receives.

use std::rc::Rc;

use dat_provider::status::DtoStatus;

use super::choices::Choices;
use super::place::Place;
use super::script::{Scenario, Step};
use super::side::Side;
use super::world::{Action, World};
use crate::frame::{Body, Frame};
use crate::upcalls::Upcalls;

/// The peer says that it has no receive for the oldest message, and has executed this number of messages.
fn say_no_receive(side: &mut Side, executed: u32) {
    let outbound = &side.protocol.outbound;
    let done = outbound.sends.executed.wrapping_add(executed);
    let frame = Frame { done, posted: outbound.peer_posted, ..Frame::new(Body::NoReceive) };
    side.read((frame, Vec::new()));
    side.advance();
}

#[test]
fn the_wait_begins_when_the_peer_says_that_it_has_no_receive() {
    let mut scenario = Scenario::new("a stall", &[Step::Send(8), Step::Send(8)], &[]);
    scenario.shared = [false, true];
    let places = [0, 1].map(|side| Rc::new(Place::new(side, (scenario.slot, scenario.slots))));
    let mut world = World::new(&scenario, &places, &Choices::default());
    world.sides[0].queues.limits_receive_wait = true;
    (0..2).for_each(|_| world.act(Action::Post(0)));
    let side = &mut world.sides[0];
    assert!(!side.protocol.take_receive_wait(), "the peer has said nothing");
    say_no_receive(side, 0);
    assert!(side.protocol.take_receive_wait());
    // Meanwhile the first message has got a receive.
    say_no_receive(side, 1);
    assert!(!side.protocol.take_receive_wait(), "one wait at a time");
    let mut upcalls = Upcalls::default();
    side.protocol.end_receive_wait(&mut side.queues, &mut upcalls);
    assert!(side.protocol.take_receive_wait(), "the second message has its own time");
    assert!(side.protocol.ending.is_none());
    side.protocol.end_receive_wait(&mut side.queues, &mut upcalls);
    upcalls.deliver();
    side.collect();
    assert!(side.protocol.ending.is_some());
    let statuses: Vec<_> = side.done[0].iter().map(|one| one.status).collect();
    assert_eq!(statuses, [DtoStatus::Success, DtoStatus::ReceiverNotReady]);
    (side.is_over, side.has_read) = (true, false);
}
