//! Times of operations. A round runs an operation in Rust and through each C library, one after the
//! other, so that other load on the machine affects all of them.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::end::Failure;
use crate::native::Native;
use crate::operation::{Operation, When};
use crate::shared::{Name, Shared};

/// Repetitions of the operation in a round, which takes some microseconds.
const TIMES: u64 = 100;

/// Warm-up rounds, which do not count.
const WARM_UP: u32 = 50;

/// Warm-up operations with many endpoints, so that each endpoint has been used before.
const MANY_TIMES: u64 = 100_000;

/// The number of turns with many endpoints.
const TURNS: u32 = 4;

/// Nanoseconds of one operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Times {
    min_ns: f64,
    median_ns: f64,
    max_ns: f64,
}

impl Times {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_unstable_by(f64::total_cmp);
        let last = rounds.len() - 1;
        Self { min_ns: rounds[0], median_ns: rounds[rounds.len() / 2], max_ns: rounds[last] }
    }
}

/// An operation through a C library.
#[derive(Clone, Copy, Debug, Serialize)]
struct ThroughC {
    library: Name,
    #[serde(flatten)]
    times: Times,
    /// The overhead over Rust: the difference of the fastest rounds, and the median difference
    /// within a round.
    added_per_call_min_ns: f64,
    added_per_call_median_ns: f64,
    /// The ratio of the fastest rounds.
    ratio: f64,
}

/// An operation, in Rust or through a library.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    operation: Operation,
    calls: usize,
    rust: Times,
    c: Vec<ThroughC>,
}

/// Times all operations with the C libraries in a folder.
pub(crate) fn measure(folder: &Path, rounds: u32) -> Result<Vec<Row>, Failure> {
    let native = Native::open()?;
    let shared: Vec<_> = Name::ALL
        .into_iter()
        .map(|name| Ok((name, Shared::open(folder, name)?)))
        .collect::<Result<_, Failure>>()?;
    let rows = Operation::timed()
        .map(|operation| row(operation, &native, &shared, rounds))
        .collect::<Result<_, _>>()?;
    for (_, shared) in shared {
        shared.close()?;
    }
    Ok(rows)
}

fn row(
    operation: Operation,
    native: &Native,
    shared: &[(Name, Shared)],
    rounds: u32,
) -> Result<Row, Failure> {
    let (rust, c) = match operation.is_among_many() {
        true => apart(operation, native, shared, rounds)?,
        false => in_turns(operation, native, shared, rounds)?,
    };
    let calls = operation.calls().len();
    let of_rust = Times::of(rust.clone());
    let c = shared.iter().zip(c).map(|((library, _), of_c)| {
        let added = of_c.iter().zip(&rust).map(|(c, rust)| (c - rust) / calls as f64).collect();
        let times = Times::of(of_c);
        ThroughC {
            library: *library,
            times,
            added_per_call_min_ns: (times.min_ns - of_rust.min_ns) / calls as f64,
            added_per_call_median_ns: Times::of(added).median_ns,
            ratio: times.min_ns / of_rust.min_ns,
        }
    });
    Ok(Row { operation, calls, rust: of_rust, c: c.collect() })
}

/// Nanoseconds per operation, by round: in Rust, and through each library.
type Rounds = (Vec<f64>, Vec<Vec<f64>>);

fn in_turns(
    operation: Operation,
    native: &Native,
    shared: &[(Name, Shared)],
    rounds: u32,
) -> Result<Rounds, Failure> {
    let ways: Vec<_> = shared
        .iter()
        .map(|(_, shared)| Ok((shared, shared.repeat(operation)?)))
        .collect::<Result<_, Failure>>()?;
    let mut rust = Vec::new();
    let mut c = vec![Vec::new(); ways.len()];
    for round in 0..WARM_UP + rounds {
        native.beside(operation, When::Before, TIMES)?;
        let start = Instant::now();
        native.run(operation, TIMES)?;
        let in_rust = per_operation(start);
        native.beside(operation, When::After, TIMES)?;
        let through_c = ways.iter().map(|(shared, repeat)| {
            shared.beside(operation, When::Before, TIMES);
            let start = Instant::now();
            repeat(TIMES);
            let time = per_operation(start);
            shared.beside(operation, When::After, TIMES);
            time
        });
        if round < WARM_UP {
            through_c.for_each(drop);
            continue;
        }
        rust.push(in_rust);
        for (all, one) in c.iter_mut().zip(through_c) {
            all.push(one);
        }
    }
    Ok((rust, c))
}

/// Like [`in_turns`], but a turn has many rounds, and its endpoints are freed before the next turn:
/// three crowds would not fit into a cache.
fn apart(
    operation: Operation,
    native: &Native,
    shared: &[(Name, Shared)],
    rounds: u32,
) -> Result<Rounds, Failure> {
    let each = rounds.div_ceil(TURNS);
    let mut rust = Vec::new();
    let mut c = vec![Vec::new(); shared.len()];
    for _ in 0..TURNS {
        take_rounds(&mut rust, each, |times| native.run(operation, times))?;
        native.disperse();
        for ((_, shared), rounds) in shared.iter().zip(&mut c) {
            let repeat = shared.repeat(operation)?;
            take_rounds(rounds, each, |times| {
                repeat(times);
                Ok(())
            })?;
            shared.disperse()?;
        }
    }
    Ok((rust, c))
}

/// Takes some rounds, after a warm-up that uses each endpoint several times.
fn take_rounds(
    taken: &mut Vec<f64>,
    rounds: u32,
    run: impl Fn(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    run(MANY_TIMES)?;
    for _ in 0..rounds {
        let start = Instant::now();
        run(TIMES)?;
        taken.push(per_operation(start));
    }
    Ok(())
}

fn per_operation(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / TIMES as f64
}

/// Prints the rows as text.
pub(crate) fn print(rows: &[Row]) {
    println!("nanoseconds of one operation: the fastest round, the median, and the slowest");
    println!(
        "{:<24}{:>6}{:>24}{:>9}{:>24}{:>18}{:>8}",
        "operation", "calls", "in Rust", "", "through C", "added per call", "ratio"
    );
    for row in rows {
        for c in &row.c {
            println!(
                "{:<24}{:>6}{:>8.1}{:>8.1}{:>8.0}{:>9}{:>8.1}{:>8.1}{:>8.0}{:>9.1}{:>9.1}{:>8.2}",
                row.operation.name(),
                row.calls,
                row.rust.min_ns,
                row.rust.median_ns,
                row.rust.max_ns,
                format!("lib{}", c.library.text()),
                c.times.min_ns,
                c.times.median_ns,
                c.times.max_ns,
                c.added_per_call_min_ns,
                c.added_per_call_median_ns,
                c.ratio,
            );
        }
    }
}
