//! The simulated world: processes, their connections, the network, and the scheduler that moves one of them at a time.

use std::time::{Duration, Instant};

use dat_conformance::{Buffer, Node};
use dat_core::{Endpoint, Privileges, Psp, PspMaker, Registry, SharedReceiveQueue};
use dat_provider_kit::engine;
use dat_sync::clock;
use dat_sync::epoll::simulated::{self, Call};
use fastrand::Rng;

use crate::memory;
use crate::model::{self, Pair};
use crate::network::{self, Link};
use crate::plan::{Plan, Workload};
use crate::registrations::Retired;
use crate::trace::Trace;
use crate::waits::Wait;
use crate::workload::Habit;

/// An arrival is seen within this time: the bound of the leases, the slack of the checks, and what the simulated
/// threads take to wake up.
const BOUND: Duration = Duration::from_micros(300);
/// Longest time that a thread needs to wake up, in nanoseconds.
pub(crate) const WAKE_UP: u64 = 20_000;
/// Most times that everything moves before the world comes to rest: longer than a closing link waits for its peer (2 s).
const SETTLING: u64 = 2_200_000_000 / WAKE_UP;
/// A link is idle for no longer while a request is not complete that could be.
pub(crate) const IDLE: Duration = Duration::from_millis(1);

/// Consumers abandon the waits that nothing ends this many rounds after nothing new has begun.
const WAITS_END: u64 = 40;

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
    pub(crate) ep: Endpoint,
    pub(crate) buffer: Buffer,
}

/// A connection of the workload.
pub(crate) struct Connection {
    pub(crate) ends: [Option<End>; 2],
    pub(crate) pair: Pair,
    /// The number of its link; none if its attempt failed before there was one.
    pub(crate) link: Option<usize>,
}

/// The shared receive queue of a process, with its receives that are not complete: cookies and offsets.
pub(crate) struct Shared {
    pub(crate) queue: SharedReceiveQueue,
    pub(crate) buffer: Buffer,
    pub(crate) receives: Vec<(u64, usize)>,
}

/// A process.
pub(crate) struct Process {
    /// The receives of all its endpoints, in some processes.
    pub(crate) shared: Option<Shared>,
    pub(crate) node: Node,
    pub(crate) psp: Psp,
    pub(crate) habit: Habit,
    /// Its consumer waits.
    pub(crate) wait: Option<Wait>,
    /// The program has closed a descriptor of its adapter.
    pub(crate) is_broken: bool,
    /// When its consumer took a completion last.
    pub(crate) took_at: Instant,
    /// It makes no call before this time.
    pub(crate) away_until: Instant,
    /// Nor does its thread run before this time.
    pub(crate) stopped_until: Instant,
    pub(crate) is_killed: bool,
    /// Its thread has been woken, and runs at this time.
    pub(crate) thread_runs_at: Option<Instant>,
    pub(crate) is_thread_alive: bool,
    /// The number of changes of descriptors when its thread slept last.
    pub(crate) seen: u64,
}

