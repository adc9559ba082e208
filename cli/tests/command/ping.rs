//! Does it work: every step, what is left out, what fails.

use crate::common::run;
use serde_json::Value;

const STEPS: [&str; 19] = [
    "open",
    "create objects",
    "register memory",
    "listen",
    "connect",
    "private data",
    "send 0 B",
    "send 1 B",
    "send 64 B",
    "send 4 KiB",
    "send 64 KiB",
    "send in segments",
    "RDMA write",
    "RDMA read",
    "bind",
    "access via bind",
    "stale bind is refused",
    "disconnect",
    "close",
];

fn verdicts(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let steps = report["steps"].as_array().expect("steps");
    steps.iter().map(|step| (text(&step["step"]), text(&step["verdict"]))).collect()
}

fn verdict(report: &Value, step: &str) -> String {
    let found = verdicts(report).into_iter().find(|(name, _)| name == step);
    found.unwrap_or_else(|| panic!("{step}: {report}")).1
}

#[test]
fn every_step_passes() {
    let ran = run(&["ping", "loopback"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for step in STEPS {
        let row = ran.out.lines().find(|line| line.starts_with(&format!("{step} ")));
        let row = row.unwrap_or_else(|| panic!("{step}: {}", ran.out));
        assert_eq!(row[step.len()..].split_whitespace().next(), Some("ok"), "{row}");
    }
    assert!(ran.out.contains("19 steps passed in "), "{}", ran.out);
}

#[test]
fn the_report_is_json_when_asked() {
    let ran = run(&["ping", "loopback", "--json", "--timeout", "5"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let report = ran.json();
    assert_eq!(report["passed"], true);
    assert_eq!(report["summary"]["passed"], STEPS.len());
    let steps = verdicts(&report);
    assert_eq!(steps.iter().map(|step| step.0.as_str()).collect::<Vec<_>>(), STEPS);
    assert!(steps.iter().all(|step| step.1 == "passed"), "{report}");
}

#[test]
fn what_exceeds_the_limits_is_left_out_and_the_limit_is_tried() {
    let name = "loopback?max_message_size=1000,max_rdma_size=8,max_rmrs=0,max_iov=1,\
                max_private_data_size=0,max_rdma_read_out=0";
    let ran = run(&["ping", name, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let report = ran.json();
    assert_eq!(report["summary"]["failed"], 0);
    for step in ["private data", "send 4 KiB", "send in segments", "RDMA read", "bind"] {
        assert_eq!(verdict(&report, step), "left_out", "{step}");
    }
    assert_eq!(verdict(&report, "stale bind is refused"), "left_out");
    for step in ["send 64 B", "send 1000 B", "RDMA write", "disconnect", "close"] {
        assert_eq!(verdict(&report, step), "passed", "{step}");
    }
}

#[test]
fn the_smallest_adapter_works() {
    let name = "loopback?max_eps=2,max_evds=8,max_evd_qlen=1,max_dto_per_ep=1,max_lmrs=4,\
                max_rmrs=1,max_pzs=1,max_message_size=1,max_rdma_size=1";
    let report = run(&["ping", name, "--json"]).json();
    assert_eq!(report["passed"], true, "{report}");
    assert_eq!(verdict(&report, "access via bind"), "passed");
    assert_eq!(verdict(&report, "stale bind is refused"), "left_out");
}

#[test]
fn a_failing_step_tells_its_code_and_what_depends_on_it_is_skipped() {
    let ran = run(&["ping", "loopback?max_eps=1"]);
    assert_eq!(ran.code, Some(1));
    let row = |step: &str| {
        let found = ran.out.lines().find(|line| line.starts_with(step));
        found.unwrap_or_else(|| panic!("{step}: {}", ran.out)).to_owned()
    };
    assert!(row("create objects").contains("FAILED"));
    for part in ["DAT_INSUFFICIENT_RESOURCES", "0x8003", "maximum of 1", "-> "] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(row("connect").contains("skipped"));
    assert!(row("connect").contains("\"create objects\" failed"));
    assert!(row("close").contains("ok"));
    assert!(ran.out.contains("1 failed, 16 skipped"), "{}", ran.out);
}

#[test]
fn a_name_that_is_not_there_fails_the_first_step() {
    let ran = run(&["ping", "nowhere", "--json"]);
    assert_eq!(ran.code, Some(1));
    let report = ran.json();
    assert_eq!(report["passed"], false);
    assert_eq!(report["steps"][0]["fault"]["number"], "0x800a0064");
    assert!(verdicts(&report)[1..].iter().all(|step| step.1 == "skipped"));
}

#[test]
fn without_an_adapter_only_the_first_step_is_shown() {
    let ran = run(&["ping", "nowhere"]);
    let rows: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("    ")).collect();
    assert!(
        matches!(rows[..], [open, "", summary]
            if open.starts_with("open") && summary.starts_with("0 steps passed, 1 failed, 18 skipped")),
        "{}",
        ran.out
    );
}

#[test]
fn the_other_machine_is_named_or_waited_for_and_not_both() {
    for arguments in [
        &["ping", "loopback", "127.0.0.1", "--listen"][..],
        &["ping", "loopback", "--clients", "1"],
        &["ping", "loopback", "127.0.0.1", "--clients", "1"],
        &["ping", "loopback", "--listen", "--clients", "0"],
    ] {
        assert_eq!(run(arguments).code, Some(2), "{arguments:?}");
    }
    let help = run(&["ping", "--help"]).out;
    for option in ["[HOST]", "--listen", "--port", "--clients", "--timeout", "--json"] {
        assert!(help.contains(option), "{option}: {help}");
    }
}

#[test]
fn a_machine_that_has_no_address_fails_the_connection() {
    let ran = run(&["ping", "tcp-lo", "no such host", "--json"]);
    assert_eq!(ran.code, Some(1));
    let report = ran.json();
    assert_eq!((&report["passed"], &report["host"]), (&false.into(), &"no such host".into()));
    assert_eq!(verdict(&report, "connect"), "failed");
    assert_eq!(verdict(&report, "RDMA write"), "skipped");
    assert_eq!(verdict(&report, "close"), "passed");
}

#[test]
fn two_processes_do_not_meet_on_loopback_and_learn_where_they_do() {
    for arguments in [&["ping", "loopback", "--listen"][..], &["ping", "loopback", "127.0.0.1"]] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}");
        assert!(ran.out.contains("DAT_MODEL_NOT_SUPPORTED"), "{}", ran.out);
        assert!(ran.out.contains("one process only") && ran.out.contains("tcp-lo"), "{}", ran.out);
    }
    let report = run(&["ping", "loopback", "--listen", "--json"]).json();
    assert_eq!(report["fault"]["code"], "DAT_MODEL_NOT_SUPPORTED");
}

#[test]
fn a_command_that_cannot_listen_says_why() {
    let ran = run(&["ping", "nowhere", "--listen"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("DAT_PROVIDER_NOT_FOUND"), "{}", ran.out);
    let report = run(&["ping", "nowhere", "--listen", "--json"]).json();
    assert_eq!(
        (&report["name"], &report["fault"]["number"]),
        (&"nowhere".into(), &"0x800a0064".into())
    );
}

#[test]
fn a_trace_shows_the_calls_into_the_provider() {
    let ran = run(&["ping", "loopback", "--trace"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for part in ["open parameters=", "connect attempt=1", "post_send cookie=", "disconnect"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(!ran.out.contains("post_send"), "{}", ran.out);
    let ran = run(&["ping", "loopback", "--trace=/nonexistent/trace"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("cannot open the trace file"), "{}", ran.out);
}
