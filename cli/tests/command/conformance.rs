//! `dat conformance`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use crate::common::{dat, interrupt, run};

#[test]
fn the_listing_names_cases_with_their_sources() {
    let listing = run(&["conformance", "loopback", "--list", "extension::fetch"]);
    assert_eq!(listing.code, Some(0), "{}", listing.err);
    let text = listing.out;
    assert!(text.contains("extension::fetch_and_add_returns_the_value_before  (DAT 2.0"), "{text}");
}

#[test]
fn a_run_ends_with_its_totals_and_writes_junit() {
    let report = std::env::temp_dir().join(format!("dat-junit-{}.xml", std::process::id()));
    let path = report.to_str().expect("a plain path");
    let ran = run(&["conformance", "loopback", "extension", "--junit", path]);
    let text = ran.out;
    assert_eq!(ran.code, Some(0), "{text}");
    let last = text.trim_end().lines().last().unwrap_or_default();
    assert!(last.ends_with("passed, 0 failed, 0 skipped"), "{last}");
    let xml = std::fs::read_to_string(&report).expect("the report");
    std::fs::remove_file(&report).expect("written by the run");
    assert!(xml.contains("classname=\"extension\""), "{xml}");
    assert!(xml.contains("failures=\"0\""), "{xml}");
}

#[test]
fn a_quiet_run_prints_only_its_summary() {
    let ran = run(&["conformance", "loopback", "extension", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("slow: ")).collect();
    assert!(
        matches!(lines[..], [one] if one.ends_with("passed, 0 failed, 0 skipped")),
        "{}",
        ran.out
    );
}

#[test]
fn json_has_the_totals_and_each_case() {
    let ran = run(&["conformance", "loopback", "extension", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let cases = report["cases"].as_array().expect("a list");
    assert!(
        !cases.is_empty() && cases.iter().all(|case| case["outcome"] == "passed"),
        "{}",
        ran.out
    );
    assert_eq!(report["passed"].as_u64(), Some(cases.len() as u64));
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let ran = run(&["conformance", "loopback", "extension", "--junit", "/nonexistent/report.xml"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("cannot write /nonexistent/report.xml"), "{}", ran.err);
}

#[test]
fn tap_has_a_plan_and_a_line_for_each_case() {
    let text = run(&["conformance", "loopback", "extension", "--tap"]).out;
    let plan = text.lines().find_map(|line| line.strip_prefix("1..")).expect("a plan");
    let cases = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(plan.parse(), Ok(cases), "{text}");
}

#[test]
fn what_can_not_be_run_is_said_with_an_exit_code() {
    for arguments in [
        &["conformance", "nothing-like-it"][..],
        &["conformance", "loopback", "pz::", "nothing-like-it"],
        &["conformance", "loopback", "--exclude", "/nothing-like-it"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}");
        assert!(ran.err.contains("nothing-like-it"), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn ctrl_c_prints_the_verdicts_so_far() {
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    // With this number of rounds the races take hours.
    command.args(["conformance", "loopback", "--rounds", "100000"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a verdict");
    interrupt(&child);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let ran = child.wait_with_output().expect("it ends");
    let err = String::from_utf8(ran.stderr).expect("text");
    assert_eq!(ran.status.code(), Some(1), "{first}{rest}{err}");
    assert!(first.starts_with("passed"), "{first}");
    assert!(rest.contains(" passed, 0 failed"), "{rest}");
    assert!(err.contains("interrupted: ") && err.contains(" cases did not run"), "{err}");
}
