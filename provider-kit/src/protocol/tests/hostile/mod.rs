//! Frames that no protocol would send, in every stage of a connection.

mod frames;
mod stages;

use std::rc::Rc;

use dat_provider::status::DtoStatus;

use super::choices::Choices;
use super::place::Place;
use super::side::Side;
use super::world::World;
use crate::frame::{self, Body, Extra, Frame};
use crate::link::End;
use crate::protocol::{EndCause, Stage};
use frames::{all_bodies, all_counts, payload, some_bodies};
use stages::{Prepared, stages};

/// Prints the frames of a test that fails.
struct Shown<'a>(&'static str, &'a [Frame]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("stage {}, frames {:?}", self.0, self.1);
        }
    }
}

/// Passes a frame to a side, as a link does. Returns whether the link goes on.
fn feed(side: &mut Side, frame: Frame, peer: &Place) -> bool {
    match frame::decode(&frame.encode()) {
        Ok(Some((found, _))) => {
            assert_eq!(found, frame, "the frame that was encoded");
            side.read((frame, payload(&frame, peer)));
        }
        Ok(None) => panic!("a whole head"),
        Err(why) => side.read_end(&End::Malformed(why)),
    }
    side.protocol.ending.is_none() && !side.protocol.inbound.has_failed()
}

/// Returns true if a connection that has ended was broken, as it must be after a frame that is refused.
fn is_broken(cause: Option<&EndCause>) -> bool {
    matches!(cause, Some(EndCause::Broken))
}

/// Ends the connection if it has not ended, and checks what has completed.
fn check_end(side: &mut Side) {
    side.out.is_full = false;
    side.advance();
    if !side.is_over {
        side.protocol.end(EndCause::Disconnected, None);
        side.advance();
    }
    side.collect();
    assert!(side.is_over);
    for (kind, done) in side.done.iter().enumerate() {
        let cookies: Vec<u64> = done.iter().map(|one| one.cookie).collect();
        let posted = if kind == 1 && side.srq.is_some() { done.len() } else { side.posted[kind] };
        let expected: Vec<u64> = (0..posted as u64).collect();
        assert_eq!(cookies, expected, "completions of kind {kind}: {done:?}");
        let flushed = done.iter().position(|one| one.status == DtoStatus::Flushed);
        let rest = done.iter().skip(flushed.unwrap_or(done.len()));
        assert!(rest.clone().all(|one| one.status == DtoStatus::Flushed), "{done:?}");
    }
    side.check_credits();
    assert!(side.place.has_guards(), "memory outside of the region changed");
}

/// Sends frames in a stage; the connection ends with the first one that it refuses. Returns whether it accepts all.
fn send(stage: &Prepared, places: &[Rc<Place>; 2], frames: &[Frame]) -> bool {
    send_to(stage, places, frames, |_| {}, |_| {})
}

/// As [`send`], with a change of the side before, and a check after.
fn send_to(
    stage: &Prepared,
    places: &[Rc<Place>; 2],
    frames: &[Frame],
    change: impl FnOnce(&mut Side),
    check: impl FnOnce(&Side),
) -> bool {
    let _shown = Shown(stage.name, frames);
    let mut world = World::new(&stage.scenario, places, &Choices::default());
    (stage.prepare)(&mut world);
    let [one, other] = &mut world.sides;
    let (victim, peer) = if stage.victim == 0 { (one, &other.place) } else { (other, &one.place) };
    change(victim);
    let mut accepts = victim.reads();
    for frame in frames {
        if !accepts {
            break;
        }
        let is_open = victim.protocol.stage == Stage::Open && victim.protocol.ending.is_none();
        accepts = feed(victim, *frame, peer);
        victim.out.is_full &= accepts;
        victim.advance();
        if victim.is_over {
            accepts = false;
            let ends_by_peer = matches!(frame.body, Body::End { .. });
            let is_broken = is_broken(victim.cause.as_ref());
            assert!(!is_open || ends_by_peer || is_broken, "{:?}", victim.cause);
        }
        assert!(accepts || victim.is_over, "a frame was refused, and the connection goes on");
    }
    check_end(victim);
    check(victim);
    accepts
}

/// Sends what `frames` makes from the counts that a stage expects.
fn try_all(frames: impl Fn(&Prepared, &Place, (u32, u32)) -> Vec<Vec<Frame>>, min: u64) {
    let (mut accepted, mut all) = (0_u64, 0);
    for stage in stages() {
        let sizes = (stage.scenario.slot, stage.scenario.slots);
        let places = [0, 1].map(|side| Rc::new(Place::new(side, sizes)));
        let mut world = World::new(&stage.scenario, &places, &Choices::default());
        (stage.prepare)(&mut world);
        let outbound = &world.sides[stage.victim].protocol.outbound;
        let counts = (outbound.sends.executed, outbound.peer_posted);
        drop(world);
        for list in frames(&stage, &places[stage.victim], counts) {
            all += 1;
            accepted += u64::from(send(&stage, &places, &list));
        }
    }
    println!("{accepted} of {all} sequences of frames are accepted");
    assert!(all >= min && accepted >= min / 100, "only {accepted} of {all}");
}

