//! How fast is it: no figure is judged, but each must be there.

use crate::common::{Scratch, run};
use serde_json::Value;

fn rows<'a>(report: &'a Value, table: &str, op: &str) -> Vec<&'a Value> {
    let rows = report[table].as_array().expect("a table");
    rows.iter().filter(|row| row["op"] == op).collect()
}

#[test]
fn a_quick_run_measures_every_operation_and_size() {
    let ran = run(&["perf", "loopback", "--quick", "--json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(ran.err, "", "no progress without a terminal");
    let report = ran.json();
    for op in ["send", "write", "read"] {
        let latency = rows(&report, "latency", op);
        let sizes: Vec<_> = latency.iter().map(|row| row["size"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [1, 8, 64, 512, 4096, 65_536, 1 << 20]);
        for row in latency {
            let value = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
            assert!(value("min_us") > 0.0);
            for pair in ["min_us", "p50_us", "p90_us", "p99_us", "max_us"].windows(2) {
                assert!(value(pair[0]) <= value(pair[1]), "{row}");
            }
        }
        for row in rows(&report, "bandwidth", op) {
            for key in ["gb_per_s", "memcpy_gb_per_s"] {
                assert!(row[key].as_f64().is_some_and(|value| value > 0.0), "{row}");
            }
            // Other tests run at the same time.
            let ratio = &row["ratio"];
            assert!(ratio.is_null() || ratio.as_f64().is_some_and(|value| value > 0.0), "{row}");
        }
    }
    assert_eq!(report["headline"]["latency_size"], 64);
    assert_eq!(report["headline"]["bandwidth_size"], 1 << 20);
    assert!(report["headline"]["latency"]["send"]["p50_us"].as_f64().is_some());
    assert!(report["headline"]["bandwidth"]["read"]["gb_per_s"].as_f64().is_some());
}

#[test]
fn writes_that_are_found_in_memory_have_a_latency_only() {
    let file = Scratch::new("svg");
    let path = file.0.to_str().expect("text");
    let arguments = ["perf", "loopback", "--quick", "--op", "write_lat", "--sizes", "1,64,64K"];
    let ran = run(&[&arguments[..], &["--json", "--plot", path]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let report = ran.json();
    let latency = rows(&report, "latency", "write_lat");
    assert_eq!(latency.len(), 3, "{report}");
    for row in latency {
        assert_eq!(row["batch"], 1, "a percentile is of single round trips: {row}");
        let value = |key: &str| row[key].as_f64().expect("a number");
        assert!(value("min_us") > 0.0 && value("p50_us") <= value("p99_us"), "{row}");
    }
    assert_eq!(report["bandwidth"].as_array().map(Vec::len), Some(0));
    assert_well_formed(&std::fs::read_to_string(&file.0).expect("a plot"));
    let ran = run(&arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("Bandwidth"), "{}", ran.out);
    let last = ran.out.lines().last().expect("a line");
    assert!(last.starts_with("64 B latency: write_lat ") && last.ends_with(" us"), "{last}");
}

#[test]
fn the_figures_that_people_ask_for_come_last() {
    let ran = run(&["perf", "loopback", "--quick", "--sizes", "64,1M"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let mut last = ran.out.lines().rev();
    let bandwidth = last.next().expect("a line");
    assert!(bandwidth.starts_with("1 MiB bandwidth: send "), "{bandwidth}");
    assert!(bandwidth.contains("GB/s") && bandwidth.contains(", write "), "{bandwidth}");
    let latency = last.next().expect("a line");
    assert!(latency.starts_with("64 B latency: send "), "{latency}");
    assert!(latency.ends_with(" us"), "{latency}");
}

#[test]
fn the_plot_is_well_formed() {
    let file = Scratch::new("svg");
    let path = file.0.to_str().expect("text");
    let ran = run(&[
        "perf",
        "loopback?max_eps=3&<",
        "--seconds",
        "0.1",
        "--sizes",
        "64,4K",
        "--plot",
        path,
    ]);
    // The name cannot be opened, so the file is not written either.
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("DAT_INVALID_PARAMETER"), "{}", ran.err);
    assert!(!file.0.exists());
    let arguments = ["perf", "loopback", "--seconds", "0.1", "--sizes", "1,64,4K", "--plot", path];
    let ran = run(&arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let svg = std::fs::read_to_string(&file.0).expect("the file");
    assert_well_formed(&svg);
    assert_eq!(svg.matches("<polyline").count(), 7, "{svg}");
    for label in [">send<", ">write<", ">read<", ">memcpy<", ">64 B<", ">4 KiB<"] {
        assert!(svg.contains(label), "{label}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

/// Every element that begins ends, in order, and there is one root.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut roots = 0;
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("<{tag}"));
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        roots += usize::from(open.is_empty());
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(roots, 1);
}

#[test]
fn limits_are_kept_and_told() {
    let name = "loopback?max_message_size=4096,max_rdma_read_in=0,max_dto_per_ep=1";
    let ran = run(&["perf", name, "--quick", "--sizes", "4K,64K", "--json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let report = ran.json();
    assert_eq!(rows(&report, "latency", "send").len(), 1);
    assert_eq!(rows(&report, "latency", "write").len(), 2);
    assert_eq!(rows(&report, "latency", "read").len(), 0);
    assert_eq!(rows(&report, "left_out", "send")[0]["reason"], "max_message_size is 4 KiB");
    assert_eq!(rows(&report, "left_out", "read").len(), 2);
}

#[test]
fn nothing_to_measure_is_a_failure() {
    let name = "loopback?max_message_size=8";
    let ran = run(&["perf", name, "--quick", "--sizes", "4K", "--op", "send"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("skipped: send of 4 KiB, because max_message_size is 8 B"));
}

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_the_run() {
    let ran = run(&["perf", "loopback", "--plot", "/nonexistent/plot.svg"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("cannot write /nonexistent/plot.svg"), "{}", ran.err);
}
