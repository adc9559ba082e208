//! What happens to one side of a connection when the other is lost during traffic: sends, RDMA
//! writes and reads in both directions, as many as may be outstanding.
//!
//! It needs an RDMA device, whose address `DAT_TEST_RDMA` gives: `.ci/guest` has one. Without it
//! the test reports on standard error that it did not run, even if the test runner captures output.
//! By default it starts the other side as a process and kills it. If `DAT_TEST_TRAFFIC` is `listen
//! PORT` or `connect ADDRESS PORT`, it is one side, and its caller must make the other side
//! disappear: tests/guest/two-hosts does so, in two guests.
//!
//! With `DAT_TEST_READER=connect`, only the side that connects reads: over soft-iWARP, two sides that
//! read at the same time wait for each other forever (docs/provider-verbs.md).

use crossbeam_channel::{Receiver, unbounded};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dat_core::{
    Close, CompletionFlags, Connect, ConnectionEventKind, DtoStatus, Ep, EpProvision, EpSpec,
    EpState, Evd, EvdFlags, EvdOptions, Event, Ia, Lmr, Memory, MemorySource, Operation,
    Privileges, Pz, RmrTriplet, WaitResult,
};

/// Upper bound for any step: longer than docs/provider-verbs.md allows for the end of a connection.
const LIMIT: Duration = Duration::from_secs(30);
const NONE: CompletionFlags = CompletionFlags::empty();
/// Makes the program one side of the traffic.
const ROLE: &str = "DAT_TEST_TRAFFIC";

/// Which side reads; both without it.
const READER: &str = "DAT_TEST_READER";

/// Number of requests that are kept outstanding, and of receives.
const REQUESTS: usize = 12;
const RECEIVES: usize = 16;
/// Number of messages that each side may send beyond those received. Then each message finds a
/// receive, without which iWARP ends the connection, although a send completes there before it has
/// found one.
const AHEAD: usize = (RECEIVES - 1) / 2;
/// Number of completions of each side after which there is enough traffic.
const ENOUGH: usize = 100;

/// Length of a message, a write and a read, in bytes.
const LENGTH: u64 = 4096;
/// The contents of the memory that the other side reads.
const READ: u8 = 0x5a;
/// Parts of the memory: to send and write from, to receive into, to read into, to be written by the
/// other side, to be read by it.
const PARTS: usize = 5;

/// An open adapter with all objects that a connection needs.
struct Side {
    ia: Ia,
    pz: Pz,
    done: Evd,
    connect: Evd,
    memory: Memory,
    lmr: Lmr,
    ep: Ep,
}

impl Side {
    /// Opens the adapter with that address.
    fn open(address: IpAddr) -> Self {
        let ia = verbs_side::open(address);
        let evd = |flags| ia.evd_create(&EvdOptions::new(256, flags)).expect("a dispatcher");
        let (done, connect) = (evd(EvdFlags::DTO), evd(EvdFlags::CONNECTION));
        let pz = ia.pz_create().expect("a zone");
        let memory = Memory::zeroed(PARTS * LENGTH as usize).expect("memory");
        memory.write(4 * LENGTH as usize, &[READ; LENGTH as usize]).expect("in bounds");
        let source = MemorySource::Memory(&memory);
        let lmr = ia.lmr_create(source, &pz, Privileges::ALL).expect("a region");
        let spec = EpSpec::new(&pz).recv_evd(&done).request_evd(&done).connect_evd(&connect);
        let ep = ia.ep_create(&spec).expect("an endpoint");
        Self { ia, pz, done, connect, memory, lmr, ep }
    }

    /// The memory that the other side may access, as private data.
    fn offer(&self) -> Vec<u8> {
        let remote = self.lmr.remote_triplet(0, PARTS as u64 * LENGTH).expect("in bounds");
        [&remote.address.to_le_bytes()[..], &remote.context.to_le_bytes()].concat()
    }

    fn close(self) {
        self.ep.free().expect("disconnected");
        self.lmr.free().expect("unused");
        self.done.free().expect("unused");
        self.connect.free().expect("unused");
        self.pz.free().expect("unused");
        self.ia.close(Close::Graceful).expect("nothing is left");
    }
}

#[track_caller]
fn next(evd: &Evd) -> Event {
    let mut event = Event::default();
    match evd.wait(LIMIT.into(), 1, &mut event) {
        Ok(WaitResult::Event { .. }) => event,
        other => panic!("no event: {other:?}"),
    }
}

fn area(private_data: &[u8]) -> (u64, u32) {
    let address = private_data[..8].try_into().expect("eight bytes");
    let context = private_data[8..12].try_into().expect("four bytes");
    (u64::from_le_bytes(address), u32::from_le_bytes(context))
}

/// A connection and its outstanding operations.
struct Traffic<'a> {
    side: &'a Side,
    area: (u64, u32),
    requests: VecDeque<(u64, Operation)>,
    receives: VecDeque<u64>,
    cookies: u64,
    completed: usize,
    sent: usize,
    received: usize,
    reads: bool,
}

