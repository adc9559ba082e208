//! A program that closes all descriptors except the standard ones, as daemons do, and opens files of its own.
#![allow(unsafe_code, reason = "descriptors of others are closed, and kept open by their numbers")]

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::process::Child;
use std::time::Duration;

use dat_conformance::{Node, drain, exchange, expect_connection, state, until};
use dat_core::{
    AsyncErrorKind, Close, Connect, ConnectionEventKind, Ep, EpProvision, EpState, Evd, EvdFlags,
    Event, ReturnType, Timeout,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::MemfdFlags;
use rustix::time::{ClockId, clock_gettime};

use crate::completions::NONE;
use crate::process;
use crate::traffic::{self, LONGEST, Load};

/// The first number that the program closes.
const FIRST: RawFd = 3;
/// Above all numbers that the adapters of a test have.
const ABOVE: RawFd = 500;
/// The number of files of each kind: together more than the adapters had descriptors.
const FILES: usize = 40;

/// The open descriptors that the program did not open.
fn foreign() -> Vec<RawFd> {
    let all = std::fs::read_dir("/proc/self/fd").expect("Linux");
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One of them is that of the folder itself, which is closed by now.
    numbers.filter(|number| (FIRST..ABOVE).contains(number)).collect()
}

/// Starts the peer. Its pipes are closed by number.
fn start_peer() -> (Child, u64) {
    let (mut child, port) = process::start("killed::peer");
    let _ = ManuallyDrop::new((child.stdin.take(), child.stdout.take()));
    (child, port)
}

/// Closes every descriptor that the program did not open.
pub(crate) fn close_all() {
    for number in foreign() {
        // SAFETY: the test is about what the owners of the descriptors do then.
        unsafe { libc::close(number) };
    }
}

/// The files that the program opens then, which get the numbers that were closed.
struct Files {
    regular: Vec<File>,
    counters: Vec<File>,
    sockets: Vec<UnixDatagram>,
    inodes: Vec<(RawFd, u64)>,
}

fn inode(number: RawFd) -> Option<u64> {
    std::fs::metadata(format!("/proc/self/fd/{number}")).ok().map(|file| file.ino())
}

impl Files {
    fn open() -> Self {
        let (mut regular, mut counters, mut sockets) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..FILES {
            let memory = rustix::fs::memfd_create("program", MemfdFlags::empty());
            regular.push(File::from(memory.expect("a descriptor")));
            let counter = eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor");
            counters.push(File::from(counter));
            let socket = UnixDatagram::unbound().expect("a descriptor");
            socket.set_nonblocking(true).expect("a socket");
            sockets.push(socket);
        }
        let numbers = regular.iter().chain(&counters).map(AsRawFd::as_raw_fd);
        let numbers = numbers.chain(sockets.iter().map(AsRawFd::as_raw_fd));
        let inodes: Vec<_> = numbers.map(|number| (number, inode(number).expect("open"))).collect();
        assert!(inodes.iter().any(|(number, _)| *number == FIRST), "they got other numbers");
        Self { regular, counters, sockets, inodes }
    }

    /// All are open, and nothing was written to them.
    fn are_untouched(&self) {
        for (number, before) in &self.inodes {
            assert_eq!(inode(*number), Some(*before), "the file {number} of the program");
        }
        for file in &self.regular {
            assert_eq!(file.metadata().expect("open").len(), 0, "bytes in a file");
        }
        for mut file in &self.counters {
            let read = file.read(&mut [0; 8]).map_err(|error| error.kind());
            assert_eq!(read, Err(ErrorKind::WouldBlock), "a counter");
        }
        for socket in &self.sockets {
            let received = socket.recv(&mut [0; 8]).map_err(|error| error.kind());
            assert_eq!(received, Err(ErrorKind::WouldBlock), "a socket");
        }
    }
}

/// Returns true if the only thread of an adapter sleeps.
fn is_thread_asleep() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let status = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("stat")).ok()
    };
    tasks.filter_map(status).any(|status| status.contains("(dat-progress) S"))
}

/// An adapter with a connection to itself, one to a peer, a listener, and dispatchers with descriptors.
struct Site {
    node: Node,
    errors: Evd,
    /// It has a descriptor, which an event makes readable.
    software: Evd,
    pair: (Ep, Ep),
    far: Ep,
    port: u64,
}

impl Site {
    fn new(open: fn(&str) -> Node, peer: u64) -> Self {
        let node = open("");
        let errors = node.ia.async_evd().expect("its own");
        let pair = node.pair();
        exchange(&node, &pair.0, &pair.1);
        let (far, buffer) = (node.ep(), traffic::buffer(&node));
        let private_data = Load::number(0).private_data(buffer.remote(0, LONGEST));
        let connect = Connect::to(node.address(), peer);
        far.connect(&connect.private_data(&private_data)).expect("an attempt");
        expect_connection(&node.connect, &far, ConnectionEventKind::Established);
        let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a port");
        let port = psp.qualifier();
        // It ends with the adapter.
        let _ = ManuallyDrop::new((psp, buffer));
        let software = node.evd(EvdFlags::SOFTWARE);
        software.fd().expect("a descriptor");
        // It is not being woken, which would hide that later wake-ups fail.
        until("the thread of the adapter sleeps", is_thread_asleep);
        Self { node, errors, software, pair, far, port }
    }

