//! Waiters that are bound to one processor, as the ranks of an MPI program are. The first waiter of
//! this process is one of them. The tests count sleeps, not time.

use std::sync::Mutex;
use std::thread;

use dat_conformance::fixture::{Buffer, Node, free_all, link};
use dat_conformance::wait::expect_dto;
use dat_conformance::{Target, set_target};
use dat_core::{CompletionFlags, Ep, Evd, EvdCounter, EvdFlags, Registry};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Round trips of a batch.
const ROUNDS: u64 = 100;
/// Other programs disturb some batches of a busy machine; the best one counts.
const BATCHES: usize = 20;

/// Two tests at once would share the processors.
static ALONE: Mutex<()> = Mutex::new(());

fn processors() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("the calling thread exists");
    (0..CpuSet::count()).filter(|at| allowed.is_set(*at).expect("below the count")).collect()
}

fn bind_to(processor: usize) {
    let mut one = CpuSet::new();
    one.set(processor).expect("below the count");
    sched_setaffinity(Pid::from_raw(0), &one).expect("allowed a moment ago");
}

/// Runs the calling thread before the ordinary threads of other programs. Without the right to do so the test
/// needs a quiet machine.
#[allow(unsafe_code, reason = "no safe wrapper of sched_setscheduler(2)")]
fn take_precedence() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel only reads `parameters`, which is valid for the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}

/// One side of the round trips.
struct Side {
    ep: Ep,
    recv: Evd,
    request: Evd,
    buffer: Buffer,
    sends_first: bool,
}

impl Side {
    fn new(node: &Node, sends_first: bool) -> Self {
        let (recv, request) = (node.evd(EvdFlags::DTO), node.evd(EvdFlags::DTO));
        let spec = node.spec().recv_evd(&recv).request_evd(&request);
        let ep = node.ia.ep_create(&spec).expect("an endpoint");
        recv.start_counters().expect("live");
        let side = Self { ep, recv, request, buffer: node.buffer(16), sends_first };
        side.post_receive();
        side
    }

    fn post_receive(&self) {
        let target = self.buffer.piece(0, 8);
        self.ep.post_recv(&[target], 1, CompletionFlags::empty()).expect("a free credit");
    }

    fn send(&self) {
        let source = self.buffer.piece(8, 8);
        self.ep.post_send(&[source], 2, CompletionFlags::empty()).expect("connected");
        expect_dto(&self.request, &[&self.ep]);
    }

    /// Runs a batch on one processor; returns how often the waiter slept.
    fn batch(&self, processor: usize) -> u64 {
        bind_to(processor);
        take_precedence();
        for _ in 0..ROUNDS {
            if self.sends_first {
                self.send();
            }
            expect_dto(&self.recv, &[&self.ep]);
            self.post_receive();
            if !self.sends_first {
                self.send();
            }
        }
        self.recv.counters(true).expect("live").get(EvdCounter::WaitBlocked)
    }

    fn free(self) {
        free_all(&[&self.ep, &self.recv, &self.request]);
    }
}

/// How often the waiters of both sides slept in each batch.
fn sleeps(on: [usize; 2]) -> Vec<u64> {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("a name of its own");
    set_target(Target::new(registry, "loopback"));
    // The first dispatcher of the process is created by a bound thread.
    bind_to(on[0]);
    let node = Node::new();
    let (client, server) = (Side::new(&node, true), Side::new(&node, false));
    link(&node, &client.ep, &node, &server.ep);
    let batch = || {
        thread::scope(|threads| {
            let server = threads.spawn(|| server.batch(on[1]));
            let client = threads.spawn(|| client.batch(on[0]));
            client.join().expect("a batch") + server.join().expect("a batch")
        })
    };
    let sleeps = (0..BATCHES).map(|_| batch()).collect();
    client.free();
    server.free();
    node.finish();
    sleeps
}

/// Fails if the waiters slept in more than a few of the round trips of each batch.
fn assert_awake(sleeps: &[u64]) {
    let least = *sleeps.iter().min().expect("batches");
    assert!(least < ROUNDS / 10, "sleeps in {ROUNDS} round trips: {sleeps:?}");
}

#[test]
fn a_bound_waiter_spins_for_a_peer_on_another_processor() {
    let _alone = ALONE.lock();
    let &[one, other, ..] = processors().as_slice() else {
        panic!("this test compares two processors, and the process may use only one");
    };
    assert_awake(&sleeps([one, other]));
}

/// A waiter that only spun would keep the peer from answering, and sleep in each round trip.
#[test]
fn a_bound_waiter_yields_to_a_peer_on_its_own_processor() {
    let _alone = ALONE.lock();
    let one = processors()[0];
    assert_awake(&sleeps([one, one]));
}
