//! Calls the functions of a C library at random, with handles and pointers of every kind: live,
//! freed, of the wrong type, off by some bytes, invented, NULL. Whatever the arguments, the library
//! must return, and must not crash, hang or leak memory.
//!
//!     dat-fuzz --calls 1000000 --seed 7 libdat2.so.2
//!
//! Run it under valgrind to detect every invalid access. With one thread, the same seed makes the
//! same calls.

mod argument;
mod function;
mod library;
mod pool;
mod scenario;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;

use clap::Parser;

use fastrand::Rng;
use library::Library;
use pool::Pool;
use scenario::Scenario;

/// Makes random calls through a C library of DAT.
#[derive(Debug, Parser)]
struct Options {
    /// The library: libdat.so.1 or libdat2.so.2.
    library: PathBuf,
    /// Number of calls that each thread makes.
    #[arg(long, default_value_t = 100_000)]
    calls: u64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of threads, each of which uses its own handles and those of the others.
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Prints each call before it is made, to find the one that crashes.
    #[arg(long)]
    verbose: bool,
}

/// The number of random calls between two scenarios.
const SCENE: u64 = 1000;

/// The approximate number of adapters that are open at a time.
const OPEN: u64 = 8;

/// With fewer calls than this, some function may never succeed by chance.
const ENOUGH: u64 = 250_000;

fn run(library: &Library, pool: &Pool, options: &Options, thread: u64) {
    let mut random = Rng::with_seed(options.seed.wrapping_add(thread << 32));
    for at in 0..options.calls {
        if at % SCENE == 0 {
            let scenario = Scenario::new(library, pool);
            // Threads have qualifiers of their own, so that each connects to its own service
            // points.
            scenario.play(1000 + 10 * thread + random.u64(..3), 1 + random.u64(..OPEN));
            // Not with several threads: their locks would stay locked in a child.
            if options.threads == 1 && random.u64(..100) < 5 {
                scenario.fork();
            }
        }
        let function = library.choose(&mut random);
        let call = function.prepare(pool, &mut random);
        if options.verbose {
            eprintln!("{at}: {}{:x?}", function.name, call.arguments());
        }
        if library.call(function, &call) == 0 {
            call.learn(function, pool);
        }
    }
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
    thread::scope(|scope| {
        for thread in 0..options.threads {
            let (library, pool, options) = (&library, &pool, &options);
            scope.spawn(move || run(library, pool, options, thread));
        }
    });
    library.close_all();
    let (mut calls, mut done, mut never) = (0, 0, Vec::new());
    for function in &library.functions {
        let successful = function.done.load(Ordering::Relaxed);
        calls += function.calls.load(Ordering::Relaxed);
        done += successful;
        if successful == 0 {
            never.push(function.name);
        }
    }
    println!(
        "{}: seed {}, {calls} calls of {} functions, {done} of them successful; never: {never:?}",
        options.library.display(),
        options.seed,
        library.functions.len(),
    );
    if !never.is_empty() && options.calls >= ENOUGH {
        eprintln!("what lies behind a call that never succeeds is not tried: {never:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
