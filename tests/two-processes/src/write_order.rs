//! The order in which the bytes of an RDMA write appear in the memory of its target.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::time::{Duration, Instant};

use dat_conformance::{Buffer, Node, drain, link, until};
use dat_core::{Close, EpState};

use crate::completions::{NONE, each_once};

/// Lengths in bytes, and how many writes are made of each.
const LENGTHS: [(usize, usize); 8] = [
    (2, 1000),
    (7, 1000),
    (8, 1000),
    (64, 2000),
    (200, 4000),
    (4096, 30_000),
    (100_000, 400),
    (1 << 20, 40),
];
/// Writes begin at up to this many bytes behind the start of the memory.
const SHIFTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(20);

/// A write: all of its bytes have the same value, which none of them had before.
struct Write {
    at: usize,
    length: usize,
    value: u8,
}

/// A program may poll the last byte of a write: once that has changed, all others have.
///
/// # Panics
/// If a byte of a write appears after the last one.
pub fn the_last_byte_of_a_write_appears_last(open: fn(&str) -> Node, parameters: &str) {
    let (near, far) = (open(parameters), open(parameters));
    let (client, server) = (near.ep(), far.ep());
    link(&near, &client, &far, &server);
    let room = SHIFTS + (1 << 20);
    let (source, target) = (near.buffer(room), far.buffer(room));
    let (writes, to_check) = unbounded();
    let (checked, late) = unbounded();
    let mut value = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| check(&target, to_check, checked));
        for (length, rounds) in LENGTHS {
            for round in 0..rounds {
                value = if value == u8::MAX { 1 } else { value + 1 };
                let at = round % SHIFTS;
                source.fill(at, &vec![value; length]);
                writes.send(Write { at, length, value }).expect("the checker runs");
                let cookie = round as u64;
                let (from, to) = (source.piece(at, length), target.remote(at, length));
                client.post_rdma_write(&[from], cookie, to, NONE).expect("connected");
                let late: usize = late.recv().expect("the last byte arrives in time");
                assert_eq!(late, 0, "of {length} bytes at {at}");
                each_once(&[&near.request], &[cookie]);
            }
        }
        drop(writes);
    });
    client.disconnect(Close::Graceful).expect("connected");
    let is_over = |ep| dat_conformance::state(ep) == EpState::Disconnected;
    until("both are disconnected", || is_over(&client) && is_over(&server));
    for ep in [client, server] {
        ep.free().expect("disconnected");
    }
    for buffer in [source, target] {
        buffer.lmr.free().expect("unused");
    }
    for node in [near, far] {
        drop(drain(&node.connect));
        node.finish();
    }
}

/// Polls the last byte of each write, and then counts the bytes that have not changed.
fn check(target: &Buffer, writes: Receiver<Write>, late: Sender<usize>) {
    let (mut last, mut all) = ([0], vec![0; target.memory.len()]);
    for Write { at, length, value } in writes {
        let begin = Instant::now();
        while last != [value] {
            if begin.elapsed() > PATIENCE {
                return;
            }
            for _ in 0..1000 {
                target.memory.read(at + length - 1, &mut last).expect("inside");
                if last == [value] {
                    break;
                }
            }
        }
        target.memory.read(at, &mut all[..length]).expect("inside");
        // It compares fast unless there are old bytes.
        let is_whole = all[..length] == *vec![value; length];
        let is_old = |byte: &&u8| **byte != value;
        let old = if is_whole { 0 } else { all[..length].iter().filter(is_old).count() };
        if late.send(old).is_err() {
            return;
        }
    }
}
