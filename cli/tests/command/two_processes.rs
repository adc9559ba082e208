//! `dat ping` between two processes over TCP, and what strangers and deaths do to the listener.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A `dat ping tcp-lo --listen` that is killed when the test ends.
struct Listener {
    child: Child,
    port: u16,
    out: BufReader<std::process::ChildStdout>,
}

fn dat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dat"));
    command.env("DAT_OVERRIDE", "/dev/null").stdin(Stdio::null());
    command
}

impl Listener {
    fn start(port: u16) -> Self {
        let port_text = port.to_string();
        let arguments = ["ping", "tcp-lo", "--listen", "--port", &port_text, "--timeout", "5"];
        let mut child = dat().args(arguments).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert!(line.contains("listening at 127.0.0.1"), "{line}");
        Self { child, port, out }
    }

    fn client(&self) -> Command {
        let mut command = dat();
        let port = self.port.to_string();
        command.args(["ping", "tcp-lo", "127.0.0.1", "--timeout", "5", "--port", &port]);
        command
    }

    /// A client that must pass.
    fn serves(&mut self) {
        let ran = self.client().output().expect("it starts");
        let out = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{out}");
        for step in ["connect", "send 64 KiB", "RDMA write", "RDMA read", "disconnect", "close"] {
            let row = out.lines().find(|line| line.starts_with(step)).expect(step);
            assert!(row[step.len()..].trim_start().starts_with("ok"), "{out}");
        }
    }

    fn stranger(&self) -> TcpStream {
        let stranger = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stranger.set_read_timeout(Some(Duration::from_secs(15))).expect("a socket");
        stranger
    }

    fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(folder).expect("it runs").count()
    }

    /// The number of descriptors once those of earlier connections are closed: it stays the same for half a
    /// second.
    fn settled_descriptors(&self) -> usize {
        let (mut count, mut since) = (self.descriptors(), Instant::now());
        while since.elapsed() < Duration::from_millis(500) {
            std::thread::sleep(Duration::from_millis(20));
            let now = self.descriptors();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
        count
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut rest = String::new();
        let _ = self.out.read_to_string(&mut rest);
    }
}

/// Waits until the peer has closed; returns what it sent.
fn closed(mut stranger: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    match stranger.read_to_end(&mut answer) {
        Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => {
            panic!("the listener keeps the connection: {error}")
        }
        _ => answer,
    }
}

/// The head of a `HELLO`: 24 bytes, with the version and the length of its payload.
fn hello(version: u8, length: u64) -> Vec<u8> {
    let mut head = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, version, b'D', b'A', b'T'];
    head.extend(length.to_le_bytes());
    head
}

#[test]
fn two_processes_reach_each_other() {
    let mut listener = Listener::start(27_101);
    for _ in 0..3 {
        listener.serves();
    }
}

#[test]
fn strangers_are_refused_and_the_listener_serves_on() {
    let mut listener = Listener::start(27_102);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..50 {
        let mut stranger = listener.stranger();
        let mut bytes = match round % 5 {
            0 => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            1 => hello(77, 0),
            2 => hello(1, 100_000),
            3 => hello(1, 17),
            _ => Vec::new(),
        };
        for _ in 0..100 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push((random >> 33) as u8);
        }
        // It may have closed already.
        let _ = stranger.write_all(&bytes);
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        closed(stranger);
    }
    listener.serves();
}

#[test]
fn a_silent_peer_and_half_a_hello_block_no_one() {
    let mut listener = Listener::start(27_103);
    let silent = listener.stranger();
    let mut half = listener.stranger();
    half.write_all(&hello(1, 40)[..11]).expect("it reads");
    listener.serves();
    // Both are closed when the time for a complete HELLO is over.
    let before = Instant::now();
    closed(silent);
    closed(half);
    assert!(before.elapsed() < Duration::from_secs(15));
    listener.serves();
}

#[test]
fn killed_clients_leave_nothing_behind() {
    let mut listener = Listener::start(27_104);
    listener.serves();
    let before = listener.settled_descriptors();
    for round in 0..20_u64 {
        let mut client = listener.client().stdout(Stdio::null()).spawn().expect("it starts");
        // Any moment of its life will do; no result depends on which.
        std::thread::sleep(Duration::from_millis(round * 7 % 60));
        let _ = client.kill();
        let _ = client.wait();
    }
    listener.serves();
    let end = Instant::now() + Duration::from_secs(10);
    while listener.descriptors() > before && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(listener.descriptors(), before, "descriptors of lost connections");
}

#[test]
fn clients_of_a_killed_listener_end() {
    for round in 0..10_u64 {
        let mut listener = Listener::start(27_105);
        let mut client = listener.client().stdout(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(round * 11 % 80));
        listener.child.kill().expect("it runs");
        drop(listener);
        let end = Instant::now() + Duration::from_secs(30);
        while client.try_wait().expect("a child").is_none() {
            if Instant::now() > end {
                let _ = client.kill();
                panic!("the client of a killed listener does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_refused_connection_names_the_address_and_the_port() {
    for command in ["ping", "perf"] {
        let ran = crate::common::run(&[command, "tcp-lo", "127.0.0.1", "--port", "9"]);
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        let text = ran.out + &ran.err;
        assert!(text.contains("connecting to 127.0.0.1, port 9"), "{text}");
    }
}
