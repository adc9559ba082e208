//! Runs the suite over a C library: libdat.so with the feature `c-1-2`, and libdat2.so without it.
//! Arguments are filters, as for other tests. `DAT_TEST_IA` selects an adapter (default: loopback),
//! `DAT_TEST_EXCLUDE` is a list of files with excluded cases, separated like PATH, and
//! `DAT_TEST_ROUNDS` scales how often cases repeat a race, in percent.

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(feature = "c-1-2")]
use dat_conformance_c_v1 as suite;
#[cfg(not(feature = "c-1-2"))]
use dat_conformance_c_v2 as suite;
use dat_core::Registry;
use suite::report::{Totals, human_line, human_summary};
use suite::{Exclusions, Outcome, Plan, Target, Verdict, all, set_target};

/// Cases that can't be run through the library, with reasons.
const EXCLUSIONS: [&str; 2] = [
    include_str!("exclude/both.txt"),
    if cfg!(feature = "c-1-2") {
        include_str!("exclude/1.2.txt")
    } else {
        include_str!("exclude/2.0.txt")
    },
];

/// The adapter that every library has.
const LOOPBACK: &str = "loopback";

/// How long a case may take: several suites may share a guest.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs all cases that are not excluded. Fails if a case fails or, over the software providers, is
/// skipped.
fn main() -> ExitCode {
    let filters: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let adapter = env::var("DAT_TEST_IA").unwrap_or_else(|_| LOOPBACK.to_owned());
    let mut target = Target::new(Registry::of_library(), adapter.clone());
    if let Ok(percent) = env::var("DAT_TEST_ROUNDS") {
        target.rounds_percent = percent.parse().expect("DAT_TEST_ROUNDS is a percentage");
    }
    set_target(target);
    let mut exclusions = EXCLUSIONS.concat();
    let files = env::var_os("DAT_TEST_EXCLUDE");
    let files = files.iter().flat_map(env::split_paths);
    for file in files.filter(|file| !file.as_os_str().is_empty()) {
        let more = std::fs::read_to_string(&file);
        exclusions += &more.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let exclusions = Exclusions::parse(&exclusions).expect("every exclusion has a reason");
    let cases = all();
    let names: Vec<&str> = cases.iter().map(|case| case.short_name()).collect();
    assert_eq!(exclusions.unused(&names), [""; 0], "exclusions that match no case");
    let library = dat_core::load().display();
    println!("\nrunning {} cases on {adapter} of {library}", cases.len());
    let plan = Plan { filters, exclusions, limit: LIMIT };
    let verdicts = plan.run(&cases, |verdict| println!("{}", human_line(verdict)));
    let mut reasons = BTreeMap::<&str, usize>::new();
    for verdict in &verdicts {
        if let Outcome::Excluded(reason) = &verdict.outcome {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    println!("\nexcluded, and why:");
    for (reason, number) in reasons {
        println!("{number:5}  {reason}");
    }
    println!("\n{}", human_summary(&verdicts));
    // They support everything. Cases that the API does not support are excluded by name.
    let is_software = [LOOPBACK, "shm"].contains(&adapter.as_str())
        || ["auto?", "tcp-"].iter().any(|link| adapter.starts_with(link));
    let is_unexpected = |verdict: &&Verdict| match &verdict.outcome {
        Outcome::Skipped(_) => is_software,
        outcome => outcome.is_failure(),
    };
    let unexpected = verdicts.iter().filter(is_unexpected).count();
    ExitCode::from(u8::from(unexpected > 0 || Totals::of(&verdicts).passed == 0))
}
