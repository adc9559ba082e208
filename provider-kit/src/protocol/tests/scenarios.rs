//! The scenarios in which no request fails.

use dat_provider::flags::CompletionFlags;

use super::explore::explore_all;
use super::script::{Acks, Scenario, Step};
use Step::{
    Add, After, Bind, Read, Receive, Send, SendImmediate, SendInvalidate, Swap, Write,
    WriteImmediate,
};

/// A scenario over links that behave in different ways.
pub(super) fn over_all_links(scenario: &Scenario) -> Vec<Scenario> {
    let with = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        changed
    };
    vec![
        scenario.clone(),
        with(&|it| (it.acks, it.reads_several) = (Acks::Later, true)),
        with(&|it| it.refusals = 1),
        with(&|it| (it.holds, it.reads_several) = (true, true)),
        with(&|it| (it.is_fast, it.holds, it.acks) = (true, true, Acks::Later)),
        with(&|it| it.has_handshake = true),
    ]
}

fn over_all(scenarios: &[Scenario]) -> Vec<Scenario> {
    scenarios.iter().flat_map(over_all_links).collect()
}

#[test]
fn messages_in_both_directions_arrive_in_order() {
    let both = [Receive(16), Send(10)];
    let two = [Receive(16), Receive(3), Send(10), Send(0)];
    let other = [Receive(16), Send(2), Receive(16)];
    explore_all(
        &over_all(&[
            Scenario::new("one message each way", &both, &both),
            Scenario::new("two messages one way, one the other", &two, &other),
        ]),
        30_000,
    );
}

#[test]
fn messages_wait_for_receives() {
    let sends = [Send(10), Send(20), Send(3)];
    let receives = [Receive(32), Receive(32), Receive(32)];
    let mixed = [Receive(32), Send(5), Receive(32)];
    let mut before = Scenario::new("receives before the connection", &sends, &receives);
    before.before = [0, 2];
    let immediate = [WriteImmediate { length: 9, slot: 1, value: 42 }, Send(1)];
    let sent = [SendImmediate { length: 9, value: 42 }, SendImmediate { length: 0, value: 0 }];
    explore_all(
        &over_all(&[
            Scenario::new("three messages, three receives", &sends, &receives),
            Scenario::new("fewer receives than messages", &sends, &receives[..1]),
            Scenario::new("a write with immediate data", &immediate, &receives[..2]),
            Scenario::new("sends with immediate data", &sent, &receives[..2]),
            Scenario::new("ping and pong", &[Receive(32), Send(7), Send(8)], &mixed),
            before,
        ]),
        25_000,
    );
}

#[test]
fn reads_and_atomics_are_answered_in_order() {
    let slots = [
        Read { length: 40, slot: 1 },
        Add { slot: 2, add: 5 },
        Write { length: 8, slot: 3 },
        Swap { slot: 2, value: 9 },
    ];
    let swaps =
        [Swap { slot: 2, value: 9 }, Swap { slot: 2, value: 11 }, Read { length: 0, slot: 0 }];
    let far = [Receive(8), Add { slot: 4, add: 1 }];
    let mut one_read = Scenario::new("one read at once", &slots[..2], &far);
    one_read.reads = 1;
    let fenced = [Read { length: 40, slot: 1 }, Write { length: 40, slot: 1 }, Send(4)];
    let fenced = Scenario::new("a fence", &fenced, &far[..1]);
    explore_all(
        &over_all(&[
            Scenario::new("reads and atomics", &slots, &[]),
            Scenario::new("two swaps", &swaps, &[]),
            one_read,
            fenced.with_flags(0, 1, CompletionFlags::BARRIER_FENCE),
        ]),
        20_000,
    );
}

