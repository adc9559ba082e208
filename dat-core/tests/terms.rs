//! Errors speak the language of the program: every name of C in a message of the core or of a
//! provider has its translation, and every translation exists in Rust.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use dat_core::error::{ReturnType, Subtype, Terms};
use dat_core::provider::stub::StubProvider;
use dat_core::{Close, EvdFlags, EvdOptions, Registry};

/// Names that are the same in every language: codes, events, variables of the environment and
/// attributes.
const SAME: &[&str] = &[
    "DAT_ASYNC_ERROR_",
    "DAT_COMPAT",
    "DAT_CONNECTION_EVENT_",
    "DAT_CONNECTION_REQUEST_EVENT",
    "DAT_DBG_",
    "DAT_DTO_",
    "DAT_EP_STATE_",
    "DAT_HA_",
    "DAT_IB_",
    "DAT_OVERRIDE",
    "DAT_RMR_",
    "DAT_SOFTWARE_EVENT",
];

/// The calls of C. Other names that begin with `dat_` are metrics, symbols and crates.
fn calls() -> HashSet<&'static str> {
    let prototypes = include_str!("../../docs/pages/prototypes.txt");
    let words = prototypes.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.filter(|it| it.starts_with("dat_")).collect()
}

fn is_same_everywhere(name: &str) -> bool {
    SAME.iter().any(|start| name.starts_with(start))
        || ReturnType::from_name(name).is_some()
        || Subtype::from_name(name).is_some()
        // The collective operations of DAT 2.0 have no methods of their own.
        || name.starts_with("dat_ib_collective_")
        || matches!(
            name,
            "dat_ib_start_counter" | "dat_ib_stop_counter" | "dat_ib_query_counters"
        )
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if path.is_dir() && name != "tests" && name != "terms" {
            sources(&path, into);
        } else if name.ends_with(".rs") && !name.contains("tests") {
            into.push(path);
        }
    }
}

/// The sources of the crates whose errors a program sees; those that the package does not contain
/// are left out.
fn all_sources() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    sources(&here.join("src"), &mut found);
    for neighbour in [
        "dat-provider",
        "provider-auto",
        "provider-kit",
        "provider-loopback",
        "provider-shm",
        "provider-tcp",
        "provider-verbs",
    ] {
        let folder = here.join("..").join(neighbour).join("src");
        if folder.is_dir() {
            sources(&folder, &mut found);
        }
    }
    found
}

/// The words of a source, without its tests and comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default().lines();
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|it: char| !it.is_ascii_alphanumeric() && it != '_'))
}

#[test]
fn every_name_of_c_in_a_message_has_a_name_in_rust() {
    let calls = calls();
    let mut untranslated = Vec::new();
    for path in all_sources() {
        let text = fs::read_to_string(&path).expect("a source");
        for word in words(&text) {
            let is_name = calls.contains(word) || word.starts_with("DAT_");
            if is_name && !is_same_everywhere(word) && Terms::Rust.name(word) == word {
                untranslated.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(untranslated.is_empty(), "no Rust name for: {untranslated:#?}");
}

#[test]
fn every_translation_names_something_that_exists() {
    let mut sources = String::new();
    for path in all_sources() {
        sources.push_str(&fs::read_to_string(&path).expect("a source"));
    }
    for word in calls() {
        let rust = Terms::Rust.name(word);
        let Some((_, method)) = rust.split_once("::") else { continue };
        let is_there = [format!("fn {method}("), format!("fn {method}<"), format!("{method},")];
        let is_there = is_there.iter().any(|text| sources.contains(text));
        assert!(is_there, "{word} is {rust}, which does not exist");
    }
}

#[test]
fn errors_speak_rust_to_rust() {
    let registry = Registry::new();
    registry.add_provider(std::sync::Arc::new(StubProvider)).expect("a new registry");
    let ia = registry.open("stub").expect("an adapter");
    let evd = ia.evd_create(&EvdOptions::new(4, EvdFlags::DTO)).expect("a dispatcher");
    let text = evd.post_software_event(1).expect_err("it has no software events").to_string();
    assert!(text.starts_with("Evd::post_software_event on EVD "), "{text}");
    assert!(text.ends_with("create it with EvdFlags::SOFTWARE"), "{text}");
    let text = ia.close(Close::Graceful).expect_err("it has a dispatcher").to_string();
    assert!(text.starts_with("Ia::close on IA "), "{text}");
    assert!(text.ends_with("free them, or close with Close::Abrupt"), "{text}");
}
