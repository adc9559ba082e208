//! `docs/readings.md`: the cases that it names exist, and its index by call is up to date.
//!
//! The index is generated from the sources of the cases that hold each reading, and from the calls
//! that the reading itself names. This test compares it, and rewrites it when `DAT_BLESS` is set.

use std::collections::BTreeMap;
use std::fmt::Write;

use dat_conformance::{Case, all};

use crate::calls;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/readings.md");
const INDEX: &str = "\n## Index by call\n";
/// Bytes of a reading that the index quotes at most.
const EXCERPT: usize = 90;

/// A row of the tables: what is read into the text, and what holds this implementation to it.
struct Reading<'a> {
    section: &'a str,
    text: &'a str,
    held_by: &'a str,
}

fn readings(document: &str) -> Vec<Reading<'_>> {
    let (mut section, mut found) = ("", Vec::new());
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading;
        }
        let Some((text, held_by)) =
            line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")?.rsplit_once(" | "))
        else {
            continue;
        };
        if text != "reading" && !text.starts_with("---") {
            found.push(Reading { section, text, held_by });
        }
    }
    found
}

/// The names in backquotes that have the form of a case.
fn named_cases(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|quoted| {
        quoted.split("::").count() == 2
            && quoted.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:".contains(&byte)
            })
    })
}

/// The first words of a reading, without formatting.
fn excerpt(text: &str) -> String {
    let plain = text.replace('`', "");
    let sentence = plain.split(": ").next().unwrap_or_default().trim_end_matches('.');
    if sentence.len() <= EXCERPT {
        return sentence.to_owned();
    }
    let mut short = String::new();
    for word in sentence.split(' ') {
        if short.len() + word.len() > EXCERPT {
            break;
        }
        short += word;
        short.push(' ');
    }
    format!("{}…", short.trim_end())
}

fn index(document: &str) -> String {
    let cases: BTreeMap<&str, Case> = all().iter().map(|it| (it.short_name(), *it)).collect();
    let calls = calls::all();
    let mut entries: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for reading in readings(document) {
        let mut found: Vec<&str> = Vec::new();
        for call in &calls {
            let is_held_by_it = named_cases(reading.held_by)
                .filter_map(|name| cases.get(name))
                .any(|case| call.is_named_in(case.source));
            if is_held_by_it || call.is_named_in(reading.text) {
                found.push(call.name);
            }
        }
        let anchor = reading.section.to_lowercase().replace('.', "").replace(' ', "-");
        let entry = format!("- [{}](#{anchor})", excerpt(reading.text));
        if found.is_empty() {
            without.push(entry.clone());
        }
        for call in found {
            entries.entry(call).or_default().push(entry.clone());
        }
    }
    let mut text = format!(
        "{INDEX}\nGenerated from the cases: `DAT_BLESS=1 cargo test -p dat-conformance --test \
         documents`.\n"
    );
    for (call, readings) in entries {
        write!(text, "\n### {call}\n\n{}\n", readings.join("\n")).unwrap();
    }
    write!(text, "\n### No single call\n\n{}\n", without.join("\n")).unwrap();
    text
}

#[test]
fn the_index_by_call_is_up_to_date() {
    let committed = std::fs::read_to_string(PATH).expect("docs/readings.md");
    let tables = committed.split(INDEX).next().expect("the tables");
    assert!(readings(tables).len() > 80);
    let wanted = tables.to_owned() + &index(tables);
    if std::env::var_os("DAT_BLESS").is_some() {
        std::fs::write(PATH, &wanted).expect("docs/readings.md can be written");
        return;
    }
    assert!(committed == wanted, "docs/readings.md is out of date: run with DAT_BLESS=1");
}

#[test]
fn every_case_that_a_reading_names_exists() {
    let document = std::fs::read_to_string(PATH).expect("docs/readings.md");
    let cases = all();
    let named: Vec<&str> = named_cases(&document).filter(|name| *name != "noun::rule").collect();
    assert!(named.len() > 50, "{named:?}");
    let missing: Vec<_> =
        named.iter().filter(|name| !cases.iter().any(|it| it.short_name() == **name)).collect();
    assert!(missing.is_empty(), "docs/readings.md names cases that do not exist: {missing:?}");
}
