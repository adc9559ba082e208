//! `dat top`: what the connections of running programs do, and what they wait for.

mod counters;
mod json;
mod table;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dat_core::monitor::{ProcessView, Watch};

use crate::output::{Output, complain};
use crate::verdict::EXIT_CODES;
use crate::{Verdict, interrupt};

/// Shows the connections of running programs: what they do, and what they wait for
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
Examples:
  dat top                  a table that refreshes each second, until Ctrl-C
  dat top --once           the table once, with the rates of one second
  dat top --json           the same as JSON
  dat top --counters       with the counters below the table

A row is an endpoint that is connected or connecting; a process without one has a row for
each adapter. LINK is the kind of the link, and READER the thread that reads it (a state of
docs/attention.md). REQ counts the requests that are not complete, RECV the receives that no
message has consumed, CRED the messages for which the peer has receives, and DONE the
completions that the consumer has not taken. OUT and IN are bytes a second, with the heads of
the link's frames; what one process reads or writes directly in the memory of another one is
counted at the side that does that. AGE is the time for which the oldest request or completion makes no progress. After
one second, WAITS FOR says what is missing.

Counters, and the sizes of operations, are in the JSON and are shown by --counters, if they are
started: by dat_ib_start_counter(3), or for all objects of an adapter by its parameter
counters=yes (dat.conf(5)).

Programs need no option for this: each process with an open adapter keeps a page of shared
memory, which only the same user (and root) can read. Adapters that were opened with the
parameter monitor=no are not shown.

{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Print the table once
    #[arg(long)]
    once: bool,
    /// Print JSON, once
    #[arg(long)]
    json: bool,
    /// Print the counters that are started below the table
    #[arg(long, conflicts_with = "json")]
    counters: bool,
    /// Seconds between two tables
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("use a number from 0.1 to 3600".to_owned()),
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Verdict {
    let interval = Duration::from_secs_f64(args.interval);
    let mut watch = Watch::new();
    interrupt::watch();
    if args.once || args.json {
        // Rates, and what is stalled, follow from two looks.
        watch.sample();
        rest(interval.max(Duration::from_secs(1)) + Duration::from_millis(100));
        let (processes, errors) = watch.sample();
        if args.json {
            output.json(&json::Report::new(&processes, &errors));
        } else {
            print(args, &processes, output);
            errors.iter().for_each(|error| complain(&error.to_string()));
        }
        return Verdict::Passed;
    }
    let is_terminal = std::io::stdout().is_terminal();
    while !interrupt::is_requested() && output.is_open() {
        let (processes, errors) = watch.sample();
        if is_terminal {
            // To the first line, and everything from there on is erased.
            output.file(b"\x1b[H\x1b[J");
        }
        print(args, &processes, output);
        errors.iter().for_each(|error| output.line(error));
        if !is_terminal {
            output.line("");
        }
        rest(interval);
    }
    Verdict::Passed
}

fn print(args: &Args, processes: &[ProcessView], output: &mut Output) {
    table::print(processes, output);
    if args.counters {
        counters::print(processes, output);
    }
}

/// Sleeps that long, or until Ctrl-C.
fn rest(time: Duration) {
    let end = Instant::now() + time;
    while !interrupt::is_requested() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}
