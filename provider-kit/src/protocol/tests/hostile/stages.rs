//! The stages in which a connection receives hostile frames.

use crate::frame::{Body, Extra, Frame, MAX_PIECE};
use crate::protocol::EndCause;
use crate::protocol::tests::script::{Scenario, Step};
use crate::protocol::tests::world::{Action, World};
use Step::{Read, Receive, Send, Write};

/// A stage, and how to reach it.
pub(super) struct Prepared {
    pub(super) name: &'static str,
    pub(super) scenario: Scenario,
    /// The side that receives the frames.
    pub(super) victim: usize,
    pub(super) prepare: fn(&mut World<'_>),
}

/// Side 1 posts all of its steps.
fn post_all(world: &mut World<'_>) {
    for _ in 0..world.scenario.steps[1].len() {
        world.act(Action::Post(1));
    }
}

/// Side 1 reads a frame with this body, without anything that side 0 sent before.
fn receive(world: &mut World<'_>, body: Body) {
    let outbound = &world.sides[1].protocol.outbound;
    let (done, posted) = (outbound.sends.executed, outbound.peer_posted);
    let frame = Frame { done, posted, ..Frame::new(body) };
    world.sides[1].read((frame, vec![0; frame.payload() as usize]));
    world.sides[1].advance();
}

fn post_and_receive(world: &mut World<'_>, body: Body) {
    post_all(world);
    receive(world, body);
}

/// Side 1 has answers that it cannot write.
fn owe_answers(world: &mut World<'_>) {
    world.sides[1].out.is_full = true;
    let remote = world.sides[1].place.target(0);
    receive(world, Body::Read { length: 40, remote });
}

const LONG: Body = Body::Send { length: MAX_PIECE + 40, solicited: false, extra: Extra::None };
const SHORT: Body = Body::Send { length: 8, solicited: false, extra: Extra::None };

/// All stages. The scenario of a connected one lets side 1 post the steps; side 0 has a receive.
pub(super) fn stages() -> Vec<Prepared> {
    let open = |name, steps: &[Step], prepare: fn(&mut World<'_>)| {
        let mut scenario = Scenario::new(name, &[Receive(64)], steps);
        (scenario.before, scenario.offers) = ([1, 0], Some(true));
        Prepared { name, scenario, victim: 1, prepare }
    };
    let handshake = |name, victim| {
        let mut prepared = open(name, &[], |_| {});
        prepared.scenario.has_handshake = true;
        Prepared { victim, ..prepared }
    };
    let unreliable = |mut prepared: Prepared| {
        prepared.scenario.is_unreliable = true;
        prepared
    };
    let shared = |name, sides, steps: &[Step], prepare| {
        let mut prepared = open(name, steps, prepare);
        (prepared.scenario.shared, prepared.scenario.slot) = (sides, 9000);
        prepared.scenario.slots = 2;
        prepared
    };
    let large = |mut prepared: Prepared| {
        (prepared.scenario.slot, prepared.scenario.slots) = (66_000, 1);
        prepared
    };
    let mut offered = open("a message offered", &[Send(8192)], post_all);
    (offered.scenario.slot, offered.scenario.slots) = (9000, 2);
    vec![
        handshake("the answer is awaited", 0),
        handshake("the confirmation is awaited", 1),
        open("open", &[], |_| {}),
        open("a receive", &[Receive(64)], post_all),
        open("a send in flight", &[Send(8)], post_all),
        open("a read in flight", &[Read { length: 40, slot: 0 }], post_all),
        open("a read partly answered", &[Read { length: 40, slot: 0 }], |world| {
            post_and_receive(world, Body::Data { length: 8, last: false });
        }),
        open("answers are owed", &[Receive(64)], |world| {
            post_all(world);
            owe_answers(world);
        }),
        open("a request has failed", &[Receive(64)], |world| {
            post_all(world);
            owe_answers(world);
            receive(world, LONG);
        }),
        open("ending", &[Receive(64)], |world| {
            post_all(world);
            world.sides[1].protocol.end(EndCause::Broken, None);
        }),
        large(open("a long message arrives", &[Receive(66_000)], |world| {
            post_and_receive(world, LONG);
        })),
        large(open("a long write arrives", &[], |world| {
            let remote = world.sides[1].place.target(0);
            receive(world, Body::Write { length: MAX_PIECE + 40, remote });
        })),
        offered,
        unreliable(open("an unreliable connection", &[], |_| {})),
        unreliable(open("an unreliable connection with a receive", &[Receive(16)], post_all)),
        unreliable(large(open("a long message is dropped", &[Receive(16)], |world| {
            post_and_receive(world, LONG);
        }))),
        unreliable(shared("an unreliable shared queue", [false, true], &[Receive(9)], post_all)),
        shared("a shared queue", [false, true], &[], |_| {}),
        shared("a shared queue with a receive", [false, true], &[Receive(9000)], post_all),
        shared("a message is stored", [false, true], &[], |world| receive(world, SHORT)),
        shared("a message is announced", [false, true], &[], |world| {
            receive(world, Body::Rts { length: 5000 });
        }),
        shared("a message is granted", [false, true], &[Receive(9000)], |world| {
            post_and_receive(world, Body::Rts { length: 5000 });
        }),
        shared("an announcement was sent", [true, false], &[Send(5000)], post_all),
        shared(
            "a write behind a short message",
            [true, false],
            &[Send(8), Write { length: 8, slot: 0 }],
            post_all,
        ),
    ]
}
