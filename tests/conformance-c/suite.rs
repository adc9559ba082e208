//! Runs the suite over a C library. Arguments are filters, as of any test.

use std::collections::BTreeMap;
use std::process::ExitCode;

use super::suite::report::{Totals, human_line, human_summary};
use super::suite::{Exclusions, Outcome, Plan, Target, all, set_target};
use dat_core::Registry;

/// Runs all cases but those excluded; a failure or a skipped case fails it.
pub(crate) fn run(exclusions: &str) -> ExitCode {
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    set_target(Target { registry: Registry::of_library(), name: "loopback".to_owned() });
    let exclusions = Exclusions::parse(exclusions).expect("every exclusion has a reason");
    let cases = all();
    let names: Vec<&str> = cases.iter().map(|case| case.short_name()).collect();
    assert_eq!(exclusions.unused(&names), [""; 0], "exclusions that match no case");
    println!("\nrunning {} cases on {}", cases.len(), dat_core::load().display());
    let plan = Plan { filters, exclusions, ..Plan::default() };
    let verdicts = plan.run(&cases, |verdict| println!("{}", human_line(verdict)));
    let mut reasons = BTreeMap::<&str, usize>::new();
    for verdict in &verdicts {
        if let Outcome::Excluded(reason) = &verdict.outcome {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    println!("\nexcluded, since it is not in this API:");
    for (reason, number) in reasons {
        println!("{number:5}  {reason}");
    }
    println!("\n{}", human_summary(&verdicts));
    let totals = Totals::of(&verdicts);
    // Loopback can all that the suite asks for: what the API can't is excluded by name.
    ExitCode::from(u8::from(totals.failed + totals.skipped > 0))
}