/// The world of a seed.
pub(crate) struct World {
    pub(crate) random: Rng,
    pub(crate) trace: Trace,
    pub(crate) plan: Plan,
    pub(crate) processes: Vec<Process>,
    pub(crate) connections: Vec<Connection>,
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
            let shared = (plan.slots == 8 && random.bool()).then(|| Shared {
                queue: node.srq(plan.slots as u32),
                buffer: memory::buffer(&node, plan.slots * plan.slot, Privileges::ALL),
                receives: Vec::new(),
            });
            Process {
                shared,
                node,
                psp,
                habit: Habit::Polls,
                wait: None,
                took_at: clock::now_without_pauses(),
                is_broken: false,
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
            is_settling: false,
            has_stopped: false,
        }
    }

    /// Runs the world for a number of steps, lets it come to rest, and ends it.
    pub(crate) fn run(mut self, steps: usize) -> Outcome {
        self.connect()?;
        for _ in 0..steps * self.plan.steps {
            self.step()?;
        }
        self.settle()?;
        self.finish()
    }

    /// Moves one thing.
    fn step(&mut self) -> Outcome {
        match self.random.u8(0..20) {
            0 => self.connect()?,
            1 if self.plan.has_faults && self.plan.workload.adapter().is_some() => self.stop(),
            1 if self.plan.has_faults => match self.random.u8(0..60) {
                0 => self.kill(),
                1 | 2 => self.stop(),
                3..=5 => self.break_link(),
                _ => {}
            },
            2..=8 => self.act()?,
            9..=14 => self.deliver(),
            15 | 16 => self.advance()?,
            _ => self.disturb()?,
        }
        self.run_threads()?;
        self.run_waiters()?;
        self.observe()
    }

    /// What only some workloads have.
    fn disturb(&mut self) -> Outcome {
        match (self.plan.workload, self.random.u16(0..400)) {
            (Workload::Refusals, 0..=39) => self.refuse(),
            (Workload::Refusals, 40) => self.close_descriptor(),
            (Workload::Forks, 0..=1) => return self.fork(),
            (Workload::Direct, 0..=19) => self.deregister(),
            _ => {}
        }
        Ok(())
    }

    /// A consumer does something.
    fn act(&mut self) -> Outcome {
        let process = self.random.usize(0..self.processes.len());
        let now = clock::now();
        let state = &self.processes[process];
        if state.away_until > now || state.stopped_until > now || state.is_killed {
            return Ok(());
        }
        if state.wait.is_some() {
            // Now and then a consumer gives up.
            let is_over = self.random.u8(0..60) == 0;
            if is_over {
                self.end_wait(process);
            }
            return Ok(());
        }
        if self.random.u8(0..12) == 0 {
            let habit = Habit::any(&mut self.random, self.plan.workload);
            self.trace.line(|| format!("process {process} now {habit:?}"));
            self.processes[process].habit = habit;
        }
        match self.processes[process].habit {
            Habit::Polls => {
                self.post_any(process)?;
                self.poll(process)
            }
            Habit::PollsOnly => self.poll(process),
            Habit::PostsOnly => self.post_any(process),
            Habit::Waits => {
                self.post_any(process)?;
                self.wait(process)
            }
            Habit::Sleeps => {
                self.post_any(process)?;
                self.begin_wait(process)
            }
            Habit::Away => {
                let time = Duration::from_micros(self.random.u64(1..3_000));
                self.processes[process].away_until = now + time;
                Ok(())
            }
        }
    }

    /// The network moves bytes.
    fn deliver(&mut self) {
        let random = &mut self.random;
        network::with(|network| {
            if network.links.is_empty() {
                return;
            }
            let index = random.usize(0..network.links.len());
            let most = [1, 60, 5_000, 1 << 20][random.usize(0..4)];
            if let (_, Link::Stream(stream)) = &network.links[index] {
                stream.deliver(random.usize(0..2), most);
            }
        });
    }

    /// Time passes: until the next thing that is due, or a short time.
    fn advance(&mut self) -> Outcome {
        let short = Duration::from_nanos(self.random.u64(100..30_000));
        clock::advance(short);
        network::map_memory();
        self.observe()
    }

    /// The threads that are woken run, some time later.
    fn run_threads(&mut self) -> Outcome {
        let now = clock::now();
        let is_real = self.plan.workload.adapter().is_some();
        let count = network::with(|network| network.threads.len());
        for index in 0..count {
            // The network is free while a thread runs, which may connect.
            let Some((process, mut thread)) =
                network::with(|network| network.threads.get_mut(index).and_then(Option::take))
            else {
                continue;
            };
            let state = &mut self.processes[process];
            let rests = state.is_killed || state.stopped_until > now;
            if rests {
                network::with(|network| network.threads[index] = Some((process, thread)));
                continue;
            }
            let is_due = thread.wakes_at().is_some_and(|at| at <= now);
            let may_wake = state.thread_runs_at.is_none()
                && (is_due || is_real || state.seen != simulated::changes());
            state.seen = simulated::changes();
            if may_wake && thread.is_woken() {
                let delay = Duration::from_nanos(self.random.u64(0..WAKE_UP));
                state.thread_runs_at = Some(now + delay);
            }
            if state.thread_runs_at.is_some_and(|at| at <= now) {
                state.thread_runs_at = None;
                state.is_thread_alive = thread.run();
            }
            let is_alive = state.is_thread_alive;
            network::with(|network| {
                network.threads[index] = is_alive.then_some((process, thread));
            });
        }
        Ok(())
    }

    /// Checks that no arrival waits for too long.
    fn observe(&mut self) -> Outcome {
        let now = clock::now_without_pauses();
        let Self {
            unread_since,
            idle_since,
            has_stopped,
            connections,
            excuses,
            trace,
            processes,
            ..
        } = self;
        network::with(|network| {
            idle_since.resize(network.links.len(), None);
            for (since, (_, link)) in idle_since.iter_mut().zip(&network.links) {
                let idle = link.idle();
                let before = since.filter(|(read, _)| Some(*read) == idle);
                *since = before.or(idle.map(|read| (read, now)));
            }
            unread_since.resize(network.links.len(), [None; 2]);
            for (index, (since, (ends, link))) in
                unread_since.iter_mut().zip(&network.links).enumerate()
            {
                for (direction, since) in since.iter_mut().enumerate() {
                    let unread = link.unread(direction);
                    let before = since.filter(|(read, _)| Some(*read) == unread);
                    *since = before.or(unread.map(|read| (read, now)));
                    // A consumer that takes completions need not read the link before it has all of them.
                    let took_at = processes[ends[1 - direction]].took_at;
                    let waits = since.map_or(Duration::ZERO, |(_, since)| {
                        now.duration_since(since.max(took_at))
                    });
                    // A connection that has ended is not read, and a process may have been stopped.
                    let is_excused = *has_stopped
                        || *excuses > 0
                        || connections
                            .iter()
                            .any(|one| one.link == Some(index) && one.pair.may_end);
                    if waits > BOUND && !is_excused {
                        trace.line(|| format!("link {index}: {}", link.describe()));
                        return Err(format!("link {index}: bytes are not read for {waits:?}"));
                    }
                }
            }
            Ok(())
        })
    }

    /// Lets everything that was begun come to its end, with consumers that poll.
    fn settle(&mut self) -> Outcome {
        self.trace.line(|| "nothing new begins".to_owned());
        self.is_settling = true;
        self.count_refusals(true);
        for process in self.processes.iter().filter(|one| one.is_broken && !one.is_killed) {
            // The adapter need not find out before its next call.
            drop(process.node.ia.psp_create_any(&process.node.requests, PspMaker::Consumer));
        }
        let latest = self.processes.iter().map(|one| one.stopped_until).max();
        if let Some(stopped) = latest.and_then(|latest| latest.checked_duration_since(clock::now()))
        {
            clock::advance(stopped);
        }
        let mut rest = 0;
        for round in 0..SETTLING {
            let events = self.next_event();
            network::deliver_all();
            clock::advance(Duration::from_nanos(WAKE_UP));
            network::map_memory();
            self.run_threads()?;
            self.run_waiters()?;
            self.observe()?;
            // Waiters are judged before others make calls that wake them.
            for waits in [true, false] {
                for process in 0..self.processes.len() {
                    let state = &self.processes[process];
                    let rests = state.is_killed || state.stopped_until > clock::now();
                    if rests || state.wait.is_some() != waits {
                        continue;
                    }
                    if !waits {
                        self.poll(process)?;
                    } else if round > WAITS_END {
                        self.give_up_wait(process, round > 10 * WAITS_END)?;
                    }
                }
            }
            self.post_missing_receives();
            let is_done = self.connections.iter().all(|one| one.pair.left().is_none());
            let waits = self.processes.iter().any(|one| one.wait.is_some() && !one.is_killed);
            let is_at_rest = is_done && !waits && events == self.next_event();
            rest = if is_at_rest { rest + 1 } else { 0 };
            if rest > 20 {
                return Ok(());
            }
        }
        self.describe_links();
        let left = self.connections.iter().enumerate().find_map(|(index, connection)| {
            connection.pair.left().map(|what| format!("connection {index}: {what}"))
        });
        Err(left.unwrap_or_else(|| "the world does not come to rest".to_owned()))
    }

    pub(crate) fn describe_links(&self) {
        network::with(|network| {
            for (index, (_, link)) in network.links.iter().enumerate() {
                self.trace.line(|| format!("link {index}: {}", link.describe()));
            }
        });
    }

    /// Whether nothing has moved on any link for some time.
    pub(crate) fn is_network_idle(&self) -> bool {
        let now = clock::now_without_pauses();
        let is_idle = |since: &Option<(u64, Instant)>| {
            since.is_some_and(|(_, since)| now.duration_since(since) > IDLE)
        };
        self.idle_since.iter().all(is_idle)
    }

    fn next_event(&self) -> u64 {
        self.trace.lines()
    }

    /// Ends all connections and adapters; nothing may be left.
    fn finish(mut self) -> Outcome {
        for index in 0..self.connections.len() {
            let pair = &self.connections[index].pair;
            let is_alive = |side: &model::Side| side.is_established && !side.is_dead;
            if self.random.bool() && pair.sides.iter().all(is_alive) {
                let side = self.random.usize(0..2);
                self.disconnect(index, side)?;
            }
        }
        self.settle()?;
        let word = self.word();
        for (index, connection) in self.connections.iter().enumerate() {
            let [Some(one), Some(two)] = &connection.ends else { continue };
            for (side, far) in [two, one].into_iter().enumerate() {
                let added = connection.pair.sides[side].added;
                let bytes = far.buffer.bytes(word, 8);
                let found = bytes.try_into().map_or(0, u64::from_ne_bytes);
                let is_right =
                    if connection.pair.may_end { found <= added } else { found == added };
                if !is_right {
                    return Err(format!("connection {index}: {found} additions, not {added}"));
                }
            }
        }
        for Retired { buffer, before, .. } in &self.retired {
            if buffer.bytes(0, before.len()) != *before {
                return Err("memory was written after it was deregistered".to_owned());
            }
        }
        self.connections.clear();
        self.retired.clear();
        let Self { processes, trace, .. } = self;
        trace.line(|| "all adapters are closed".to_owned());
        let mut threads: Vec<_> = network::with(|network| std::mem::take(&mut network.threads));
        drop(processes);
        // A link that its peer does not close lives for longer.
        for _ in 0..400 {
            network::deliver_all();
            clock::advance(Duration::from_millis(2));
            network::map_memory();
            for slot in &mut threads {
                let Some((_, thread)) = slot else { continue };
                if thread.is_woken() && !thread.run() {
                    *slot = None;
                }
            }
            if threads.iter().all(Option::is_none) {
                return Ok(());
            }
        }
        Err("the thread of an adapter does not end".to_owned())
    }
}
