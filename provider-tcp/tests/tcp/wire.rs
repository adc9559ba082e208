//! A pulled wire: two processes in network namespaces of their own, and a bridge between them whose
//! ports go down. Without the right to make namespaces the test says that it did not run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dat_conformance::{Node, expect_connections, expect_request};
use dat_core::{Address, Connect, ConnectionEventKind, DtoStatus, EpProvision, Registry};
use dat_two_processes::{NONE, each_once, posts};

const ACTIVE: &str = "10.91.0.1";
const PASSIVE: &str = "10.91.0.2";

/// Printed when the namespaces are joined: from here on, a failure is one of the provider.
const JOINED: &str = "the namespaces are joined";

fn this_test() -> std::path::PathBuf {
    std::env::current_exe().expect("a test")
}

/// Runs `ip` with arguments.
fn ip(arguments: &str) -> Result<(), String> {
    let ran = Command::new("ip").args(arguments.split(' ')).output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&ran.stderr).trim())),
        Err(error) => Err(format!("ip: {error}")),
    }
}

#[test]
fn a_pulled_wire_breaks_connections_with_and_without_requests() {
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--"])
        .arg(this_test())
        .args(["--exact", "wire::between", "--ignored", "--nocapture"])
        .output();
    let not_run = |why: &str| {
        // Directly, so that the test runner does not capture it.
        let _ = writeln!(std::io::stderr(), "NOT RUN: a pulled wire: {why}");
    };
    match ran {
        Err(error) => not_run(&format!("unshare: {error}")),
        Ok(ran) => {
            let (out, err) =
                (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            if out.contains(JOINED) {
                assert!(ran.status.success(), "{out}{err}");
            } else {
                not_run(&format!("no network namespaces: {out}{err}"));
            }
        }
    }
}

/// A process at one end of the wire.
struct End {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl End {
    /// Starts a test in a network namespace, and moves an interface there.
    fn start(test: &str, interface: &str) -> Result<Self, String> {
        let mut child = Command::new("unshare")
            .args(["--net", "--"])
            .arg(this_test())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let input = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut end = Self { child, input, lines };
        end.line("ready")?;
        ip(&format!("link set {interface} netns {}", end.child.id()))?;
        end.say("go");
        Ok(end)
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it reads");
    }

    /// The rest of the next line that begins with a word.
    fn line(&mut self, word: &str) -> Result<String, String> {
        for line in self.lines.by_ref().map_while(Result::ok) {
            if let Some(rest) = line.strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
        }
        Err(format!("a process ended before it said {word:?}"))
    }

    fn ends(mut self) {
        while self.lines.next().is_some() {}
        assert!(self.child.wait().expect("a child").success(), "one end failed");
    }
}

/// The namespace of the bridge.
#[test]
#[ignore = "started by the test, in a namespace"]
fn between() {
    let join = || -> Result<(End, End, String), String> {
        ip("link add name middle type bridge")?;
        ip("link set middle up")?;
        for (outer, inner) in [("wire0", "port0"), ("wire1", "port1")] {
            ip(&format!("link add name {outer} type veth peer name {inner}"))?;
            ip(&format!("link set {inner} master middle"))?;
            ip(&format!("link set {inner} up"))?;
        }
        let mut passive = End::start("wire::passive", "wire1")?;
        let port = passive.line("port")?;
        Ok((End::start("wire::active", "wire0")?, passive, port))
    };
    let (mut active, mut passive, port) = match join() {
        Ok(joined) => joined,
        Err(why) => {
            println!("\n{why}");
            return;
        }
    };
    println!("\n{JOINED}");
    active.say(&port);
    for end in [&mut active, &mut passive] {
        end.line("connected").expect("both ends are connected");
    }
    for port in ["port0", "port1"] {
        ip(&format!("link set {port} down")).expect("it was up");
    }
    active.say("pulled");
    active.ends();
    passive.ends();
}

/// One line of standard input.
fn told() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

/// Sets up the interface that the test moved here, and opens its adapter.
fn arrive(interface: &str, address: &str) -> Node {
    println!("\nready");
    assert_eq!(told(), "go");
    ip(&format!("address add {address}/24 dev {interface}")).expect("a new interface");
    ip(&format!("link set {interface} up")).expect("a new interface");
    let registry = Registry::new();
    registry.add_provider(dat_provider_tcp::provider()).expect("the only provider");
    let name = format!("tcp-{interface}?timeout=2");
    Node::on(registry.open(&name).expect("it has an address"))
}

#[test]
#[ignore = "started by the test, in a namespace"]
fn passive() {
    let node = arrive("wire1", PASSIVE);
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
    println!("port {}", psp.qualifier());
    let buffer = node.buffer(128);
    let eps = [node.ep(), node.ep()];
    for ep in &eps {
        expect_request(&node.requests).request.accept(Some(ep), b"").expect("unconnected");
        expect_connections(&node.connect, &[ep], ConnectionEventKind::Established);
    }
    let cookies = posts(&eps[0], &buffer, 4, 0);
    println!("connected");
    // This side only receives, on both connections.
    expect_connections(&node.connect, &[&eps[0], &eps[1]], ConnectionEventKind::Broken);
    let done = each_once(&[&node.recv, &node.request], &cookies);
    assert!(done.values().all(|status| *status == DtoStatus::Flushed), "{done:?}");
}

#[test]
#[ignore = "started by the test, in a namespace"]
fn active() {
    let node = arrive("wire0", ACTIVE);
    let port: u64 = told().parse().expect("a port");
    let buffer = node.buffer(128);
    let eps = [node.ep(), node.ep()];
    for ep in &eps {
        let address: Address = PASSIVE.parse().expect("an address");
        ep.connect(&Connect::to(address, port)).expect("an attempt");
        expect_connections(&node.connect, &[ep], ConnectionEventKind::Established);
    }
    println!("connected");
    assert_eq!(told(), "pulled");
    // One connection has requests outstanding, the other one only receives.
    let requests = posts(&eps[1], &buffer, 0, 4);
    eps[0].post_recv(&[buffer.piece(0, 64)], 7, NONE).expect("a live endpoint");
    expect_connections(&node.connect, &[&eps[0], &eps[1]], ConnectionEventKind::Broken);
    let cookies: Vec<u64> = requests.into_iter().chain([7]).collect();
    let done = each_once(&[&node.recv, &node.request], &cookies);
    assert!(done.values().all(|status| *status != DtoStatus::Success), "{done:?}");
    for ep in eps {
        ep.free().expect("disconnected");
    }
    buffer.lmr.free().expect("unused");
    node.finish();
}
