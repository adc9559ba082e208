//! The suite over the loopback provider. Arguments are filters, as of any test.

use std::process::ExitCode;

use dat_conformance::report::{Totals, human_line, human_summary};
use dat_conformance::{Exclusions, Plan, Target, all, set_target};
use dat_core::Registry;

fn main() -> ExitCode {
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let registry = Registry::new();
    registry.add_provider(provider_loopback::provider()).expect("an empty registry");
    set_target(Target { registry, name: "loopback".to_owned() });
    let exclusions = Exclusions::parse(include_str!("../exclude/loopback.txt"));
    let exclusions = exclusions.expect("every exclusion has a reason");
    let cases = all();
    let names: Vec<&str> = cases.iter().map(|case| case.short_name()).collect();
    assert_eq!(exclusions.unused(&names), [""; 0], "exclusions that match no case");
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "two cases have one name");
    println!("\nrunning {} cases on loopback", cases.len());
    let plan = Plan { filters, exclusions, ..Plan::default() };
    let verdicts = plan.run(&cases, |verdict| println!("{}", human_line(verdict)));
    println!("\n{}", human_summary(&verdicts));
    let totals = Totals::of(&verdicts);
    // The reference tries every rule: a case that is skipped here is tried nowhere.
    ExitCode::from(u8::from(totals.failed + totals.skipped + totals.excluded > 0))
}
