//! Sends with immediate data.

use dat_provider::Work;
use dat_provider::flags::CompletionFlags;
use dat_provider::status::{DtoStatus, Operation};

use crate::world::{Side, everywhere};

/// Lengths of messages: none, one frame, several.
const LENGTHS: [usize; 4] = [0, 9, 4097, 200_000];

fn check(sides: &[Side; 2]) {
    let [one, other] = sides;
    for (at, length) in LENGTHS.into_iter().enumerate() {
        let bytes: Vec<u8> = (0..length).map(|n| (n * 7 + at) as u8).collect();
        one.memory.write(0, &bytes).expect("in range");
        let immediate = if at == 1 { 0 } else { 0xdead_beef };
        other.receive(3, other.segment(0, length));
        one.request(Work::SendImmediate { immediate }, 5, one.segment(0, length));
        assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::Success)]);
        let [done] = other.completions(1)[..] else { panic!("one completion") };
        assert_eq!((done.cookie, done.status), (3, DtoStatus::Success));
        assert_eq!(done.operation, Operation::ReceiveSendImmediate);
        assert_eq!((done.length, done.extra), (length as u64, immediate.into()));
        assert_eq!(other.memory.to_vec(0, length).expect("in range"), bytes);
    }
}

#[test]
fn the_receive_gets_the_data_and_its_operation_tells_it_from_a_write() {
    for world in everywhere() {
        let sides = world.pair();
        check(&sides);
        let [one, other] = &sides;
        other.receive(3, other.segment(0, 8));
        let work = Work::RdmaWriteImmediate { remote: other.remote(64, 8), immediate: 7 };
        one.request(work, 5, one.segment(0, 8));
        assert_eq!(other.done(1), [(Operation::ReceiveImmediate, 3, DtoStatus::Success)]);
        assert_eq!(one.done(1), [(Operation::RdmaWriteImmediate, 5, DtoStatus::Success)]);
        other.receive(4, other.segment(0, 8));
        one.request(Work::Send, 6, one.segment(0, 8));
        assert_eq!(other.done(1), [(Operation::Receive, 4, DtoStatus::Success)]);
        assert_eq!(one.done(1), [(Operation::Send, 6, DtoStatus::Success)]);
    }
}

#[test]
fn sends_with_and_without_data_keep_their_order() {
    for world in everywhere() {
        let [one, other] = world.pair();
        for cookie in 0..8_u64 {
            let work = match cookie % 2 {
                0 => Work::Send,
                _ => Work::SendImmediate { immediate: cookie as u32 },
            };
            let flags = match cookie {
                7 => CompletionFlags::empty(),
                _ => CompletionFlags::SUPPRESS,
            };
            one.request_with(work, cookie, one.segment(0, 8), flags);
        }
        (0..8).for_each(|cookie| other.receive(cookie, other.segment(0, 8)));
        let found: Vec<_> =
            other.completions(8).iter().map(|done| (done.cookie, done.extra)).collect();
        let expected: Vec<_> = (0..8).map(|cookie| (cookie, (cookie % 2) * cookie)).collect();
        assert_eq!(found, expected);
        assert_eq!(one.done(1), [(Operation::Send, 7, DtoStatus::Success)]);
    }
}

#[test]
fn a_receive_that_is_too_short_fails_as_for_a_plain_message() {
    for world in everywhere() {
        let [one, other] = world.pair();
        other.receive(3, other.segment(0, 7));
        one.request(Work::SendImmediate { immediate: 1 }, 5, one.segment(0, 8));
        assert_eq!(one.done(1), [(Operation::Send, 5, DtoStatus::RemoteResponder)]);
        assert_eq!(other.done(1), [(Operation::Receive, 3, DtoStatus::LocalLength)]);
    }
}