    /// Everything has ended, as the events say, and calls say why.
    fn has_failed(self, error: &Event) {
        let Event::Async(error) = error else { panic!("{error:?}") };
        let expected = (AsyncErrorKind::IaCatastrophic, self.node.ia.id());
        assert_eq!((error.kind, error.object), expected);
        let eps = [&self.pair.0, &self.pair.1, &self.far];
        until("all are disconnected", || eps.iter().all(|ep| state(ep) == EpState::Disconnected));
        let kinds = drain(&self.node.connect).into_iter().map(|event| match event {
            Event::Connection(event) => event.kind,
            other => panic!("{other:?}"),
        });
        assert_eq!(kinds.collect::<Vec<_>>(), [ConnectionEventKind::Broken; 3]);
        let refused = self.node.ia.ep_create(&self.node.spec()).expect_err("no more endpoints");
        assert_eq!(refused.return_type(), ReturnType::InternalError, "{refused}");
        assert!(refused.to_string().contains("has closed descriptors"), "{refused}");
        let listen = self.node.ia.psp_create_any(&self.node.requests, EpProvision::Consumer);
        assert!(listen.is_err(), "no more listeners");
        self.pair.0.reset().expect("disconnected");
        let connect = self.pair.0.connect(&Connect::to(self.node.address(), self.port));
        assert!(connect.is_err(), "no more attempts");
        self.software.post_software_event(7).expect("room");
        self.node.ia.close(Close::Abrupt).expect("open");
    }
}

/// The time for which the process has used processors.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// A new adapter works, and the files of the program are as they were.
fn goes_on(open: fn(&str) -> Node, files: &Files) {
    files.are_untouched();
    let before = used();
    std::thread::sleep(Duration::from_secs(1));
    assert!(used() - before < Duration::from_millis(500), "a thread spins");
    let node = open("");
    let (client, server) = node.pair();
    exchange(&node, &client, &server);
    files.are_untouched();
}

/// The program closes the descriptors and waits for an event. Needs a process of its own.
///
/// # Panics
/// If it gets no error, or a file of its own is closed or written.
pub fn a_waiter_finds_it(open: fn(&str) -> Node) {
    let (mut child, port) = start_peer();
    let site = Site::new(open, port);
    close_all();
    let files = Files::open();
    let mut error = Event::default();
    let limit = Timeout::After(Duration::from_secs(20));
    site.errors.wait(limit, 1, &mut error).expect("it can be waited on");
    site.has_failed(&error);
    goes_on(open, &files);
    child.kill().expect("a child");
    child.wait().expect("a child");
}

/// The program closes the descriptors, of which others remain for the same files, so that links still wake the thread.
/// It makes no call that waits. Needs a process of its own.
///
/// # Panics
/// As [`a_waiter_finds_it`].
pub fn the_thread_finds_it(open: fn(&str) -> Node) {
    let (mut child, port) = start_peer();
    let site = Site::new(open, port);
    let kept: Vec<OwnedFd> = foreign()
        .into_iter()
        .filter_map(|number| {
            // SAFETY: it is open, unless it is that of the folder which was listed.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::io::fcntl_dupfd_cloexec(descriptor, ABOVE).ok()
        })
        .collect();
    close_all();
    let files = Files::open();
    child.kill().expect("a child");
    child.wait().expect("a child");
    let mut error = Event::default();
    until("the error is there", || site.errors.dequeue(&mut error).expect("open"));
    site.has_failed(&error);
    goes_on(open, &files);
    drop(kept);
}

/// The program closes the descriptors, and makes calls that do not wait. Needs a process of its own.
///
/// # Panics
/// As [`a_waiter_finds_it`].
pub fn a_call_finds_it(open: fn(&str) -> Node) {
    let (mut child, port) = start_peer();
    let site = Site::new(open, port);
    let buffer = site.node.buffer(64);
    close_all();
    let files = Files::open();
    // Over shared memory, messages to a consumer that polls need no call of the system.
    let _ = site.pair.0.post_send(&[buffer.piece(0, 64)], 1, NONE);
    let listener = site.node.ia.psp_create_any(&site.node.requests, EpProvision::Consumer);
    let mut error = Event::default();
    until("the error is there", || site.errors.dequeue(&mut error).expect("open"));
    site.has_failed(&error);
    drop(listener);
    goes_on(open, &files);
    child.kill().expect("a child");
    child.wait().expect("a child");
}

/// As [`a_waiter_finds_it`], over an adapter that has no descriptors of its own. Needs a process of its own.
///
/// # Panics
/// If the adapter does not go on, or a file of the program is closed or written.
pub fn nothing_happens_without_descriptors(open: fn(&str) -> Node) {
    let node = open("");
    let (client, server) = node.pair();
    let software = node.evd(EvdFlags::SOFTWARE);
    software.fd().expect("a descriptor");
    close_all();
    let files = Files::open();
    exchange(&node, &client, &server);
    software.post_software_event(7).expect("room");
    assert_eq!(drain(&software), [Event::Software(7)]);
    node.ia.close(Close::Abrupt).expect("open");
    drop((node, software));
    goes_on(open, &files);
}
