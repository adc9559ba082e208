//! What a side does that keeps its receives when the connection is lost in the middle of a message.

use std::rc::Rc;

use dat_provider::status::DtoStatus;
use dat_provider::verbs::LossPolicy;

use super::choices::Choices;
use super::place::Place;
use super::script::{Scenario, Step};
use super::side::Side;
use super::world::{Action, World};
use crate::frame::{Body, Extra, Frame, MAX_PIECE, Reason};
use crate::link::End;
use crate::upcalls::Upcalls;
use Step::{Receive, Send};

/// Length of a message of two frames.
const LONG: usize = MAX_PIECE as usize + 40;

/// Side 1 keeps its receives, of which it has two; side 0 sends it these frames, and the link ends.
fn lose(is_shared: bool, frames: &[Body], check: impl FnOnce(&mut Side)) {
    let mut scenario =
        Scenario::new("a loss", &[Receive(64)], &[Receive(LONG), Receive(LONG), Send(8), Send(8)]);
    (scenario.shared, scenario.slot, scenario.slots) = ([false, is_shared], 66_000, 3);
    scenario.before = [1, 0];
    let places = [0, 1].map(|side| Rc::new(Place::new(side, (scenario.slot, scenario.slots))));
    let mut world = World::new(&scenario, &places, &Choices::default());
    world.sides[1].queues.losses = LossPolicy::Keep;
    (0..4).for_each(|_| world.act(Action::Post(1)));
    let side = &mut world.sides[1];
    for body in frames {
        let outbound = &side.protocol.outbound;
        let (done, posted) = (outbound.sends.executed, outbound.peer_posted);
        let frame = Frame { done, posted, ..Frame::new(*body) };
        side.read((frame, vec![0; frame.payload() as usize]));
        side.advance();
    }
    side.read_end(&End::Closed);
    let mut upcalls = Upcalls::default();
    side.protocol.end_requests(&mut side.queues, &mut upcalls, true);
    // The owner gives up.
    let mut status = DtoStatus::Transport;
    while let Some((request, extra)) = side.protocol.outbound.sends.pop_lost() {
        side.queues.complete_request(&request, extra, status, &mut upcalls);
        status = DtoStatus::Flushed;
    }
    upcalls.deliver();
    side.collect();
    check(side);
    side.queues.receives.flush(&mut Upcalls::default());
    side.collect();
    (side.is_over, side.has_read) = (true, false);
    world.sides[1].check_credits();
}

/// The cookies of the receives that are left, in order.
fn left(side: &mut Side) -> Vec<u64> {
    let mut upcalls = Upcalls::default();
    let take = || side.queues.receives.take(&mut upcalls);
    let taken: Vec<_> = std::iter::from_fn(take).collect();
    let cookies = taken.iter().map(|one| one.posted.cookie).collect();
    taken.into_iter().rev().for_each(|one| side.queues.receives.put_back(one));
    upcalls.deliver();
    cookies
}

fn statuses(side: &Side) -> Vec<DtoStatus> {
    side.done[0].iter().map(|done| done.status).collect()
}

#[test]
fn a_receive_that_was_partly_filled_is_the_oldest_again() {
    let first = Body::Send { length: LONG as u64, solicited: false, extra: Extra::None };
    lose(false, &[first], |side| {
        assert_eq!(left(side), [0, 1]);
        assert!(side.done[1].is_empty());
        assert_eq!(statuses(side), [DtoStatus::Transport, DtoStatus::Flushed]);
    });
}

#[test]
fn a_receive_that_was_granted_is_the_oldest_again() {
    lose(true, &[Body::Rts { length: LONG as u64 }], |side| {
        assert_eq!(left(side), [0, 1]);
        assert!(side.done[1].is_empty());
        assert_eq!(statuses(side), [DtoStatus::Transport, DtoStatus::Flushed]);
    });
}

#[test]
fn a_message_that_was_complete_is_not_lost() {
    let whole = Body::Send { length: 40, solicited: false, extra: Extra::None };
    lose(false, &[whole], |side| {
        assert_eq!(left(side), [1]);
        assert_eq!(side.done[1].len(), 1);
    });
}

#[test]
fn the_peer_that_breaks_the_connection_for_a_reason_of_its_own_is_lost() {
    for (status, expected) in [
        (DtoStatus::Flushed, [DtoStatus::Transport, DtoStatus::Flushed]),
        (DtoStatus::RemoteAccess, [DtoStatus::RemoteAccess, DtoStatus::Flushed]),
    ] {
        let request = u32::MAX;
        let end = Body::End { reason: Reason::Broken { request, status } };
        lose(false, &[end], |side| assert_eq!(statuses(side), expected));
    }
}
