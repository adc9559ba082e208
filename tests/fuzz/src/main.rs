//! Calls the functions of a C library at random, with handles and pointers of every kind: live,
//! freed, of the wrong type, off by some bytes, made up, NULL. Whatever comes, the library must
//! answer, and must not crash, hang or lose memory.
//!
//!     dat-fuzz --calls 1000000 --seed 7 libdat2.so.2
//!
//! Run it under valgrind to see every stray access. The same seed makes the same calls, with one
//! thread.

mod argument;
mod function;
mod library;
mod pool;
mod random;
mod scenario;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use clap::Parser;

use library::Library;
use pool::Pool;
use random::Random;
use scenario::Scenario;

/// Random calls through a C library of DAT.
#[derive(Debug, Parser)]
struct Options {
    /// The library: libdat.so.1 or libdat2.so.2.
    library: PathBuf,
    /// Calls that each thread makes.
    #[arg(long, default_value_t = 100_000)]
    calls: u64,
    /// Where the random numbers begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that call at the same time, each with handles of its own and of the others.
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Prints each call before it is made, to see the one that crashes.
    #[arg(long)]
    verbose: bool,
}

/// So many random calls come between two scenarios.
const SCENE: u64 = 1000;

/// About so many adapters are open at a time.
const OPEN: u64 = 8;

/// What a thread saw.
#[derive(Default)]
struct Seen {
    /// How often each function was called, and how often it did what it was asked to.
    calls: BTreeMap<&'static str, (u64, u64)>,
}

fn run(library: &Library, pool: &Pool, options: &Options, thread: u64) -> Seen {
    let mut random = Random::new(options.seed.wrapping_add(thread << 32));
    let mut seen = Seen::default();
    for at in 0..options.calls {
        if at % SCENE == 0 {
            Scenario::new(library, pool).play(1000 + random.below(3), 1 + random.below(OPEN));
        }
        let function = library.choose(&mut random);
        let call = function.prepare(pool, &mut random);
        if options.verbose {
            eprintln!("{at}: {}{:x?}", function.name, call.arguments());
        }
        let answer = library.call(function, &call);
        let done = answer == 0;
        if done {
            call.learn(function, pool);
        }
        let count = seen.calls.entry(function.name).or_default();
        count.0 += 1;
        count.1 += u64::from(done);
    }
    seen
}

fn main() -> ExitCode {
    let options = Options::parse();
    let library = match Library::open(&options.library) {
        Ok(library) => library,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let pool = Pool::new();
    let results: Vec<Seen> = thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| {
                let (library, pool, options) = (&library, &pool, &options);
                scope.spawn(move || run(library, pool, options, thread))
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap_or_default()).collect()
    });
    library.close_all();
    let mut total: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, (calls, done)) in results.into_iter().flat_map(|seen| seen.calls) {
        let sum = total.entry(name).or_default();
        *sum = (sum.0 + calls, sum.1 + done);
    }
    let never: Vec<&str> =
        total.iter().filter(|(_, (_, done))| *done == 0).map(|(name, _)| *name).collect();
    let calls: u64 = total.values().map(|(calls, _)| calls).sum();
    let done: u64 = total.values().map(|(_, done)| done).sum();
    println!(
        "{}: seed {}, {calls} calls of {} functions, {done} of them successful; never: {never:?}",
        options.library.display(),
        options.seed,
        total.len(),
    );
    ExitCode::SUCCESS
}
