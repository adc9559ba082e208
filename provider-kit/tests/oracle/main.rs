//! Two queue pairs of the engine, over a link in memory that delays and splits as a seed says, do
//! what two queue pairs of loopback do: the same completions in the same order, with the same
//! statuses, and the same memory afterwards.

mod order;
mod transport;

use dat_conformance::{Buffer, Node, drain, expect_connections, state, until};
use dat_core::{
    CompletionFlags, ConnectionEventKind, DtoStatus, Ep, EpState, Event, LmrTriplet, Privileges,
    Registry,
};
use transport::Memories;

const NONE: CompletionFlags = CompletionFlags::empty();
const RECEIVES: u64 = 16;
const LONG: usize = 200_000;

/// A request of a scenario; offsets and lengths in bytes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    Write {
        from: usize,
        to: usize,
        length: usize,
    },
    WriteImmediate {
        length: usize,
        value: u32,
    },
    Read {
        from: usize,
        length: usize,
    },
    Add(u64),
    Swap(u64, u64),
    /// A write to a context that does not exist.
    Wrong,
}

/// What a scenario does: the requests of each side, and the lengths of the receives.
#[derive(Debug)]
struct Scenario {
    steps: [Vec<Step>; 2],
    receive: usize,
}

impl Scenario {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let fails = random.u8(0..3) == 0;
        let receive = if random.bool() { 300 } else { LONG };
        let mut side = |count: usize, fails: bool| -> Vec<Step> {
            let mut messages = 0;
            let mut steps = Vec::new();
            while steps.len() < count {
                let length = match random.u8(0..4) {
                    0 => 0,
                    1 => random.usize(1..LONG),
                    _ => random.usize(1..300),
                };
                let (from, to) = (random.usize(0..LONG), random.usize(0..LONG));
                steps.push(match random.u8(0..if fails { 8 } else { 7 }) {
                    0 | 1 if messages < RECEIVES => {
                        messages += 1;
                        Step::Send(if fails { length } else { length.min(receive) })
                    }
                    2 => Step::Write { from, to, length },
                    3 if messages < RECEIVES => {
                        messages += 1;
                        Step::WriteImmediate { length, value: random.u32(..) }
                    }
                    4 => Step::Read { from, length },
                    5 => Step::Add(random.u64(..)),
                    6 => Step::Swap(random.u64(0..2), random.u64(..)),
                    7 => Step::Wrong,
                    _ => continue,
                });
            }
            steps
        };
        // After a failure, what the other side has sent until then depends on the time.
        let steps = [side(24, fails), side(if fails { 0 } else { 24 }, false)];
        Self { steps, receive }
    }
}

/// What a side has: its own data to send, data that the peer writes, an area for its reads, an
/// area for its receives.
const AREA: usize = 2 * LONG;
const ATOMIC: usize = 3 * AREA;
const RECEIVED: usize = 3 * AREA + 64;

type Done = (u64, DtoStatus, u64);

