//! The simulated world: processes, their connections and the network, from the beginning of a seed to its end.

use std::time::{Duration, Instant};

use dat_conformance::{Buffer, Node};
use dat_core::{Ep, Privileges, Registry, Rmr, RmrTriplet};
use dat_provider_kit::engine;
use dat_sync::clock;
use dat_sync::epoll::simulated::Call;
use fastrand::Rng;

use crate::descriptors::{Descriptors, Socket};
use crate::memory;
use crate::model::Pair;
use crate::network;
use crate::plan::{Habit, Plan, Workload};
use crate::process::{Process, Shared, Unanswered};
use crate::trace::Trace;

/// Longest time that a thread needs to wake up, in nanoseconds.
pub(crate) const WAKE_UP: u64 = 20_000;
/// A link is idle for no longer while a request is not complete that could be.
pub(crate) const IDLE: Duration = Duration::from_millis(1);

/// The areas of the memory of an endpoint, each of as many slots as the plan says.
#[derive(Clone, Copy)]
pub(crate) enum Area {
    /// What it sends.
    Out,
    /// What its peer writes.
    In,
    /// What it reads.
    Read,
    /// Its receives.
    Receive,
    /// A constant that its peer reads, and a word for atomic operations.
    Constant,
}

/// One side of a connection.
pub(crate) struct End {
    pub(crate) process: usize,
    pub(crate) ep: Ep,
    /// A remote memory region, in some workloads, and its context while it is bound.
    pub(crate) window: Option<Rmr>,
    pub(crate) bound: Option<u32>,
    pub(crate) buffer: Buffer,
}

/// A connection of the workload.
pub(crate) struct Connection {
    pub(crate) ends: [Option<End>; 2],
    pub(crate) pair: Pair,
    /// The processes of its ends.
    pub(crate) processes: [usize; 2],
    /// The number of its link; none if its attempt failed before there was one.
    pub(crate) link: Option<usize>,
    /// The sockets of its active side, with the adapters themselves.
    pub(crate) sockets: Vec<Socket>,
    /// When its attempt times out; never if it has no time-out.
    pub(crate) deadline: Option<Instant>,
}

/// Memory that was registered.
pub(crate) struct Retired {
    pub(crate) buffer: Buffer,
    /// What was in it when it was deregistered.
    pub(crate) before: Vec<u8>,
    /// By which the peer has used it.
    pub(crate) remote: RmrTriplet,
    /// The endpoint whose memory it was.
    pub(crate) ep: dat_core::EpId,
}

/// The world of a seed.
pub(crate) struct World {
    pub(crate) random: Rng,
    pub(crate) trace: Trace,
    pub(crate) plan: Plan,
    pub(crate) processes: Vec<Process>,
    pub(crate) connections: Vec<Connection>,
    /// With the adapters themselves, which process has which descriptor.
    pub(crate) descriptors: Option<Descriptors>,
    /// For each direction of each link that has unread bytes: how many were read, and since when no more.
    pub(crate) unread_since: Vec<[Option<(u64, Instant)>; 2]>,
    pub(crate) next_cookie: u64,
    /// For each link that is idle: the number of bytes that were read, and since when no more.
    pub(crate) idle_since: Vec<Option<(u64, Instant)>>,
    /// The calls that the system is to refuse, and how many connections may end because it did.
    pub(crate) refused: Vec<Call>,
    pub(crate) excuses: usize,
    /// Memory that was deregistered.
    pub(crate) retired: Vec<Retired>,
    /// Requests that their consumers have taken and not answered.
    pub(crate) unanswered: Vec<Unanswered>,
    /// The timer of connects runs at this time.
    pub(crate) timer_runs_at: Option<Instant>,
    /// Nothing new begins.
    pub(crate) is_settling: bool,
    /// A process was stopped, so that arrivals may wait.
    pub(crate) has_stopped: bool,
}

pub(crate) type Outcome<T = ()> = Result<T, String>;

