//! The limited wait for a receive of a peer that shares its receives.

use std::rc::Rc;

use dat_provider::Completion;
use dat_provider::status::DtoStatus;

use super::choices::Choices;
use super::place::Place;
use super::script::{Scenario, Step};
use super::side::Side;
use super::world::{Action, World};
use crate::frame::{Body, Frame, Reason};
use crate::upcalls::Upcalls;

/// The peer says that it has no receive for the oldest message, and has executed this number of messages.
fn say_no_receive(side: &mut Side, executed: u32) {
    let outbound = &side.protocol.outbound;
    let done = outbound.sends.executed.wrapping_add(executed);
    let frame = Frame { done, posted: outbound.peer_posted, ..Frame::new(Body::NoReceive) };
    side.read((frame, Vec::new()));
    side.advance();
}

/// The time of the wait that was reported is over.
fn end_wait(side: &mut Side) {
    let mut upcalls = Upcalls::default();
    side.protocol.end_receive_wait(&mut side.queues, &mut upcalls);
    side.advance();
    upcalls.deliver();
    side.collect();
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
    end_wait(side);
    assert!(side.protocol.take_receive_wait(), "the second message has its own time");
    end_wait(side);
    assert!(side.protocol.ending.is_none(), "only the peer knows whether it has received it");
    let request = scenario.first.wrapping_add(1);
    let withdrawal = side.out.sent.pop_back().expect("the last frame").0;
    assert_eq!(withdrawal.body, Body::Withdraw { request });
    let reason = Reason::Broken { request, status: DtoStatus::ReceiverNotReady };
    let done = side.protocol.outbound.sends.executed;
    let posted = side.protocol.outbound.peer_posted;
    side.read((Frame { done, posted, ..Frame::new(Body::End { reason }) }, Vec::new()));
    side.advance();
    side.collect();
    let statuses: Vec<_> = side.done[0].iter().map(|one| one.status).collect();
    assert_eq!(statuses, [DtoStatus::Success, DtoStatus::ReceiverNotReady]);
}

#[test]
fn a_message_that_is_withdrawn_fails_or_is_received_for_both_sides() {
    for is_in_time in [false, true] {
        let mut scenario = Scenario::new("a withdrawal", &[Step::Send(8)], &[Step::Receive(8)]);
        scenario.shared = [false, true];
        let places = [0, 1].map(|side| Rc::new(Place::new(side, (scenario.slot, scenario.slots))));
        let mut world = World::new(&scenario, &places, &Choices::default());
        world.sides[0].queues.limits_receive_wait = true;
        let before = [Action::Post(0), Action::Read(1), Action::Read(0)];
        before.into_iter().for_each(|action| world.act(action));
        assert!(world.sides[0].protocol.take_receive_wait(), "the peer has no receive");
        end_wait(&mut world.sides[0]);
        let [first, second] = [Action::Post(1), Action::Read(1)];
        let order = if is_in_time { [first, second] } else { [second, first] };
        order.into_iter().for_each(|action| world.act(action));
        while !world.sides[1].out.sent.is_empty() {
            world.act(Action::Read(0));
        }
        let [one, other] = &world.sides;
        let status = |done: &[Completion]| done.iter().map(|one| one.status).collect::<Vec<_>>();
        let received = if is_in_time { vec![DtoStatus::Success] } else { Vec::new() };
        assert_eq!(status(&other.done[1]), received);
        let sent = if is_in_time { DtoStatus::Success } else { DtoStatus::ReceiverNotReady };
        assert_eq!(status(&one.done[0]), [sent]);
        assert_eq!([one.is_over, other.is_over], [!is_in_time; 2]);
    }
}