/// Runs a scenario; the completions of each side, requests before receives, and the memories.
fn run(
    registry: &Registry,
    name: &str,
    scenario: &Scenario,
) -> ([[Vec<Done>; 2]; 2], [Vec<u8>; 2]) {
    let node = Node::on(registry.open(name).expect("an adapter"));
    let (client, server) = node.pair();
    let size = RECEIVED + RECEIVES as usize * LONG;
    let buffer = || {
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        Buffer::with(&node.ia, &node.pz, size, privileges)
    };
    let buffers = [buffer(), buffer()];
    for (index, buffer) in buffers.iter().enumerate() {
        let bytes: Vec<u8> = (0..AREA).map(|at| (at * 7 + at / 251 + index * 99) as u8).collect();
        buffer.fill(0, &bytes);
    }
    let eps = [&client, &server];
    for (ep, buffer) in eps.iter().zip(&buffers) {
        for cookie in 0..RECEIVES {
            let piece = buffer.piece(RECEIVED + cookie as usize * LONG, scenario.receive);
            ep.post_recv(&[piece], 1000 + cookie, NONE).expect("room");
        }
    }
    for at in 0..24 {
        for side in 0..2 {
            if let Some(step) = scenario.steps[side].get(at) {
                post(eps[side], &buffers[side], &buffers[1 - side], at as u64, *step);
            }
        }
    }
    let mut done: [[Vec<Done>; 2]; 2] = Default::default();
    let expected = |side: usize| {
        let takes = |step: &&Step| matches!(step, Step::Send(_) | Step::WriteImmediate { .. });
        scenario.steps[1 - side].iter().filter(takes).count()
    };
    until("all is complete", || {
        for (queue, kind) in [(&node.request, 0), (&node.recv, 1)] {
            for event in drain(queue) {
                let Event::Dto(one) = event else { panic!("{event:?}") };
                let side = usize::from(one.ep == server.id());
                let length = if one.status == DtoStatus::Success { one.length } else { 0 };
                done[side][kind].push((one.cookie, one.status, length));
            }
        }
        let is_over = state(&client) == EpState::Disconnected;
        (0..2).all(|side| {
            let receives = if is_over { RECEIVES as usize } else { expected(side) };
            done[side][0].len() == scenario.steps[side].len() && done[side][1].len() >= receives
        })
    });
    if state(&client) == EpState::Disconnected {
        expect_connections(&node.connect, &eps, ConnectionEventKind::Broken);
    }
    let memories = buffers.each_ref().map(|buffer| buffer.bytes(0, size));
    (done, memories)
}

fn post(ep: &Ep, near: &Buffer, far: &Buffer, cookie: u64, step: Step) {
    let two = |from: usize, length: usize| -> Vec<LmrTriplet> {
        let half = length / 2;
        vec![near.piece(from, half), near.piece(from + half, length - half)]
    };
    match step {
        Step::Send(length) => ep.post_send(&two(3, length), cookie, NONE),
        Step::Write { from, to, length } => {
            ep.post_rdma_write(&two(from, length), cookie, far.remote(AREA + to, length), NONE)
        }
        Step::WriteImmediate { length, value } => {
            let to = far.remote(AREA + 5, length);
            ep.post_rdma_write_immediate(&two(9, length), cookie, to, value, NONE)
        }
        Step::Read { from, length } => {
            ep.post_rdma_read(&two(2 * AREA + from, length), cookie, far.remote(from, length), NONE)
        }
        Step::Add(add) => {
            let to = near.piece(ATOMIC + 16, 8);
            ep.post_fetch_and_add(add, to, cookie, far.remote(ATOMIC, 8), NONE)
        }
        Step::Swap(compare, swap) => {
            let to = near.piece(ATOMIC + 24, 8);
            ep.post_compare_and_swap((compare, swap), to, cookie, far.remote(ATOMIC + 8, 8), NONE)
        }
        Step::Wrong => {
            let mut to = far.remote(AREA, 8);
            to.context ^= 0x5a5a_5a5a;
            ep.post_rdma_write(&two(0, 8), cookie, to, NONE)
        }
    }
    .expect("a valid request");
}

#[test]
fn the_engine_does_what_loopback_does() {
    let registry = Registry::new();
    registry.add_provider(std::sync::Arc::new(Memories)).expect("one of that name");
    registry.add_provider(dat_provider_loopback::provider()).expect("one of that name");
    let rounds = std::env::var("ORACLE_ROUNDS").ok().and_then(|text| text.parse().ok());
    for seed in 1..=rounds.unwrap_or(40_u64) {
        let scenario = Scenario::new(seed);
        let expected = run(&registry, "loopback", &scenario);
        let found = run(&registry, &format!("memory?{seed}"), &scenario);
        assert_eq!(found.0, expected.0, "completions of seed {seed}: {scenario:?}");
        assert!(found.1 == expected.1, "memory of seed {seed}: {scenario:?}");
    }
}
