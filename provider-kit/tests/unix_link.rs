//! The conformance suite over the link of the guide.

#[allow(dead_code, reason = "the program of the example")]
#[path = "../examples/unix_link.rs"]
mod unix_link;

use std::sync::Arc;

use dat_conformance::report::human_line;
use dat_conformance::{Exclusions, Outcome, Plan, Target, all, set_target};
use dat_core::Registry;

/// What the engine does not offer.
const LIMIT: &str = "the provider has no datagrams";
/// Like shared memory, UNIX sockets reach every loopback address.
const EXCLUSIONS: &str = include_str!("../../tests/conformance/exclude/shm.txt");

#[test]
fn the_link_of_the_guide_passes_the_conformance_suite() {
    let registry = Registry::new();
    registry.add_provider(Arc::new(unix_link::Unix)).expect("the only provider");
    // Other runs on this machine have the same qualifiers.
    let name = format!("unix?space={}", std::process::id());
    set_target(Target::new(registry, &name));
    let exclusions = Exclusions::parse(EXCLUSIONS).expect("every exclusion has a reason");
    let verdicts = Plan { exclusions, ..Plan::default() }.run(&all(), |_| ());
    let passed = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Passed).count();
    assert!(passed > 500, "{passed} cases have passed");
    let unexpected = verdicts.iter().filter(|verdict| match &verdict.outcome {
        Outcome::Skipped(reason) => reason != LIMIT,
        outcome => outcome.is_failure(),
    });
    let unexpected: Vec<_> = unexpected.map(human_line).collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
