//! `dat top`: what the connections of running programs do, and what they wait for.

mod json;
mod table;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use dat_core::monitor::Watch;

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

A row is an endpoint that is connected or connecting; a process without one has a row for
each adapter. LINK is the kind of the link, and READER the thread that reads it (a state of
docs/attention.md). REQ is the number of requests that are not complete, RECV that of receives
that no message has consumed, CRED that of messages for which the peer has receives, DONE that
of completions that the consumer has not taken. OUT and IN are rates of the link, with the
heads of its frames; memory that two processes of one machine access directly does not pass
the link. AGE is the time for which the oldest request or completion makes no progress. After
one second, WAITS FOR says what is missing.

The counters of endpoints are in the JSON, if the program has started them with
dat_ib_start_counter(3).

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
        watch.look();
        rest(interval.max(Duration::from_secs(1)) + Duration::from_millis(100));
        let (processes, errors) = watch.look();
        if args.json {
            output.json(&json::Report::new(&processes, &errors));
        } else {
            table::print(&processes, output);
            errors.iter().for_each(|error| complain(&error.to_string()));
        }
        return Verdict::Passed;
    }
    let is_terminal = std::io::stdout().is_terminal();
    while !interrupt::is_requested() && output.is_open() {
        let (processes, errors) = watch.look();
        if is_terminal {
            // To the first line, and everything from there on is erased.
            output.file(b"\x1b[H\x1b[J");
        }
        table::print(&processes, output);
        errors.iter().for_each(|error| output.line(error));
        if !is_terminal {
            output.line("");
        }
        rest(interval);
    }
    Verdict::Passed
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
