//! `docs/doctor.md` names each check and its facts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tree::Tree;
use crate::common::{run, run_with};

const CONFIGURATION: &str = r#"
good u2.0 nonthreadsafe default tcp tcp.0.1 "lo" ""
no_device u2.0 nonthreadsafe default verbs verbs.0.1 "mlx5_0 1" ""
"#;

/// The key of each check, in the order of the document, with every word in code style of its row.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/doctor.md");
    let text = std::fs::read_to_string(path).expect("a file of the sources");
    let (_, checks) = text.split_once("\n## Checks\n").expect("a section");
    let (checks, _) = checks.split_once("\n## ").expect("another section");
    checks
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.strip_prefix("| `")?.split('`').step_by(2).collect();
            let (key, words) = words.split_first()?;
            Some(((*key).to_owned(), words.iter().map(|&word| word.to_owned()).collect()))
        })
        .collect()
}

fn compare(report: &Value) {
    let documented = documented();
    let checks = report["checks"].as_array().expect("a list");
    let keys: Vec<&str> =
        checks.iter().map(|check| check["check"].as_str().expect("a key")).collect();
    assert_eq!(keys, documented.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>());
    for (check, (key, words)) in checks.iter().zip(&documented) {
        for finding in check["findings"].as_array().expect("a list") {
            for fact in finding["facts"].as_object().expect("facts").keys() {
                assert!(words.contains(fact), "the row of {key} lacks {fact}: {finding}");
            }
        }
    }
}

#[test]
fn the_document_names_each_check_and_its_facts() {
    assert!(documented().len() > 10);
    compare(&run(&["doctor", "--json"]).json());
    compare(&run_with(CONFIGURATION, &["doctor", "--json"]).0.json());
    let tree = Tree::infiniband();
    tree.limits("65536", "65536");
    compare(&tree.run(&[], &["--json"]).json());
}
