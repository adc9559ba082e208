//! `docs/manual-pages.md` names a test for each sentence, and each test has a sentence.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../docs/manual-pages.md");

const SOURCES: [(&str, &str); 8] = [
    ("create_id", include_str!("create_id.rs")),
    ("create_qp", include_str!("create_qp.rs")),
    ("create_ep", include_str!("create_ep.rs")),
    ("getaddrinfo", include_str!("getaddrinfo.rs")),
    ("get_request", include_str!("get_request.rs")),
    ("migrate_id", include_str!("migrate_id.rs")),
    ("destroy", include_str!("destroy.rs")),
    ("rdma_cm", include_str!("rdma_cm.rs")),
];

const CALLS: (&str, &str) = ("rdma_verbs_calls", include_str!("rdma_verbs_calls.rs"));

/// The tests of the files, as `file::test`.
fn tests() -> BTreeSet<String> {
    let of = |(file, source): (&str, &str)| -> Vec<String> {
        let marked = source.split("#[test]\nfn ").skip(1);
        marked.filter_map(|rest| Some(format!("{file}::{}", rest.split_once('(')?.0))).collect()
    };
    SOURCES.into_iter().chain([CALLS]).flat_map(of).collect()
}

#[test]
fn each_sentence_has_a_test_and_each_test_a_sentence() {
    let known = tests();
    let mut named = BTreeSet::new();
    let mut rows = 0;
    for line in PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells == ["sentence", "test"] {
            continue;
        }
        let [sentence, test] = cells[..] else { panic!("not two columns: {line}") };
        assert!(!sentence.is_empty(), "no sentence: {line}");
        let test = test.trim_matches('`');
        assert!(known.contains(test), "there is no test {test:?}: {line}");
        named.insert(test.to_owned());
        rows += 1;
    }
    assert!(rows > 100, "only {rows} rows");
    let without: Vec<_> = known.difference(&named).collect();
    assert!(without.is_empty(), "tests without a sentence: {without:?}");
}
