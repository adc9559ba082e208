//! The coverage table: every call of the API, and the cases that hold its rules.
//!
//! `docs/coverage.md` is generated from the cases; this test compares it, and writes it anew when
//! `DAT_BLESS` is set. A call without a case fails it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use dat_conformance::all;

const CALLS: &str = include_str!("../data/calls.csv");
const READINGS: &str = include_str!("../../../docs/readings.md");
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/coverage.md");

/// Whether a source names a call: the call's name, not as a part of a longer one.
fn names(source: &str, call: &str) -> bool {
    source
        .split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
        .any(|word| word == call)
}

fn table() -> (String, Vec<&'static str>) {
    let cases = all();
    let mut text = String::from(
        "# Coverage\n\n\
         Every call of DAT 2.0 and its InfiniBand extensions, and the conformance cases that hold \
         its rules. Made from the cases by `DAT_BLESS=1 cargo test -p dat-conformance --test \
         coverage`.\n\nThe same cases run through both C libraries; \
         `tests/conformance-c/exclude` names those that their APIs can't express, each with its \
         reason.\n\n## Calls\n\n| call | cases |\n| --- | --- |\n",
    );
    let mut empty = Vec::new();
    let mut used = BTreeSet::new();
    for line in CALLS.lines().skip(1) {
        let mut fields = line.splitn(3, ',');
        let (call, _, elsewhere) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let found: Vec<&str> = cases
            .iter()
            .filter(|case| names(case.source, call))
            .map(|case| case.short_name())
            .collect();
        used.extend(found.iter().copied());
        let what = if !found.is_empty() {
            found.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        } else if !elsewhere.is_empty() {
            elsewhere.to_owned()
        } else {
            empty.push(call);
            "none".to_owned()
        };
        writeln!(text, "| `{call}` | {what} |").unwrap();
    }
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in cases.iter().filter(|case| !used.contains(case.short_name())) {
        others.entry(case.source).or_default().push(case.short_name());
    }
    text += "\n## Rules of other sources\n\n| source | cases |\n| --- | --- |\n";
    for (source, names) in others {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {source} | {} |", names.join(", ")).unwrap();
    }
    (text, empty)
}

#[test]
fn every_call_has_a_case_and_the_table_is_up_to_date() {
    let (text, empty) = table();
    assert_eq!(empty, [""; 0], "calls without a case");
    if std::env::var_os("DAT_BLESS").is_some() {
        std::fs::write(TABLE, &text).expect("docs/coverage.md can be written");
    }
    let committed = std::fs::read_to_string(TABLE).expect("docs/coverage.md");
    assert_eq!(committed, text, "docs/coverage.md is out of date: run with DAT_BLESS=1");
}

#[test]
fn every_case_that_a_reading_names_exists() {
    let cases: BTreeSet<String> = all().iter().map(|case| case.short_name().to_owned()).collect();
    let named: Vec<&str> = READINGS
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|quoted| {
            quoted.split("::").count() == 2
                && quoted.bytes().all(|byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:".contains(&byte)
                })
        })
        .filter(|quoted| *quoted != "noun::rule")
        .collect();
    assert!(named.len() > 50, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !cases.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/readings.md names cases that do not exist: {missing:?}");
}

#[test]
fn a_source_names_whole_calls_only() {
    assert!(names("dat_ep_create(3DAT), USAGE", "dat_ep_create"));
    assert!(!names("dat_ep_create_with_srq(3DAT)", "dat_ep_create"));
}