impl<'a> Traffic<'a> {
    /// Creates it with the receives that are posted before there is a connection.
    fn new(side: &'a Side) -> Self {
        let (requests, receives) = (VecDeque::new(), VecDeque::new());
        let area = (0, 0);
        let (cookies, completed, sent, received) = (0, 0, 0, 0);
        let reads = std::env::var_os(READER).is_none();
        let mut traffic =
            Self { side, area, requests, receives, cookies, completed, sent, received, reads };
        for _ in 0..RECEIVES {
            traffic.receive();
        }
        traffic
    }

    fn connect(&mut self, address: IpAddr, port: u64) {
        self.reads = true;
        let offer = self.side.offer();
        let connect = Connect::to(address, port).timeout(LIMIT).private_data(&offer);
        self.side.ep.connect(&connect).expect("an attempt");
        let Event::Connection(event) = next(&self.side.connect) else { panic!("no outcome") };
        assert_eq!(event.kind, ConnectionEventKind::Established);
        self.area = area(&event.private_data);
    }

    /// Listens, passes the port to `ready`, and accepts a request.
    fn accept(&mut self, port: Option<u64>, ready: impl FnOnce(u64)) {
        let ia = &self.side.ia;
        let options = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
        let requests = ia.evd_create(&options).expect("a dispatcher");
        let psp = match port {
            Some(port) => ia.psp_create(port, &requests, EpProvision::Consumer),
            None => ia.psp_create_any(&requests, EpProvision::Consumer),
        };
        let psp = psp.expect("a service point");
        ready(psp.qualifier());
        let Event::ConnectionRequest(arrival) = next(&requests) else { panic!("no request") };
        self.area = area(&arrival.request.query().expect("it waits").private_data);
        let offer = self.side.offer();
        arrival.request.accept(Some(&self.side.ep), &offer).expect("an unconnected endpoint");
        let Event::Connection(event) = next(&self.side.connect) else { panic!("no outcome") };
        assert_eq!(event.kind, ConnectionEventKind::Established);
        psp.free().expect("it listens");
        requests.free().expect("unused");
    }

    fn receive(&mut self) {
        let into = self.side.lmr.triplet(LENGTH, LENGTH).expect("in bounds");
        self.cookies += 1;
        self.side.ep.post_recv(&[into], self.cookies, NONE).expect("there is room");
        self.receives.push_back(self.cookies);
    }

    fn request(&mut self) {
        let Self { side: Side { ep, lmr, .. }, area: (address, context), .. } = *self;
        let local = |part: u64| [lmr.triplet(part * LENGTH, LENGTH).expect("in bounds")];
        let remote =
            |part: u64| RmrTriplet { address: address + part * LENGTH, length: LENGTH, context };
        self.cookies += 1;
        let cookie = self.cookies;
        let (posted, operation) = match cookie % 3 {
            0 if self.sent < self.received + AHEAD => {
                self.sent += 1;
                (ep.post_send(&local(0), cookie, NONE), Operation::Send)
            }
            2 if self.reads => {
                (ep.post_rdma_read(&local(2), cookie, remote(4), NONE), Operation::RdmaRead)
            }
            _ => (ep.post_rdma_write(&local(0), cookie, remote(3), NONE), Operation::RdmaWrite),
        };
        // Until the end is reported, posts are accepted and flushed.
        posted.expect("there is room");
        self.requests.push_back((cookie, operation));
    }

    /// Takes a completion; each comes once, in the order of the posts.
    fn complete(&mut self) -> (Operation, DtoStatus) {
        let mut event = Event::default();
        let waited = self.side.done.wait(LIMIT.into(), 1, &mut event);
        let Event::Dto(done) = event else {
            panic!(
                "{waited:?} after {} completions, with {:?} and {:?}",
                self.completed, self.requests, self.receives
            )
        };
        if done.operation == Operation::Receive {
            assert_eq!(self.receives.pop_front(), Some(done.cookie));
        } else {
            assert_eq!(self.requests.pop_front(), Some((done.cookie, done.operation)));
        }
        (done.operation, done.status)
    }

    /// Keeps the maximum outstanding until something fails. Calls `enough` once.
    fn run(&mut self, enough: impl FnOnce()) -> Instant {
        let mut enough = Some(enough);
        let mut last = Instant::now();
        loop {
            while self.requests.len() < REQUESTS {
                self.request();
            }
            let (operation, status) = self.complete();
            if status != DtoStatus::Success {
                return last;
            }
            last = Instant::now();
            match operation {
                Operation::Receive => {
                    self.received += 1;
                    self.receive();
                }
                Operation::RdmaRead => {
                    let read = self.side.memory.to_vec(2 * LENGTH as usize, LENGTH as usize);
                    assert!(read.expect("in bounds").iter().all(|byte| *byte == READ));
                }
                _ => {}
            }
            self.completed += 1;
            if self.completed >= ENOUGH {
                if let Some(enough) = enough.take() {
                    enough();
                }
            }
        }
    }