#[test]
fn a_shared_receive_queue_gets_short_and_long_messages() {
    let receives = [Receive(5000), Receive(5000), Receive(5000)];
    let shared = |name, sends: &[Step], receives: &[Step]| {
        let mut scenario = Scenario::new(name, sends, receives);
        (scenario.shared, scenario.slot) = ([false, true], 5000);
        scenario.slots = 3;
        scenario
    };
    let write = Write { length: 8, slot: 1 };
    let immediate = WriteImmediate { length: 9, slot: 1, value: 42 };
    let sent = [4097, 9].map(|length| SendImmediate { length, value: 42 });
    let mut both = shared("both sides", &[Receive(9), Send(7)], &[Receive(9), Send(5000)]);
    both.shared = [true, true];
    explore_all(
        &over_all(&[
            shared("short messages", &[Send(10), Send(0), Send(4096)], &receives),
            shared("a long message", &[Send(5000), Send(10)], &receives[..2]),
            shared("a long one behind a short one", &[Send(10), Send(5000)], &receives[..2]),
            shared("a write behind a message", &[Send(10), write], &receives[..1]),
            shared("immediate data", &[Send(1), immediate], &receives[..2]),
            shared("sends with immediate data", &sent, &receives[..2]),
            shared("no receive", &[Send(10), Send(10)], &[]),
            shared("no receive for a long message", &[Send(5000), write], &[]),
            both,
        ]),
        7000,
    );
}

#[test]
fn offered_messages_are_fetched_or_sent() {
    let offer = |name, may_fail, shared, sends: &[Step], receives: &[Step]| {
        let mut scenario = Scenario::new(name, sends, receives);
        (scenario.offers, scenario.slot, scenario.piece) = (Some(may_fail), 9000, 5000);
        scenario.slots = 3;
        scenario.shared = [false, shared];
        scenario
    };
    let sends = [Send(9000), Send(8), Send(8192)];
    let receives = [Receive(9000), Receive(9000), Receive(9000)];
    let each = [Receive(9000), Send(8192)];
    let mut both = offer("offers both ways", true, false, &each, &each);
    both.before = [1, 1];
    explore_all(
        &over_all(&[
            offer("offers", false, false, &sends[..2], &receives[..2]),
            offer("offers that are not fetched", true, false, &sends[..2], &receives[..2]),
            offer("offers to a shared queue", true, true, &sends[..2], &receives[..2]),
            both,
        ]),
        7500,
    );
}

#[test]
fn direct_accesses_keep_the_order() {
    let slots = [
        Write { length: 8, slot: 3 },
        Send(3),
        Read { length: 8, slot: 3 },
        Write { length: 5, slot: 4 },
    ];
    let mut scenario = Scenario::new("direct accesses", &slots, &[Receive(8)]);
    scenario.accesses = true;
    explore_all(&over_all(&[scenario]), 15_000);
}

#[test]
fn windows_are_bound_in_order_and_invalidated_by_messages() {
    let owner = [Bind { slot: 2 }, Send(1), Receive(8)];
    let user = [Receive(8), After(1), Step::WriteWindow { length: 16, slot: 2 }, SendInvalidate(4)];
    let mut shared = Scenario::new("a window, shared queue", &owner, &user);
    shared.shared = [true, true];
    explore_all(&over_all(&[Scenario::new("a window", &owner, &user), shared]), 5000);
}

#[test]
fn long_transfers_come_in_pieces() {
    let long = 65_536 + 40;
    let sends = [Send(long), Write { length: long, slot: 0 }];
    let mut scenario = Scenario::new("pieces", &sends, &[Receive(long)]);
    (scenario.slot, scenario.slots, scenario.piece) = (66_000, 2, 20);
    let mut read = Scenario::new(
        "pieces of an answer",
        &[Read { length: 50, slot: 0 }, Add { slot: 1, add: 7 }],
        &[],
    );
    read.piece = 20;
    explore_all(&over_all(&[scenario, read]), 1100);
}

#[test]
fn suppressed_successes_return_their_credits() {
    let slots = [Write { length: 8, slot: 3 }, Add { slot: 2, add: 5 }, Send(1)];
    let scenario = Scenario::new("suppressed", &slots, &[Receive(1), Send(8)])
        .with_flags(0, 0, CompletionFlags::SUPPRESS)
        .with_flags(0, 2, CompletionFlags::SUPPRESS);
    explore_all(&over_all(&[scenario]), 7000);
}
