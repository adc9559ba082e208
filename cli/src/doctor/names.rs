//! The names that can be opened now, and whether what is built in works.

use std::time::Duration;

use dat_core::Registry;
use dat_core::registry::{Configuration, Entry, Fate, Origin};

use super::machine::Machine;
use super::report::{Check, Finding};
use crate::fault::Fault;
use crate::output::Output;
use crate::{ping, providers};

/// How long any step of the self-test may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens each name.
pub(super) fn check(machine: &Machine, registry: &Registry, entries: &[Entry]) -> Check {
    let mut findings = Vec::new();
    for entry in entries {
        let built_in = entry.library == providers::BUILT_IN;
        let found_here = matches!(entry.origin, Origin::Discovered);
        // What this machine has is no part of a copied system.
        if machine.system.is_copy() && found_here && !built_in {
            continue;
        }
        let finding = match &entry.fate {
            Fate::Usable if machine.system.is_copy() && !built_in => {
                Finding::ok(&entry.name, format!("{}; not tried: this is a copy", describe(entry)))
                    .fact("opened", ())
            }
            Fate::Usable => open(registry, entry),
            // The line or the port that is to blame was told of already.
            Fate::Unusable(reason) if found_here => {
                let fault = Fault::from(reason.clone());
                Finding::note(&entry.name, fault.reason).advise(fault.advice).fact("opened", false)
            }
            Fate::Unusable(_) | Fate::Shadowed(_) => continue,
        };
        findings.push(finding.fact("name", &entry.name).fact("provider", &entry.library));
    }
    Check { key: "names", title: "Names to open adapters by", findings }
}

fn open(registry: &Registry, entry: &Entry) -> Finding {
    match registry.open(&entry.name) {
        Ok(_) => Finding::ok(&entry.name, describe(entry)).fact("opened", true),
        Err(error) => {
            let fault = Fault::from(error);
            let found = format!("can't be opened: {}", fault.reason);
            Finding::problem(&entry.name, found)
                .advise(fault.advice.clone())
                .fact("opened", false)
                .fact("error", fault)
        }
    }
}

fn describe(entry: &Entry) -> String {
    let mut words = vec![entry.library.clone()];
    words.extend(entry.provider_version.as_ref().map(ToString::to_string));
    words.extend(Some(entry.summary.clone()).filter(|summary| !summary.is_empty()));
    words.join(", ")
}

/// Tries every step of `dat ping` on what is built in, without any configuration.
pub(super) fn self_test(output: &mut Output) -> Check {
    let name = providers::BUILT_IN;
    let registry = providers::registry_of(Configuration::empty());
    let outcome = ping::try_quietly(registry, name, PATIENCE, output);
    let finding = match outcome.failure {
        None => Finding::ok(name, format!("{} steps of dat ping passed", outcome.passed)),
        Some((step, fault)) => {
            let finding = Finding::problem(name, format!("{step} failed: {}", fault.reason))
                .advise(fault.advice.clone());
            finding.fact("step", step).fact("error", fault)
        }
    };
    let finding = finding.fact("name", name).fact("steps_passed", outcome.passed);
    Check { key: "self_test", title: "Self-test", findings: vec![finding] }
}