impl World {
    pub(crate) fn new(
        seed: u64,
        workload: Option<Workload>,
        registry: &Registry,
        trace: Trace,
    ) -> Self {
        let mut random = Rng::with_seed(seed);
        let workload = workload.unwrap_or_else(|| Workload::of(seed));
        let plan = Plan::new(workload, &mut random);
        trace.line(|| format!("{plan:?}"));
        let adapter = plan.workload.adapter();
        let own = Rng::with_seed(random.u64(..));
        network::begin(plan.habits, plan.processes, own, adapter.is_none());
        let mut descriptors = adapter.map(|_| Descriptors::new());
        let processes = (0..plan.processes).map(|process| {
            let simulated = || format!("simulated?{process}");
            let name = adapter.map_or_else(simulated, str::to_owned);
            let ia = registry.open(&name).expect("an adapter");
            network::with(|network| {
                let started = engine::take_simulated_threads().into_iter();
                network.threads.extend(started.map(|thread| Some((process, thread))));
            });
            let node = Node::on(ia);
            let psp = node.psp();
            let has_cno = plan.workload == Workload::Notifications;
            let cno = has_cno.then(|| node.ia.cno_create(None).expect("a notification object"));
            for queue in [&node.request, &node.recv, &node.connect, &node.requests] {
                queue.modify_cno(cno.as_ref()).expect("a live dispatcher");
            }
            let shared = (plan.slots == 8 && random.bool()).then(|| Shared {
                queue: node.srq(plan.slots as u32),
                buffer: memory::buffer(&node, plan.slots * plan.slot, Privileges::ALL),
                receives: Vec::new(),
            });
            if let Some(descriptors) = &mut descriptors {
                descriptors.note(process);
            }
            Process {
                shared,
                node,
                psp,
                cno,
                disabled: [false; 4],
                habit: Habit::Polls,
                wait: None,
                took_at: clock::now_without_pauses(),
                is_broken: false,
                polls: 0,
                away_until: clock::now(),
                stopped_until: clock::now(),
                is_killed: false,
                thread_runs_at: Some(clock::now()),
                is_thread_alive: true,
                seen: 0,
            }
        });
        Self {
            processes: processes.collect(),
            descriptors,
            plan,
            random,
            trace,
            connections: Vec::new(),
            unread_since: Vec::new(),
            next_cookie: 1,
            idle_since: Vec::new(),
            refused: Vec::new(),
            excuses: 0,
            retired: Vec::new(),
            unanswered: Vec::new(),
            timer_runs_at: None,
            is_settling: false,
            has_stopped: false,
        }
    }

    /// A process has made calls that may have opened descriptors. Returns the sockets that it has opened.
    pub(crate) fn note_descriptors(&mut self, process: usize) -> Vec<Socket> {
        self.descriptors.as_mut().map(|all| all.note(process)).unwrap_or_default()
    }

    pub(crate) fn describe_links(&self) {
        network::with(|network| {
            for (index, (_, link)) in network.links.iter().enumerate() {
                self.trace.line(|| format!("link {index}: {}", link.describe()));
            }
        });
    }

    /// Returns true if nothing has moved on any link for some time.
    pub(crate) fn is_network_idle(&self) -> bool {
        let now = clock::now_without_pauses();
        let is_idle = |since: &Option<(u64, Instant)>| {
            since.is_some_and(|(_, since)| now.duration_since(since) > IDLE)
        };
        self.idle_since.iter().all(is_idle)
    }

    pub(crate) fn next_event(&self) -> u64 {
        self.trace.lines()
    }

    pub(crate) fn at(&self, area: Area, slot: usize) -> usize {
        (area as usize * self.plan.slots + slot) * self.plan.slot
    }

    pub(crate) fn word(&self) -> usize {
        self.at(Area::Constant, 1)
    }

    pub(crate) fn cookie(&mut self) -> u64 {
        self.next_cookie += 1;
        self.next_cookie
    }
}