    /// Everything outstanding completes unsuccessfully, and the end is reported.
    fn end(&mut self) -> ConnectionEventKind {
        while !self.requests.is_empty() || !self.receives.is_empty() {
            let (operation, status) = self.complete();
            // What had arrived before the end counts as received.
            assert!(status != DtoStatus::Success || operation == Operation::Receive);
        }
        let Event::Connection(event) = next(&self.side.connect) else { panic!("no end") };
        assert_eq!(self.side.ep.status().expect("live").state, EpState::Disconnected);
        event.kind
    }
}

/// The open descriptors and the threads of this process.
#[derive(Debug, PartialEq)]
struct Belongings {
    files: Vec<String>,
    threads: Vec<String>,
}

impl Belongings {
    fn now() -> Self {
        let list = |of| std::fs::read_dir(of).expect("proc is mounted").flatten();
        let mut files: Vec<String> = list("/proc/self/fd")
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .map(|target| target.display().to_string())
            .filter(|target| !target.starts_with("/proc/"))
            .collect();
        let mut threads: Vec<String> = list("/proc/self/task")
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok())
            .map(|name| name.trim_end().to_owned())
            // The timer threads stay once they were started (ARCHITECTURE.md).
            .filter(|name| !["dat-timer", "dat-soft-verbs"].contains(&name.as_str()))
            .collect();
        files.sort();
        threads.sort();
        Self { files, threads }
    }

    /// The values once no thread is ending: two in a row, 100 ms apart, are equal.
    fn at_rest() -> Self {
        let mut last = Self::now();
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let now = Self::now();
            if now == last {
                return now;
            }
            last = now;
        }
    }

    /// These values once all ending threads have ended, or the values at the time-out.
    fn settled(&self) -> Self {
        let deadline = Instant::now() + LIMIT;
        loop {
            let now = Self::now();
            if now == *self || Instant::now() > deadline {
                return now;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Starts the other side as a process, connected to a port here, and kills it once both sides have
/// had enough traffic.
fn other_side(address: IpAddr, port: u64, enough: Receiver<()>) -> JoinHandle<()> {
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(["--nocapture", "a_connection_to_a_lost_peer_ends_completely"])
        .env(ROLE, format!("connect {address} {port}"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the other process");
    std::thread::spawn(move || {
        let told = BufReader::new(other.stdout.take().expect("piped"));
        let told = told.lines().map_while(Result::ok).any(|line| line.contains("traffic"));
        let enough = enough.recv_timeout(LIMIT);
        other.kill().expect("it runs");
        other.wait().expect("it was killed");
        assert!(told && enough.is_ok(), "both sides have traffic");
    })
}

#[test]
fn a_connection_to_a_lost_peer_ends_completely() {
    let Ok(address) = std::env::var("DAT_TEST_RDMA") else {
        let text = "NOT RUN: no RDMA device is named by DAT_TEST_RDMA";
        let _ = writeln!(std::io::stderr(), "{text}: what happens when the other side is lost");
        return;
    };
    let address: IpAddr = address.parse().expect("DAT_TEST_RDMA is an address");
    let role = std::env::var(ROLE).unwrap_or_default();
    let role: Vec<&str> = role.split(' ').filter(|word| !word.is_empty()).collect();
    // The libraries keep some descriptors open until the process ends.
    Side::open(address).close();
    let before = Belongings::at_rest();
    let start = Instant::now();
    let side = Side::open(address);
    let mut traffic = Traffic::new(&side);
    let mut other = None;
    let (enough, had_enough) = unbounded();
    match role[..] {
        ["connect", to, port] => {
            traffic.connect(to.parse().expect("an address"), port.parse().expect("a port"));
        }
        ["listen", port] => traffic.accept(Some(port.parse().expect("a port")), |_| {
            println!("listening");
        }),
        [] => traffic.accept(None, |port| other = Some(other_side(address, port, had_enough))),
        _ => panic!("{ROLE} is neither listen PORT nor connect ADDRESS PORT"),
    }
    let last = traffic.run(|| {
        println!("traffic after {:.1} s", start.elapsed().as_secs_f64());
        // Only the side that started the other one has a receiver for this.
        let _ = enough.send(());
    });
    let end = traffic.end();
    let time = last.elapsed();
    assert!(time < LIMIT, "{time:?}");
    assert!(
        matches!(end, ConnectionEventKind::Disconnected | ConnectionEventKind::Broken),
        "{end:?}"
    );
    println!("{} {:.1} s after the last that went well", end.name(), time.as_secs_f64());
    let completed = traffic.completed;
    assert!(completed >= ENOUGH, "{completed}");
    side.ep.reset().expect("disconnected");
    assert_eq!(side.ep.status().expect("live").state, EpState::Unconnected);
    side.close();
    if let Some(other) = other {
        other.join().expect("the other side had traffic");
    }
    assert_eq!(before.settled(), before, "nothing is left open");
}
