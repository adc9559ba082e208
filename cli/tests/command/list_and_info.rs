//! What can be opened, why the rest can't, and what it is.

use crate::common::{run, run_with};
use serde_json::json;

const LINES: &str = "\
# a comment
rack u2.0 threadsafe default loopback dapl.1.2 \"max_eps=4\" \"\"
broken u2.0 threadsafe nodefault loopback dapl.1.2 \"\" \"\"
ofa-v2-ib0 u2.0 threadsafe default libdaplofa.so.2 dapl.2.0 \"ib0 0\" \"\"
rack u2.0 threadsafe nondefault loopback dapl.1.2 \"\" \"\"
";

#[test]
fn what_can_be_opened_is_shown_with_its_place_and_the_rest_with_its_reason() {
    let (ran, file) = run_with(LINES, &["list"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err, "");
    let row = |name: &str| {
        let starts = |line: &&str| line.split_whitespace().next() == Some(name);
        ran.out.lines().find(starts).unwrap_or_else(|| panic!("{name}: {}", ran.out)).to_owned()
    };
    let rack = row("rack");
    for part in [&format!("{file}:2"), "loopback", "dapl.1.2", "u2.0", "max_eps=4"] {
        assert!(rack.contains(part), "{part}: {rack}");
    }
    assert!(row("loopback").contains("discovered"));
    assert!(ran.out.contains(&format!("overridden by {file}:2")), "{}", ran.out);
    assert!(ran.out.contains("libdat2"), "{}", ran.out);
}

#[test]
fn a_broken_line_is_shown_with_a_caret_under_the_column() {
    let (ran, file) = run_with(LINES, &["list"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    let title = format!("{file}:3");
    let at = lines.iter().position(|line| line.ends_with(&title)).expect("the line is listed");
    let column = lines[at + 1].find("nodefault").expect("the line itself");
    assert_eq!(lines[at + 2].find('^'), Some(column), "{}", ran.out);
    assert!(ran.out.contains("did you mean \"nondefault\"?"));
}

#[test]
fn lines_with_the_same_reason_are_put_together_behind_what_is_broken() {
    let mut lines = String::from(
        "old u2.0 threadsafe default loopback dapl.1.2 \"max_epps=4\" \"\"\nk k2.0 threadsafe default loopback dapl.1.2 \"\" \"\"\n",
    );
    for number in 0..30 {
        let library = if number % 2 == 0 { "libdaploscm.so.2" } else { "libdaplofa.so.2" };
        lines += &format!(
            "mlx4_0-{number} u2.0 nonthreadsafe default {library} dapl.2.0 \"mlx4_0 1\" \"\"\n"
        );
    }
    let (ran, file) = run_with(&lines, &["list"]);
    let at = |part: &str| ran.out.find(part).unwrap_or_else(|| panic!("{part}: {}", ran.out));
    // A line of a built-in provider that does not open is not listed as usable.
    assert!(at("loopback  discovered") < at("Cannot be opened:"), "{}", ran.out);
    assert!(at("Cannot be opened:") < at("old  "), "{}", ran.out);
    assert!(at("old  ") < at("Lines that are not used"), "{}", ran.out);
    assert!(ran.out.contains("did you mean max_eps=4?"), "{}", ran.out);
    let group = format!("30 lines of {file}: mlx4_0-0, mlx4_0-1, mlx4_0-2, mlx4_0-3, and 26 more");
    assert!(at("Lines that are not used") < at(&group), "{}", ran.out);
    assert!(ran.out.contains("the same for libdaplofa.so.2"), "{}", ran.out);
    assert!(ran.out.lines().count() < 35, "{}", ran.out);
    let (all, _) = run_with(&lines, &["list", "--all"]);
    assert_eq!(all.out.matches("libdaplofa.so.2").count(), 15, "{}", all.out);
    // The error of an unknown name suggests only what can be opened.
    let (ran, _) = run_with(&lines, &["info", "mlx4_0"]);
    assert!(ran.err.contains("\"loopback\"") && !ran.err.contains("mlx4_0-"), "{}", ran.err);
}

#[test]
fn the_list_is_json_when_asked() {
    let (ran, file) = run_with(LINES, &["list", "--json"]);
    let list = ran.json();
    let entries = list["entries"].as_array().expect("entries");
    let statuses: Vec<_> = entries.iter().map(|entry| entry["status"].as_str().unwrap()).collect();
    // Behind the lines of the file come loopback, auto, shm and the network interfaces of the machine.
    assert_eq!(statuses[..5], ["usable", "unusable", "unusable", "shadowed", "usable"]);
    assert_eq!(entries[0]["origin"], json!({ "found": false, "file": file, "line": 2 }));
    assert_eq!(entries[0]["parameters"], "max_eps=4");
    assert_eq!(entries[1]["syntax_error"]["column"], 24);
    assert!(entries[2]["error"]["advice"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(entries[3]["shadowed_by"]["line"], 2);
    assert_eq!(entries[4]["origin"]["found"], true);
    let programs = list["programs"]["2.0"].as_array().expect("names");
    let of_machine = |name: &str| ["auto", "shm"].contains(&name) || name.starts_with("tcp-");
    let other = |name: &&serde_json::Value| !of_machine(name.as_str().expect("text"));
    let programs: Vec<_> = programs.iter().filter(other).collect();
    assert_eq!(programs, ["rack", "ofa-v2-ib0"], "in the order of the lines");
    let of_old_programs = list["programs"]["1.2"].as_array().expect("names");
    assert!(!of_old_programs.is_empty() && !of_old_programs.contains(&json!("rack")));
}

#[test]
fn the_names_for_programs_are_shown_if_they_depend_on_the_version() {
    let (ran, _) = run_with(LINES, &["list"]);
    let told = |title: &str| ran.out.lines().any(|line| line.starts_with(title));
    assert!(told("C programs of DAT 2.0 see: rack, ofa-v2-ib0, "), "{}", ran.out);
    assert!(told("C programs of DAT 1.2 see: "), "{}", ran.out);
    let ran = run(&["list"]);
    let told = |title: &str| ran.out.lines().any(|line| line.starts_with(title));
    assert!(told("C programs see: "), "{}", ran.out);
}

#[test]
fn a_missing_configuration_is_reported_and_hides_nothing() {
    let ran = run(&["list"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("/nonexistent/dat.conf"), "{}", ran.out);
    assert!(ran.out.contains("loopback"), "{}", ran.out);
}

#[test]
fn a_line_that_is_suggested_can_be_used() {
    let ran = run(&["list", "--line", "loopback?max_eps=7"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (ran, _) = run_with(&ran.out.replacen("loopback", "seven", 1), &["info", "seven"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("7 endpoints"), "{}", ran.out);
    let ran = run(&["list", "--line", "loopbak"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("did you mean \"loopback\"?"), "{}", ran.err);
}

#[test]
fn escapes_in_a_configuration_reach_no_terminal() {
    let line = "\"a\x1b[31mb\" u2.0 threadsafe default loopback dapl.1.2 \"max_eps=\x1b4\" \"\"";
    let (ran, _) = run_with(line, &["list"]);
    assert_eq!(ran.code, Some(0));
    assert!(!ran.out.contains('\x1b'), "{:?}", ran.out);
}

#[test]
fn attributes_have_units() {
    let ran = run(&["info", "loopback?max_message_size=65536"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (key, value) in [
        ("max_message_size", "65536 bytes (64 KiB)"),
        ("max_evd_qlen", "1048576 events per dispatcher"),
        ("rmr_supported", "yes"),
        ("max_recv_dtos", "64 receives"),
    ] {
        let row = ran.out.lines().find(|line| line.trim_start().starts_with(key));
        let row = row.unwrap_or_else(|| panic!("{key}: {}", ran.out));
        assert!(row.ends_with(value), "{row}");
    }
}

#[test]
fn attributes_are_json_when_asked() {
    let info = run(&["info", "loopback?max_eps=9", "--json"]).json();
    assert_eq!(info["ia"]["max_eps"], 9);
    assert_eq!(info["ia"]["ia_address"], "127.0.0.1");
    assert_eq!(info["provider"]["srq_supported"], true);
    assert_eq!(info["default_ep"]["max_request_iov"], 4);
}

#[test]
fn an_adapter_that_cannot_be_opened_is_reported_with_advice() {
    let ran = run(&["info", "loopbakc"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("DAT_NAME_NOT_REGISTERED"), "{}", ran.err);
    assert!(ran.err.contains("did you mean \"loopback\"?"), "{}", ran.err);
    let ran = run(&["info", "loopback?max_ep=1", "--json"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.json()["error"]["advice"], "did you mean max_eps=1?");
}