#[test]
fn any_frame_is_accepted_or_breaks_the_connection() {
    let frames = |_: &Prepared, place: &Place, (done, posted): (u32, u32)| {
        let frame = |body| vec![Frame { done, posted, ..Frame::new(body) }];
        all_bodies(place).into_iter().map(frame).collect()
    };
    try_all(frames, 3000);
}

#[test]
fn any_counts_are_accepted_or_break_the_connection() {
    let frames = |_: &Prepared, place: &Place, counts| {
        let mut all = Vec::new();
        for body in some_bodies(place) {
            for (done, posted) in all_counts(counts) {
                all.push(vec![Frame { done, posted, ..Frame::new(body) }]);
            }
        }
        all
    };
    try_all(frames, 3000);
}

#[test]
fn any_two_frames_are_accepted_or_break_the_connection() {
    let frames = |_: &Prepared, place: &Place, (done, posted): (u32, u32)| {
        let bodies = some_bodies(place);
        let mut all = Vec::new();
        for first in &bodies {
            for second in &bodies {
                let frame = |body: &Body| Frame { done, posted, ..Frame::new(*body) };
                all.push(vec![frame(first), frame(second)]);
            }
        }
        all
    };
    try_all(frames, 10_000);
}

#[test]
fn counts_that_go_back_or_cover_unsent_requests_are_refused() {
    let stages = stages();
    let stage = stages.iter().find(|stage| stage.name == "a send in flight").expect("it exists");
    let sizes = (stage.scenario.slot, stage.scenario.slots);
    let places = [0, 1].map(|side| Rc::new(Place::new(side, sizes)));
    let first = stage.scenario.first;
    let cases = [
        ((0, 1), true),
        ((1, 1), true),
        ((1, 5), true),
        ((1, i32::MAX as u32), true),
        ((2, 1), false),
        ((u32::MAX, 1), false),
        ((0, 0), false),
        ((0, (1 << 31) + 1), false),
        ((1 << 31, 1), false),
    ];
    for ((done, posted), is_possible) in cases {
        let [done, posted] = [done, posted].map(|count| first.wrapping_add(count));
        for body in [Body::Ack, Body::Cts, Body::NoReceive, Body::Rts { length: 1 }] {
            let is_accepted = is_possible && body == Body::Ack;
            let frame = Frame { done, posted, ..Frame::new(body) };
            assert_eq!(send(stage, &places, &[frame]), is_accepted, "{frame:?}");
        }
    }
}

/// The consumer may make registered memory inaccessible at any time. Its side of the operation ends with that status.
#[test]
fn memory_that_is_lost_during_a_transfer_breaks_the_connection() {
    let send = Body::Send { length: 40, solicited: false, extra: Extra::None };
    let more = Body::More { length: 40, last: true };
    let cases = [
        ("a receive", send, 1),
        ("a long message arrives", more, 1),
        ("a read in flight", Body::Data { length: 40, last: true }, 0),
        ("a read partly answered", Body::Data { length: 32, last: true }, 0),
    ];
    for stage in stages() {
        let sizes = (stage.scenario.slot, stage.scenario.slots);
        let places = [0, 1].map(|side| Rc::new(Place::new(side, sizes)));
        for body in some_bodies(&places[stage.victim]) {
            let first = stage.scenario.first;
            let frame = Frame { done: first, posted: first.wrapping_add(1), ..Frame::new(body) };
            send_to(&stage, &places, &[frame], |side| side.loses_memory = true, |_| {});
        }
        for (_, body, kind) in cases.iter().filter(|(name, ..)| *name == stage.name) {
            let first = stage.scenario.first;
            let frame = Frame { done: first, posted: first.wrapping_add(1), ..Frame::new(*body) };
            let check = |side: &Side| {
                let status = side.done[*kind].first().map(|one| one.status);
                assert_eq!(status, Some(DtoStatus::LocalProtection), "{}", stage.name);
            };
            let lose = |side: &mut Side| side.loses_memory = true;
            assert!(!send_to(&stage, &places, &[frame], lose, check), "{}", stage.name);
        }
    }
}

#[test]
fn more_reads_than_the_handshake_allows_are_refused() {
    let stages = stages();
    let stage = stages.iter().find(|stage| stage.name == "answers are owed").expect("it exists");
    let sizes = (stage.scenario.slot, stage.scenario.slots);
    let places = [0, 1].map(|side| Rc::new(Place::new(side, sizes)));
    assert_eq!(stage.scenario.reads, 2, "one is already owed");
    let (done, remote) = (stage.scenario.first, places[1].target(0));
    let body = Body::Read { length: 8, remote };
    let read = Frame { done, posted: done.wrapping_add(1), ..Frame::new(body) };
    assert!(send(stage, &places, &[read]));
    assert!(!send(stage, &places, &[read, read]));
}
