//! `dat top` while other processes have adapters open.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{dat, interrupt, run};

/// A process that is killed when the test ends.
struct Process(Child);

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut command = dat(Path::new("/nonexistent/dat.conf"));
        Self(command.args(arguments).stdout(Stdio::piped()).spawn().expect("it starts"))
    }

    /// A listener, which has printed that it listens.
    fn listener(arguments: &[&str]) -> Self {
        let mut process = Self::start(arguments);
        let out = process.0.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        assert!(line.contains("listening"), "{line}");
        process
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).expect("it runs");
    }

    /// What `dat top --json` says about it, if anything.
    fn shown(&self) -> Option<Value> {
        let ran = run(&["top", "--json"]);
        let all = ran.json()["processes"].as_array().expect("a list").clone();
        all.into_iter().find(|process| process["process"] == self.0.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
    }
}

#[test]
fn connections_are_shown_with_their_peers_and_a_stopped_peer_is_said() {
    for (adapter, port) in [("tcp-lo", "7291"), ("shm", "7292")] {
        let server = Process::listener(&["perf", adapter, "--listen", "--port", port]);
        let client = ["perf", adapter, "127.0.0.1", "--port", port, "--seconds", "120"];
        let client = Process::start(&client);
        let connections = |process: &Process| {
            let view = process.shown().unwrap_or_default();
            view["adapters"][0]["connections"].as_array().cloned().unwrap_or_default()
        };
        until("the client is connected", || connections(&client).len() > 1);
        let link = adapter.split('-').next().expect("a name");
        for connection in connections(&client) {
            assert_eq!(connection["link"], link, "{connection}");
            assert!(connection["peer"].as_str().expect("text").starts_with("127.0.0.1 "));
            assert!(connection["sent"]["bytes"].is_u64() && !connection["reader"].is_null());
        }
        // Over TCP, the client does not know the process of its peer. On a busy machine it may also wait for a peer that
        // is not stopped yet.
        let stopped = "the process of the peer is stopped";
        let is_expected = |cause: &Value| match adapter {
            "shm" => cause == stopped,
            _ => cause.is_string(),
        };
        let is_stalled = || connections(&client).iter().any(|it| is_expected(&it["waits_for"]));
        until("the client says what it waits for", || {
            server.signal(Signal::SIGSTOP);
            let view = server.shown().unwrap_or_default();
            assert_eq!(view["stopped"], true, "{view}");
            // It says so after a second. Between two measurements, it has no request and waits for a message.
            let patience = Instant::now() + Duration::from_secs(4);
            let says = loop {
                let says = is_stalled();
                if says || Instant::now() > patience {
                    break says;
                }
            };
            if !says {
                server.signal(Signal::SIGCONT);
                // It may have been stopped while the client awaited its answer at the end of a measurement.
                sleep(Duration::from_millis(200));
            }
            says
        });
        server.signal(Signal::SIGKILL);
        until("the server is gone", || server.shown().is_none());
    }
}

#[test]
fn counters_and_sizes_are_shown_if_they_are_started() {
    let adapter = "shm?counters=yes";
    let _server = Process::listener(&["perf", adapter, "--listen", "--port", "7294"]);
    let client = ["perf", adapter, "127.0.0.1", "--port", "7294", "--seconds", "120"];
    let client = Process::start(&client);
    let has_sizes = |connection: &Value| {
        connection["sizes"].as_object().is_some_and(|sizes| !sizes.is_empty())
            && connection["counters"]["DCNT_EP_POST_RECV"].is_u64()
    };
    until("the client counts", || {
        let view = client.shown().unwrap_or_default();
        let adapter = &view["adapters"][0];
        let connections = adapter["connections"].as_array().cloned().unwrap_or_default();
        connections.iter().any(has_sizes)
            && adapter["counters"]["DCNT_IA_EP_CREATE"].as_u64() > Some(0)
            && adapter["dispatchers"].as_array().is_some_and(|all| !all.is_empty())
    });
    let ran = run(&["top", "--once", "--counters"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for text in ["DCNT_EP_POST_RECV", "DCNT_IA_EP_CREATE", " of up to ", "dispatcher "] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
}

#[test]
fn the_table_is_printed_until_the_interrupt() {
    let _server = Process::listener(&["perf", "tcp-lo", "--listen", "--port", "7293"]);
    let mut command = dat(Path::new("/nonexistent/dat.conf"));
    let top = command.args(["top", "--interval", "0.1"]).stdout(Stdio::piped());
    let mut top = top.spawn().expect("it starts");
    let mut lines = BufReader::new(top.stdout.take().expect("piped")).lines();
    let mut heads = 0;
    while heads < 3 {
        let line = lines.next().expect("more").expect("text");
        heads += usize::from(line.contains("PROCESS") && line.contains("WAITS FOR"));
    }
    interrupt(&top);
    lines.for_each(drop);
    assert!(top.wait().expect("it ends").success());
}

#[test]
fn intervals_are_numbers_of_seconds() {
    for wrong in ["0", "-1", "x", "1e9"] {
        let ran = run(&["top", "--interval", wrong]);
        assert_eq!(ran.code, Some(2), "{wrong}: {}", ran.err);
    }
}
