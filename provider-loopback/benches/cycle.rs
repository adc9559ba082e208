//! How long a receive, a send and the polls of both take, through the contract's traits.
//! `cargo bench -p provider-loopback`; the figure to beat when a lock goes.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::World;
use dat_core::provider::Completion;

const CYCLES: u32 = 2_000_000;
const ROUNDS: u32 = 5;

fn main() {
    let world = World::new();
    for length in [0, 64, 4096] {
        let (a, b) = world.pair();
        let (from, to) = (world.buffer(4096), world.buffer(4096));
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let mut found = [Completion::default(); 4];
            let mut poll = |side: &common::Side| {
                assert_eq!(side.recorder.poller.lock().unwrap().poll(&mut found), 1);
                black_box(&found);
            };
            let start = Instant::now();
            for cookie in 0..CYCLES {
                b.receive(u64::from(cookie), &[to.segment(0, length)]);
                a.send(u64::from(cookie), &[from.segment(0, length)]);
                poll(&a);
                poll(&b);
            }
            best = best.min(start.elapsed().as_nanos() as f64 / f64::from(CYCLES));
        }
        println!("{length:>5} bytes: {best:.0} ns for receive, send and two polls");
    }
}
