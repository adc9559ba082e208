//! RDMA operations over `shm`, next to the kernel's copy between the same processes, in the same run:
//! `cargo bench -p dat-provider-shm --bench direct`. The target sleeps, or polls its queues.
#![allow(unsafe_code, reason = "process_vm_readv and process_vm_writev")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use dat_conformance::{Buffer, Node, expect_connection, expect_request};
use dat_core::{
    CompletionFlags, Connect, ConnectionEventKind, DtoStatus, Endpoint, EpProvision, Event,
    Registry, RmrTriplet,
};
use dat_two_processes::traffic::Load;

const LONGEST: usize = 1 << 20;
const BATCHES: usize = 300;
const NONE: CompletionFlags = CompletionFlags::empty();

fn node() -> Node {
    let registry = Registry::new();
    registry.add_provider(dat_provider_shm::provider()).expect("the only provider");
    Node::on(registry.open("shm").expect("every machine has it"))
}

/// The other process.
fn target(polls: bool) {
    let node = node();
    let psp = node.ia.psp_create_any(&node.requests, EpProvision::Consumer).expect("a qualifier");
    let buffer = node.buffer(LONGEST);
    buffer.fill(0, &[1; LONGEST]);
    println!("{}", psp.qualifier());
    let request = expect_request(&node.requests).request;
    let ep = node.ep();
    let own = Load::number(0).private_data(buffer.remote(0, LONGEST));
    request.accept(Some(&ep), &own).expect("unconnected");
    expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
    if polls {
        let mut event = Event::default();
        while dat_conformance::state(&ep) == dat_core::EpState::Connected {
            for _ in 0..10_000 {
                let _ = node.recv.dequeue(&mut event);
            }
        }
    } else {
        std::io::stdin().lines().for_each(drop);
    }
}

/// The connection to a target.
struct Side {
    node: Node,
    own: Buffer,
    ep: Endpoint,
    theirs: RmrTriplet,
    child: Child,
}

impl Side {
    fn new(mode: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("a program"));
        let command = command.arg(mode).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let mut line = String::new();
        let output = child.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("it listens");
        let node = node();
        let ep = node.ep();
        let own = node.buffer(LONGEST);
        own.fill(0, &[2; LONGEST]);
        let connect = Connect::to(node.address(), line.trim().parse().expect("a number"));
        let nothing = Load::number(0).private_data(own.remote(0, LONGEST));
        ep.connect(&connect.private_data(&nothing)).expect("an attempt");
        let event = expect_connection(&node.connect, &ep, ConnectionEventKind::Established);
        let (_, theirs) = Load::parse(&event.private_data);
        Self { node, own, ep, theirs, child }
    }

    fn rdma(&self, reads: bool, length: usize) {
        let local = [self.own.piece(0, length)];
        let remote = RmrTriplet { length: length as u64, ..self.theirs };
        if reads {
            self.ep.post_rdma_read(&local, 0, remote, NONE).expect("connected");
        } else {
            self.ep.post_rdma_write(&local, 0, remote, NONE).expect("connected");
        }
        let mut event = Event::default();
        while !self.node.request.dequeue(&mut event).expect("live") {
            std::hint::spin_loop();
        }
        let Event::Dto(done) = event else { panic!("{event:?}") };
        assert_eq!(done.status, DtoStatus::Success);
    }

    fn kernel(&self, reads: bool, length: usize) {
        let process = i32::try_from(self.child.id()).expect("a number");
        let part = |address: u64| libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(address as usize),
            iov_len: length,
        };
        let (local, remote) = (part(self.own.memory.address()), part(self.theirs.address));
        let call = if reads { libc::process_vm_readv } else { libc::process_vm_writev };
        // SAFETY: the local memory has this length; the kernel checks the remote part.
        let done = unsafe { call(process, &raw const local, 1, &raw const remote, 1, 0) };
        assert_eq!(done, length as isize, "{}", std::io::Error::last_os_error());
    }
}

/// Microseconds of each of `count` calls, as a batch takes them.
fn batch(count: usize, act: impl Fn()) -> f64 {
    let start = Instant::now();
    (0..count).for_each(|_| act());
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("sleeping") => return target(false),
        Some("polling") => return target(true),
        _ => {}
    }
    println!("microseconds, median (worst to best) of {BATCHES} batches; ratio of the medians");
    for mode in ["sleeping", "polling"] {
        let mut side = Side::new(mode);
        let sizes: &[(usize, usize)] =
            if mode == "polling" { &[(64, 100)] } else { &[(64, 100), (LONGEST, 4)] };
        for &(length, count) in sizes {
            for reads in [false, true] {
                let mut times = [Vec::new(), Vec::new()];
                for _ in 0..BATCHES {
                    times[0].push(batch(count, || side.rdma(reads, length)));
                    times[1].push(batch(count, || side.kernel(reads, length)));
                }
                let [rdma, kernel] = times.map(|mut times| {
                    times.sort_by(f64::total_cmp);
                    (times[BATCHES / 2], times[BATCHES - 1], times[0])
                });
                let what = if reads { "read" } else { "write" };
                let show = |(median, worst, best)| format!("{median:.2} ({worst:.2} to {best:.2})");
                println!(
                    "{length:>8} {what:5} target {mode}: rdma {}, kernel {}, ratio {:.3}",
                    show(rdma),
                    show(kernel),
                    rdma.0 / kernel.0
                );
            }
        }
        let _ = side.child.kill();
        let _ = side.child.wait();
    }
}
