//! The scenarios in which a request fails or a consumer disconnects.

use super::explore::explore_all;
use super::scenarios::over_all_links;
use super::script::{Scenario, Step};
use Step::{
    Add, Disconnect, Read, Receive, Send, SendImmediate, SendInvalidate, Write, WriteImmediate,
    WrongKey, WrongMemory,
};

fn over_all(scenarios: &[Scenario]) -> Vec<Scenario> {
    scenarios.iter().flat_map(over_all_links).collect()
}

#[test]
fn a_short_receive_breaks_the_connection() {
    let sends = [Send(10), Send(11), Send(3)];
    let mut shared =
        Scenario::new("a short receive of a shared queue", &sends, &[Receive(10), Receive(10)]);
    shared.shared = [false, true];
    let mut long =
        Scenario::new("a short receive for a long message", &[Send(5000)], &[Receive(9)]);
    (long.shared, long.slot, long.slots) = ([false, true], 5000, 2);
    explore_all(
        &over_all(&[
            Scenario::new("a short receive", &sends, &[Receive(10), Receive(10), Send(3)]),
            Scenario::new(
                "a short receive of a send with immediate data",
                &[SendImmediate { length: 11, value: 42 }, Send(3)],
                &[Receive(10), Receive(10)],
            ),
            Scenario::new("reads before", &[Add { slot: 1, add: 1 }, Send(3)], &[Receive(2)]),
            shared,
            long,
        ]),
        3500,
    );
}

#[test]
fn a_wrong_key_breaks_the_connection() {
    let requests = [Read { length: 40, slot: 1 }, Add { slot: 2, add: 1 }, WrongKey, Send(3)];
    let peer = [Receive(10), Write { length: 3, slot: 2 }, Add { slot: 3, add: 3 }];
    let invalidate = [Send(2), SendInvalidate(3), Send(3)];
    let receives = [Receive(10), Receive(10), Send(1)];
    let mut shared = Scenario::new("an unbound window, shared queue", &invalidate, &receives[..2]);
    shared.shared = [false, true];
    explore_all(
        &over_all(&[
            Scenario::new("an unbound window", &invalidate, &receives),
            shared,
            Scenario::new("a wrong key behind reads", &requests, &[]),
            Scenario::new("a wrong key", &requests[2..], &peer),
            Scenario::new("wrong keys on both sides", &requests[1..3], &[Send(1), WrongKey]),
        ]),
        8000,
    );
}

#[test]
fn wrong_local_memory_breaks_the_connection() {
    let requests = [Read { length: 20, slot: 1 }, WrongMemory, Send(3)];
    let peer = [Receive(10), Receive(10), Write { length: 3, slot: 2 }];
    explore_all(
        &over_all(&[
            Scenario::new("wrong memory behind others", &requests, &peer[..1]),
            Scenario::new("wrong memory", &requests[1..], &peer),
        ]),
        700,
    );
}

#[test]
fn a_disconnect_flushes_what_is_outstanding() {
    let immediate = WriteImmediate { length: 9, slot: 1, value: 42 };
    let one = [Send(2), Read { length: 40, slot: 1 }, Disconnect];
    let peer = [Receive(10), Send(3), immediate];
    let mut shared =
        Scenario::new("a disconnect, shared queue", &[Send(2), Send(5000), Disconnect], &peer[..1]);
    (shared.shared, shared.slot, shared.slots) = ([false, true], 5000, 3);
    let mut late = shared.clone();
    late.steps[1].push(late.steps[1][0]);
    explore_all(
        &over_all(&[
            Scenario::new("a disconnect", &one, &peer),
            Scenario::new("two disconnects", &one[1..], &[Add { slot: 1, add: 2 }, Disconnect]),
            shared,
            late,
        ]),
        16_000,
    );
}
