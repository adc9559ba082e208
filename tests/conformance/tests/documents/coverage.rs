//! The coverage of the API: every call, and the cases that prove what its page says.
//!
//! `docs/coverage.md` is generated from the sources of the cases. This test compares it, and
//! rewrites it when `DAT_BLESS` is set. It fails for a call that no test proves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use dat_conformance::{Case, all};

use crate::calls::{self, Call};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const DOCUMENT: &str = "docs/coverage.md";
/// Where the cases are, from `docs/`.
const CASES: &str = "../tests/conformance/src/cases";

/// The sources that name several calls: their cases make each of those calls and check each.
const SEVERAL_CALLS: &[&str] = &[
    "DAT 2.0, IB extension: dat_ib_collective_create_member, dat_ib_collective_free_member, dat_ib_collective_create_group, dat_ib_collective_free_group, dat_ib_collective_set_clock, dat_ib_collective_read_clock, dat_ib_collective_scatter, dat_ib_collective_scatterv, dat_ib_collective_gather, dat_ib_collective_gatherv, dat_ib_collective_allgather, dat_ib_collective_allgatherv, dat_ib_collective_alltoall, dat_ib_collective_alltoallv, dat_ib_collective_reduce, dat_ib_collective_allreduce, dat_ib_collective_reduce_scatter, dat_ib_collective_scan, dat_ib_collective_broadcast, dat_ib_collective_barrier",
    "DAT 2.0, IB extension: dat_ib_open_query, dat_ib_close_query",
    "DAT 2.0, IB extension: dat_ib_post_fetch_and_add, dat_ib_post_cmp_and_swap",
    "DAT 2.0, IB extension: dat_ib_start_counter, dat_ib_query_counters, dat_ib_print_counters, dat_ib_stop_counter",
    "DAT 2.0, IB extension: dat_ib_ud_ah_free, dat_ib_ud_cm_free",
    "dat_cr_accept(3DAT), dat_cr_reject(3DAT)",
    "dat_cr_accept(3DAT), dat_cr_reject(3DAT), dat_ep_connect(3DAT)",
    "dat_cr_accept, dat_ep_disconnect(3DAT): which comes first",
    "dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)",
    "dat_ep_post_send(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)",
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT)",
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT)",
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)",
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT), dat_srq_post_recv(3DAT), dat_lmr_sync_rdma_read(3DAT), dat_lmr_sync_rdma_write(3DAT): segments of other regions",
    "dat_evd_disable(3DAT), dat_evd_enable(3DAT)",
    "dat_evd_set_unwaitable(3DAT), dat_evd_clear_unwaitable(3DAT)",
    "dat_lmr_sync_rdma_read(3DAT), dat_lmr_sync_rdma_write(3DAT)",
    "dat_psp_create(3DAT), dat_psp_create_any(3DAT)",
    "dat_psp_create(3DAT), dat_psp_query(3DAT)",
    "dat_registry_add_provider(3DAT), dat_registry_remove_provider(3DAT)",
    "dat_rsp_create(3DAT), dat_rsp_query(3DAT)",
    "dat_set_consumer_context(3DAT), dat_get_consumer_context(3DAT)",
];

fn list(text: &mut String, cases: &[&Case]) {
    for case in cases {
        let name = case.short_name();
        writeln!(text, "- [`{name}`]({CASES}/{})", file(name)).unwrap();
    }
}

/// The file of a case, below [`CASES`]: a noun with many cases has a folder of files.
fn file(name: &str) -> String {
    let (noun, rule) = name.split_once("::").expect("`noun::rule`");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cases").join(noun);
    let function = format!("fn {rule}(");
    let has_it = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(&function))
    };
    let found = fs::read_dir(folder).ok().and_then(|files| files.flatten().find(has_it));
    match found {
        Some(entry) => format!("{noun}/{}", entry.file_name().to_string_lossy()),
        None => format!("{noun}.rs"),
    }
}

fn document() -> String {
    let cases = all();
    let mut text = String::from(
        "# Coverage\n\n\
         Every call of DAT 2.0 and its InfiniBand extensions, and the conformance cases that prove \
         what its manual page says. A case appears under the call that it proves, not under each \
         call that it makes.\n\n\
         This page is generated from the cases: `DAT_BLESS=1 cargo test -p dat-conformance --test \
         documents`.\n\n\
         The same cases run through both C libraries; `tests/conformance-c/exclude` names those \
         that the API in C cannot express, each with its reason.\n\n## Calls\n",
    );
    let calls = calls::all();
    for call in &calls {
        let found: Vec<&Case> = cases.iter().filter(|it| call.is_named_in(it.source)).collect();
        write!(text, "\n### {}\n\n", call.name).unwrap();
        list(&mut text, &found);
        if !call.elsewhere.is_empty() {
            let break_before = if found.is_empty() { "" } else { "\n" };
            writeln!(text, "{break_before}Outside of the suite: {}.", call.elsewhere).unwrap();
        }
    }
    let mut others: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases.iter().filter(|it| !calls.iter().any(|call| call.is_named_in(it.source))) {
        others.entry(case.source).or_default().push(case);
    }
    text += "\n## Rules that belong to no single call\n";
    for (source, cases) in others {
        write!(text, "\n### {source}\n\n").unwrap();
        list(&mut text, &cases);
    }
    text
}

#[test]
fn the_document_is_up_to_date() {
    let path = Path::new(REPOSITORY).join(DOCUMENT);
    let text = document();
    if std::env::var_os("DAT_BLESS").is_some() {
        fs::write(&path, &text).expect("docs/coverage.md can be written");
    }
    let committed = fs::read_to_string(&path).expect("docs/coverage.md");
    assert!(committed == text, "docs/coverage.md is out of date: run with DAT_BLESS=1");
}

#[test]
fn every_call_has_a_case_or_a_test_elsewhere() {
    let cases = all();
    for call in calls::all() {
        let has_case = cases.iter().any(|case| call.is_named_in(case.source));
        assert!(has_case || !call.elsewhere.is_empty(), "no case proves {}", call.name);
    }
}

#[test]
fn every_link_leads_to_a_file() {
    let text = document();
    let links = text.split("](").skip(1).map(|rest| rest.split(')').next().expect("a link"));
    let links: BTreeSet<&str> = links.collect();
    assert!(links.len() > 30, "{links:?}");
    for link in links {
        assert!(Path::new(REPOSITORY).join("docs").join(link).is_file(), "{link} does not exist");
    }
    for call in calls::all() {
        for path in call.elsewhere.split('`').skip(1).step_by(2) {
            assert!(Path::new(REPOSITORY).join(path).exists(), "{}: no {path}", call.name);
        }
    }
}

#[test]
fn a_case_names_the_call_that_it_proves_and_no_other() {
    let calls = calls::all();
    let several: BTreeSet<&str> = all()
        .iter()
        .map(|case| case.source)
        .filter(|source| calls.iter().filter(|call| call.is_named_in(source)).count() > 1)
        .collect();
    assert_eq!(several, SEVERAL_CALLS.iter().copied().collect(), "sources that name several calls");
}

#[test]
fn a_source_names_whole_calls_only() {
    let call = Call { name: "dat_ep_create", elsewhere: "" };
    assert!(call.is_named_in("dat_ep_create(3DAT), USAGE"));
    assert!(!call.is_named_in("dat_ep_create_with_srq(3DAT)"));
}
