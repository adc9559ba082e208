//! The adapter names, and the self-test of the built-in adapter.

use std::time::Duration;

use dat_core::Registry;
use dat_core::registry::{Configuration, Entry, EntryOrigin, EntryStatus};

use super::machine::Machine;
use super::report::{Check, Finding};
use crate::error::CliError;
use crate::output::Output;
use crate::{ping, providers};

/// The timeout of each step of the self-test.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens each name.
pub(super) fn check(machine: &Machine, registry: &Registry, entries: &[Entry]) -> Check {
    let mut findings = Vec::new();
    for entry in entries {
        let built_in = entry.library == providers::LOOPBACK;
        let found_here = matches!(entry.origin, EntryOrigin::Discovered);
        // The devices of this machine do not belong to a copied system.
        if machine.system.is_copy() && found_here && !built_in {
            continue;
        }
        let finding = match &entry.status {
            EntryStatus::Usable if machine.system.is_copy() && !built_in => Finding::ok(
                &entry.name,
                format!(
                    "{}; not tried: this is a copy of a \
                     system",
                    describe(entry)
                ),
            )
            .fact("opened", ()),
            EntryStatus::Usable => open(registry, entry),
            // The check of the line or the port has already reported the problem.
            EntryStatus::Unusable(reason) if found_here => {
                let error = CliError::from(reason.clone());
                Finding::note(&entry.name, error.reason).advise(error.advice).fact("opened", false)
            }
            EntryStatus::Unusable(_) | EntryStatus::Shadowed(_) => continue,
        };
        findings.push(finding.fact("name", &entry.name).fact("provider", &entry.library));
    }
    Check { key: "names", title: "Adapter names", findings }
}

fn open(registry: &Registry, entry: &Entry) -> Finding {
    match registry.open(&entry.name) {
        Ok(_) => Finding::ok(&entry.name, describe(entry)).fact("opened", true),
        Err(error) => {
            let error = CliError::from(error);
            let found = format!("cannot be opened: {}", error.reason);
            Finding::problem(&entry.name, found)
                .advise(error.advice.clone())
                .fact("opened", false)
                .fact("error", error)
        }
    }
}

fn describe(entry: &Entry) -> String {
    // The version begins with the name of the provider.
    let version = entry.provider_version.as_ref().map(ToString::to_string);
    let mut words = vec![version.unwrap_or_else(|| entry.library.clone())];
    words.extend(Some(entry.summary.clone()).filter(|summary| !summary.is_empty()));
    words.join(", ")
}

/// Tests loopback.
pub(super) fn self_test(output: &mut Output) -> Check {
    let finding = ping_steps(providers::LOOPBACK, "", "", output);
    let finding = finding.fact("name", providers::LOOPBACK);
    Check { key: "self_test", title: "Self-test", findings: vec![finding] }
}

/// Runs the steps of `dat ping` on a built-in adapter, without a configuration. `passing` precedes the
/// number of steps, and `but` follows the name of the step that failed.
pub(super) fn ping_steps(name: &str, passing: &str, but: &str, output: &mut Output) -> Finding {
    let registry = providers::registry_of(Configuration::empty());
    let outcome = ping::try_quietly(registry, name, PATIENCE, output);
    let passed = outcome.passed;
    let finding = match outcome.failure {
        None => Finding::ok(name, format!("{passing}{passed} steps of dat ping passed")),
        Some((step, error)) => {
            Finding::problem(name, format!("{step} failed{but}: {}", error.reason))
                .advise(error.advice.clone())
                .fact("step", step)
                .fact("error", error)
        }
    };
    finding.fact("steps_passed", passed)
}

/// Connects an adapter to itself by the steps of `dat ping`.
pub(super) fn connects(name: &str, but: &str, output: &mut Output) -> Finding {
    let finding = ping_steps(name, "connects to itself; ", but, output);
    let is_connected = finding.is_ok();
    finding.fact("connected", is_connected)
}
