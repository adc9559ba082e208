//! Simulates many processes over the engine: the real endpoints, protocol and progress run in one thread, under a
//! scheduler that a seed decides, with a clock and a network of its own.
//!
//!     dat-simulate --seeds 0..100000        prints each seed that fails, and how to see it
//!     dat-simulate --seed 17 --trace        shows what happens

mod bounds;
mod datagrams;
mod descriptors;
mod direct;
mod ending;
mod events;
mod faults;
mod forks;
mod memory;
mod model;
mod network;
mod notifications;
mod plan;
mod process;
mod queue;
mod refusals;
mod registrations;
mod reports;
mod ring;
mod scheduler;
mod stream;
mod threads;
mod time_outs;
mod trace;
mod verbs;
mod waits;
mod workload;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use dat_core::Registry;
use dat_provider_kit::direct::page;
use dat_sync::clock;
use plan::Workload;

/// Simulates many processes over the engine.
#[derive(Parser)]
struct Arguments {
    /// The seeds, from A to B without B.
    #[arg(long, value_parser = range, default_value = "0..1000")]
    seeds: (u64, u64),
    /// Only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Only this workload, instead of one that the seed decides.
    #[arg(long, value_enum)]
    workload: Option<Workload>,
    /// Show what happens.
    #[arg(long)]
    trace: bool,
    /// Number of steps of a seed before it comes to rest.
    #[arg(long, default_value_t = 400)]
    steps: usize,
    /// End after this many seeds that fail.
    #[arg(long, default_value_t = 10)]
    failures: usize,
    /// End after this many seconds, even before the last seed.
    #[arg(long)]
    seconds: Option<u64>,
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let parts =
        text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    parts.ok_or_else(|| format!("{text} is not a range such as 0..1000"))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    clock::simulate();
    page::put_in_use();
    let registry = Registry::new();
    registry.add_provider(Arc::new(network::Simulated)).expect("one of that name");
    for provider in
        [dat_provider_shm::provider(), dat_provider_tcp::provider(), dat_provider_auto::provider()]
    {
        registry.add_provider(provider).expect("one of that name");
    }
    let (from, to) = arguments.seed.map_or(arguments.seeds, |seed| (seed, seed + 1));
    let end = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut failures, mut done) = (0, 0);
    for seed in from..to {
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        done += 1;
        let trace = trace::Trace::new(arguments.trace);
        let workload = arguments.workload.unwrap_or_else(|| Workload::of(seed));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            match workload {
                Workload::Verbs => return verbs::run(seed, arguments.steps, trace),
                Workload::Datagrams => return datagrams::run(seed, arguments.steps, trace),
                _ => {}
            }
            world::World::new(seed, arguments.workload, &registry, trace).run(arguments.steps)
        }));
        network::end();
        let why = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(why)) => why,
            Err(_) => "a panic".to_owned(),
        };
        let name = workload.to_possible_value().map(|value| value.get_name().to_owned());
        println!(
            "seed {seed}: {why}\n  dat-simulate --workload {} --seed {seed} --steps {} --trace",
            name.unwrap_or_default(),
            arguments.steps
        );
        failures += 1;
        if failures >= arguments.failures {
            break;
        }
    }
    println!("{done} seeds from {from} on: {failures} fail");
    ExitCode::from(u8::from(failures > 0))
}
