//! `dat perf` between two processes, and what Ctrl-C leaves of it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::common::interrupt;

fn dat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dat"));
    command.env("DAT_OVERRIDE", "/dev/null").stdin(Stdio::null());
    command
}

/// A `dat perf tcp-lo --listen` that is killed when the test ends.
struct Listener {
    child: Child,
    port: String,
    out: BufReader<ChildStdout>,
}

impl Listener {
    fn start(port: u16, more: &[&str]) -> Self {
        let port = port.to_string();
        let mut command = dat();
        command.args(["perf", "tcp-lo", "--listen", "--port", &port]).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert!(line.contains("listening at 127.0.0.1"), "{line}");
        Self { child, port, out }
    }

    fn client(&self, more: &[&str]) -> Command {
        let mut command = dat();
        command.args(["perf", "tcp-lo", "127.0.0.1", "--port", &self.port]).args(more);
        command
    }

    /// The result of a client, which must succeed.
    fn measures(&self, more: &[&str]) -> Value {
        let ran = self.client(more).arg("--json").output().expect("it starts");
        let (out, err) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{out}{err}");
        assert_eq!(err, "", "no progress without a terminal");
        serde_json::from_str(&out).expect("JSON")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_operation_and_size_is_measured() {
    let listener = Listener::start(27_201, &[]);
    let report = listener.measures(&["--quick", "--sizes", "1,64,64K,1M"]);
    assert_eq!(report["host"], "127.0.0.1");
    for table in ["latency", "bandwidth"] {
        let rows = report[table].as_array().expect("rows");
        assert_eq!(rows.len(), 12, "{report}");
        for row in rows {
            let key = if table == "latency" { "p50_us" } else { "gb_per_s" };
            assert!(row[key].as_f64().is_some_and(|value| value > 0.0), "{row}");
        }
    }
    assert!(report["headline"]["latency"]["send"]["p50_us"].as_f64().is_some());
}

#[test]
fn writes_found_in_memory_are_answered_by_the_listener() {
    let listener = Listener::start(27_206, &[]);
    let report = listener.measures(&["--quick", "--op", "write_lat,send", "--sizes", "1,64,64K"]);
    let rows = |table: &str, op: &str| {
        let rows = report[table].as_array().expect("rows").iter();
        rows.filter(|row| row["op"] == op).cloned().collect::<Vec<_>>()
    };
    let latency = rows("latency", "write_lat");
    assert_eq!(latency.len(), 3, "{report}");
    for row in latency {
        assert_eq!(row["batch"], 1, "{row}");
        let value = |key: &str| row[key].as_f64().expect("a number");
        assert!(value("min_us") > 0.0 && value("p50_us") <= value("p99_us"), "{row}");
    }
    assert_eq!((rows("bandwidth", "write_lat").len(), rows("bandwidth", "send").len()), (0, 3));
}

#[test]
fn limits_of_both_sides_count() {
    let port = "27202";
    let mut listening = dat();
    let name = "tcp-lo?max_message_size=4096";
    listening.args(["perf", name, "--listen", "--port", port, "--clients", "2"]);
    let mut child = listening.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    out.read_line(&mut String::new()).expect("a line");
    for (name, shorter) in [("tcp-lo", "64K"), ("tcp-lo?max_dto_per_ep=1", "4K")] {
        let mut client = dat();
        client.args(["perf", name, "127.0.0.1", "--port", port, "--quick", "--json"]);
        let ran = client.args(["--sizes", &format!("64,{shorter}")]).output().expect("it starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let report: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let left_out = report["left_out"].as_array().expect("a list");
        assert_eq!(left_out.len(), usize::from(shorter == "64K"), "{report}");
        assert!(left_out.iter().all(|row| row["reason"] == "max_message_size is 4 KiB"));
    }
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert!(child.wait().expect("a child").success(), "{rest}");
    assert_eq!(rest.matches("disconnected").count(), 2, "{rest}");
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let mut listener = Listener::start(27_203, &["--clients", "2"]);
    let mut client = listener.client(&["--seconds", "600", "--json"]);
    let client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    interrupt(&client);
    let ran = client.wait_with_output().expect("it ends");
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let report: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(report["interrupted"], true);
    let rows = |table: &str| report[table].as_array().expect("rows").len();
    assert!(rows("latency") < 21 && rows("latency") == rows("bandwidth"), "{report}");
    // The listener serves on, and ends well.
    listener.measures(&["--quick", "--sizes", "64", "--op", "write"]);
    assert!(listener.child.wait().expect("a child").success());
}

#[test]
fn ctrl_c_in_one_process_prints_too() {
    let mut command = dat();
    command.args(["perf", "loopback", "--seconds", "600"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    interrupt(&child);
    let ran = child.wait_with_output().expect("it ends");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(1), "{out}{err}");
    assert!(out.starts_with("loopback: "), "{out}");
    assert!(err.contains("interrupted"), "{err}");
}

#[test]
fn a_killed_side_ends_the_other() {
    let mut listener = Listener::start(27_204, &[]);
    // The listener serves the next client after one was killed.
    let mut client = listener.client(&["--seconds", "600"]);
    let mut child = client.stdout(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().expect("it runs");
    child.wait().expect("a child");
    listener.measures(&["--quick", "--sizes", "64", "--op", "send"]);
    let mut client = listener.client(&["--seconds", "600", "--json"]);
    let child = client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(300));
    listener.child.kill().expect("it runs");
    let ran = child.wait_with_output().expect("it ends");
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let report: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert!(report["error"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    let mut rest = String::new();
    let _ = listener.out.read_to_string(&mut rest);
}

#[test]
fn loopback_is_refused_with_what_works() {
    for arguments in [["perf", "loopback", "--listen"], ["perf", "loopback", "127.0.0.1"]] {
        let ran = dat().args(arguments).output().expect("it starts");
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{err}");
        assert!(err.contains("one process only") && err.contains("tcp-lo"), "{err}");
    }
}

#[test]
fn a_listener_of_ping_is_recognized() {
    let port = "27205";
    let mut ping = dat();
    ping.args(["ping", "tcp-lo", "--listen", "--port", port, "--clients", "1"]);
    let mut child = ping.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    out.read_line(&mut String::new()).expect("a line");
    let mut client = dat();
    let ran = client.args(["perf", "tcp-lo", "127.0.0.1", "--port", port]).output().expect("runs");
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{err}");
    assert!(err.contains("PEER_REJECTED"), "{err}");
    child.wait().expect("a child");
}
