//! Exit codes, text, and systems that are not as they should be.

use std::path::Path;
use std::process::Command;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::tree::Tree;
use crate::common::{dat, finish, run};

#[test]
fn the_exit_code_says_whether_there_is_a_problem() {
    let tree = Tree::infiniband();
    assert_eq!(tree.run(&[], &[]).code, Some(0));
    tree.limits("65536", "65536");
    assert_eq!(tree.run(&[], &[]).code, Some(1));
    for wrong in ["/nonexistent", "/dev/null"] {
        let ran = run(&["doctor", "--root", wrong]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(ran.err.contains(wrong), "{}", ran.err);
    }
}

#[test]
fn the_text_is_aligned_and_ends_with_the_verdict() {
    let tree = Tree::infiniband();
    let ran = tree.run(&[], &[]);
    assert_eq!(ran.err, "");
    let ends: Vec<&str> = ran.out.lines().rev().take(2).collect();
    assert!(ends[0].starts_with("fit for use") && ends[1].is_empty(), "{}", ran.out);
    let column = |row: &str, word: &str| row.find(word).unwrap_or_else(|| panic!("{word}: {row}"));
    let row = |part: &str| {
        let found = ran.out.lines().find(|row| row.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {}", ran.out)).to_owned()
    };
    let first = column(&row("  ok       ib_core "), "loaded");
    assert_eq!(column(&row("  ok       mlx5_0 port 1 address "), "10.1.2.3"), first);
    tree.limits("65536", "65536");
    let ran = tree.run(&[], &[]);
    assert!(ran.out.contains("  PROBLEM  memlock "), "{}", ran.out);
    assert!(ran.out.lines().any(|row| row.starts_with("1 problem, ")), "{}", ran.out);
}

#[test]
fn the_report_has_its_keys_and_checks_in_order() {
    let tree = Tree::plain();
    let report = tree.report();
    assert_eq!(report.0["format"], 1);
    assert_eq!(report.0["root"].as_str(), tree.0.to_str());
    let summary = &report.0["summary"];
    assert!(["ok", "notes", "problems"].iter().all(|key| summary[key].is_u64()), "{summary}");
    let checks = report.0["checks"].as_array().expect("checks");
    let keys: Vec<&str> = checks.iter().filter_map(|check| check["check"].as_str()).collect();
    assert_eq!(
        keys,
        [
            "container",
            "modules",
            "device_files",
            "ports",
            "memlock",
            "libraries",
            "verbs",
            "environment",
            "configuration",
            "names",
            "shared_memory",
            "sockets",
            "self_test",
        ]
    );
    for finding in checks.iter().flat_map(|check| check["findings"].as_array().expect("array")) {
        assert!(finding["subject"].is_string() && finding["found"].is_string(), "{finding}");
        assert!(finding["advice"].is_array() && finding["facts"].is_object(), "{finding}");
        let verdict = finding["verdict"].as_str();
        assert!(matches!(verdict, Some("ok" | "note" | "problem")), "{finding}");
    }
}

#[test]
fn links_of_a_copy_stay_in_the_copy() {
    let tree = Tree::plain();
    tree.link("usr/lib/libdat2.so.2", "/opt/real.so.9");
    tree.library("opt/real.so.9", &[], &[]);
    tree.link("usr/lib/libdat.so.1", "../../../../../../../../opt/real.so.9");
    tree.link("proc/1/environ", "environ");
    let report = tree.report();
    for library in ["libdat2.so.2", "libdat.so.1"] {
        assert_eq!(report.finding("libraries", library)["facts"]["version"], "9");
    }
}

#[test]
fn an_empty_folder_is_a_machine_without_anything() {
    let tree = Tree::plain();
    tree.remove("proc");
    assert_eq!(tree.report().problems(), [""; 0]);
}

#[test]
fn odd_files_stop_nothing() {
    let tree = Tree::infiniband();
    let garbage: Vec<u8> = (0..=255).cycle().take(4096).collect();
    for path in [
        "sys/class/infiniband/mlx5_0/ports/1/state",
        "sys/class/infiniband/mlx5_0/ports/1/rate",
        "sys/class/infiniband/mlx5_0/ports/1/gids/0",
        "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0",
        "sys/class/infiniband/mlx5_0/parent",
        "sys/class/net/ib0/operstate",
        "proc/net/fib_trie",
        "proc/net/route",
        "proc/net/if_inet6",
        "proc/self/limits",
        "proc/self/status",
        "proc/1/environ",
        "proc/1/cgroup",
        "proc/sys/kernel/osrelease",
        "etc/group",
        "etc/ld.so.cache",
        "etc/dat.conf",
        "run/systemd/container",
        "usr/lib/libdat2.so.2",
    ] {
        tree.file(path, &garbage);
        let report = tree.report();
        assert_eq!(report.0["format"], 1, "{path}");
    }
    let text = tree.run(&[], &[]).out;
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
}

#[test]
fn folders_and_pipes_in_the_place_of_files_stop_nothing() {
    for path in [
        "sys/class/infiniband/mlx5_0/ports/1/state",
        "proc/self/limits",
        "usr/lib/librdmacm.so.1.3.44.0",
        "sys/module/ib_core/initstate",
        "dev/infiniband/uverbs0",
    ] {
        let tree = Tree::infiniband();
        tree.remove(path);
        mkfifo(&tree.0.join(path), Mode::from_bits_truncate(0o666)).expect("a pipe");
        tree.report();
        tree.remove(path).file(&format!("{path}/file"), "");
        tree.report();
    }
    let tree = Tree::plain();
    tree.file("sys/class/infiniband", "a file").file("dev/infiniband", "a file");
    tree.report();
}

/// The state of the machine cannot be asserted, only that it is reported.
#[test]
fn this_machine_is_reported_too() {
    let ran = finish(dat(Path::new("/nonexistent/dat.conf")).args(["doctor", "--json"]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "{}", ran.out);
    assert_eq!(ran.json()["root"], serde_json::Value::Null);
    let ran = finish(Command::new(env!("CARGO_BIN_EXE_dat")).env_clear().arg("doctor"));
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.out);
    assert!(ran.out.contains("19 steps of dat ping passed"), "{}", ran.out);
}

#[test]
fn each_adapter_over_shared_memory_connects_to_itself() {
    let report = run(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().expect("checks");
    let check = checks.iter().find(|it| it["check"] == "shared_memory").expect("a check");
    let findings = check["findings"].as_array().expect("findings");
    let finding = |name: &str| findings.iter().find(|it| it["subject"] == name).expect("a finding");
    for name in ["shm", "auto"] {
        let shm = finding(name);
        let found = (&shm["verdict"], &shm["facts"]["connected"]);
        assert_eq!(found, (&"ok".into(), &true.into()), "{shm}");
    }
    assert_eq!(finding("memory files")["facts"]["sealed"], true);
    for name in ["memory of a child", "memory of another process"] {
        let found = finding(name);
        let facts = &found["facts"];
        let is_told = facts["permitted"] == true || facts["forbidden_by"].is_string();
        assert!(is_told || found["verdict"] == "note", "{found}");
    }
}

#[test]
fn an_adapter_over_tcp_connects_to_itself() {
    let report = run(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().expect("checks");
    let sockets = checks.iter().find(|check| check["check"] == "sockets").expect("a check");
    let findings = sockets["findings"].as_array().expect("findings");
    let finding = |name: &str| findings.iter().find(|it| it["subject"] == name).expect("a finding");
    let lo = finding("tcp-lo");
    assert_eq!((&lo["verdict"], &lo["facts"]["connected"]), (&"ok".into(), &true.into()), "{lo}");
    assert!(finding("descriptors")["facts"]["hard"].as_u64().is_some_and(|hard| hard > 0));
    assert!(finding("ports")["facts"]["low"].is_u64());
}
