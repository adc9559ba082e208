//! Runs the suite over a provider that needs no device. Arguments are filters, as of any test.

use std::collections::BTreeSet;
use std::process::ExitCode;

use dat_conformance::report::{human_line, human_summary};
use dat_conformance::{Exclusions, Outcome, Plan, Target, Verdict, all, set_target};
use dat_core::Registry;

/// Runs the cases over an adapter by that name, but for those that are excluded with a reason.
pub(crate) fn run(name: &str, exclusions: &str) -> Vec<Verdict> {
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let registry = Registry::new();
    let providers = [
        dat_provider_auto::provider(),
        dat_provider_loopback::provider(),
        dat_provider_shm::provider(),
        dat_provider_tcp::provider(),
    ];
    for provider in providers {
        registry.add_provider(provider).expect("each has a name of its own");
    }
    set_target(Target::new(registry, name));
    let exclusions = Exclusions::parse(exclusions).expect("every exclusion has a reason");
    let cases = all();
    let names: Vec<&str> = cases.iter().map(|case| case.short_name()).collect();
    assert_eq!(exclusions.unused(&names), [""; 0], "exclusions that match no case");
    let unique: BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "two cases have one name");
    println!("\nrunning {} cases on {name}", cases.len());
    let plan = Plan { filters, exclusions, ..Plan::default() };
    let verdicts = plan.run(&cases, |verdict| println!("{}", human_line(verdict)));
    println!("\n{}", human_summary(&verdicts));
    verdicts
}

/// The exit code of a run: no case may fail, and none may be skipped for another reason than those
/// that the documents of the provider name.
pub(crate) fn judge(verdicts: &[Verdict], limits: &[&str]) -> ExitCode {
    let is_expected = |verdict: &&Verdict| match &verdict.outcome {
        Outcome::Skipped(reason) => limits.contains(&reason.as_str()),
        outcome => !outcome.is_failure(),
    };
    let unexpected = verdicts.iter().filter(|verdict| !is_expected(verdict)).count();
    ExitCode::from(u8::from(unexpected > 0))
}
