//! The simulated world: processes, their connections, the network, and the scheduler that moves one of them at a time.

use std::time::{Duration, Instant};

use dat_conformance::{Buffer, Node};
use dat_core::{Endpoint, Privileges, Psp, Registry, SharedReceiveQueue};
use dat_sync::clock;
use dat_sync::epoll::simulated;
use fastrand::Rng;

use crate::memory;
use crate::model::{self, Pair};
use crate::network::{self, Habits, Link};
use crate::trace::Trace;
use crate::workload::Habit;

/// Number of slots of each area, and of requests and receives of an endpoint.
pub(crate) const SLOTS: usize = 8;
/// An arrival is seen within this time: the bound of the leases, the slack of the checks, and what the simulated
/// threads take to wake up.
const BOUND: Duration = Duration::from_micros(300);
/// Longest time that a thread needs to wake up, in nanoseconds.
const WAKE_UP: u64 = 20_000;

/// The areas of the memory of an endpoint, each of [`SLOTS`] slots.
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
    pub(crate) slot: usize,
    pub(crate) processes: Vec<Process>,
    pub(crate) connections: Vec<Connection>,
    /// For each direction of each link that has unread bytes: how many were read, and since when no more.
    pub(crate) unread_since: Vec<[Option<(u64, Instant)>; 2]>,
    pub(crate) next_cookie: u64,
    /// Faults and disconnects may happen.
    pub(crate) has_faults: bool,
    /// A process was stopped, so that arrivals may wait.
    pub(crate) has_stopped: bool,
}

pub(crate) type Outcome<T = ()> = Result<T, String>;

impl World {
    pub(crate) fn new(seed: u64, registry: &Registry, trace: Trace) -> Self {
        let mut random = Rng::with_seed(seed);
        let slot = match random.usize(0..32) {
            0 => 200 << 10,
            1..=4 => 20 << 10,
            5..=9 => 4 << 10,
            _ => 2 << 10,
        };
        let habits = Habits {
            are_rings: random.bool(),
            has_doorbells: random.bool(),
            has_secret: random.u8(0..4) == 0,
            capacity: [300, 5_000, 40_000, 2_000_000][random.usize(0..4)],
        };
        let count = random.usize(2..=4);
        let has_faults = random.u8(0..3) == 0;
        trace.line(|| {
            format!("{count} processes, {habits:?}, slots of {slot}, faults: {has_faults}")
        });
        network::begin(habits, count, random.usize(..));
        let processes = (0..count).map(|process| {
            let ia = registry.open(&format!("simulated?{process}")).expect("an adapter");
            let node = Node::on(ia);
            let psp = node.psp();
            let shared = random.bool().then(|| Shared {
                queue: node.srq(SLOTS as u32),
                buffer: memory::buffer(&node, SLOTS * slot, Privileges::ALL),
                receives: Vec::new(),
            });
            Process {
                shared,
                node,
                psp,
                habit: Habit::Polls,
                away_until: clock::now(),
                stopped_until: clock::now(),
                is_killed: false,
                thread_runs_at: Some(clock::now()),
                is_thread_alive: true,
                seen: 0,
            }
        });
        Self {
            slot,
            processes: processes.collect(),
            random,
            trace,
            connections: Vec::new(),
            unread_since: Vec::new(),
            next_cookie: 1,
            has_faults,
            has_stopped: false,
        }
    }

    /// Runs the world for a number of steps, lets it come to rest, and ends it.
    pub(crate) fn run(mut self, steps: usize) -> Outcome {
        for _ in 0..steps {
            self.step()?;
        }
        self.settle()?;
        self.finish()
    }

    /// Moves one thing.
    fn step(&mut self) -> Outcome {
        match self.random.u8(0..20) {
            0 => self.connect(),
            1 if self.has_faults => match self.random.u8(0..60) {
                0 => self.kill(),
                1 | 2 => self.stop(),
                3..=5 => self.break_link(),
                _ => {}
            },
            2..=8 => {
                let before = clock::now();
                self.act()?;
                self.excuse(clock::now().duration_since(before));
            }
            9..=14 => self.deliver(),
            15 | 16 => self.advance()?,
            _ => {}
        }
        self.run_threads()?;
        self.observe()
    }

    /// A call has paused for some time, in which other threads would have run.
    fn excuse(&mut self, pause: Duration) {
        let all = self.unread_since.iter_mut().flatten().flatten();
        all.for_each(|(_, since)| *since += pause);
    }

    /// A consumer does something.
    fn act(&mut self) -> Outcome {
        let process = self.random.usize(0..self.processes.len());
        let now = clock::now();
        let state = &self.processes[process];
        if state.away_until > now || state.stopped_until > now || state.is_killed {
            return Ok(());
        }
        if self.random.u8(0..12) == 0 {
            let habit = Habit::any(&mut self.random);
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
        self.observe()
    }

    /// The threads that are woken run, some time later.
    fn run_threads(&mut self) -> Outcome {
        let now = clock::now();
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
            let may_wake =
                state.thread_runs_at.is_none() && (is_due || state.seen != simulated::changes());
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
        let now = clock::now();
        let Self { unread_since, has_stopped, connections, .. } = self;
        network::with(|network| {
            unread_since.resize(network.links.len(), [None; 2]);
            let links = network.links.iter().map(|(_, link)| link);
            for (index, (since, link)) in unread_since.iter_mut().zip(links).enumerate() {
                for (direction, since) in since.iter_mut().enumerate() {
                    let unread = link.unread(direction);
                    let before = since.filter(|(read, _)| Some(*read) == unread);
                    *since = before.or(unread.map(|read| (read, now)));
                    let waits =
                        since.map_or(Duration::ZERO, |(_, since)| now.duration_since(since));
                    // A connection that has ended is not read, and a process may have been stopped.
                    let is_excused =
                        *has_stopped || connections.get(index).is_some_and(|one| one.pair.may_end);
                    if waits > BOUND && !is_excused {
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
        let latest = self.processes.iter().map(|one| one.stopped_until).max();
        if let Some(stopped) = latest.and_then(|latest| latest.checked_duration_since(clock::now()))
        {
            clock::advance(stopped);
        }
        let mut rest = 0;
        for _ in 0..20_000 {
            let before = self.next_event();
            network::deliver_all();
            clock::advance(Duration::from_nanos(WAKE_UP));
            self.run_threads()?;
            self.observe()?;
            for process in 0..self.processes.len() {
                let state = &self.processes[process];
                if !state.is_killed && state.stopped_until <= clock::now() {
                    self.poll(process)?;
                }
            }
            self.post_missing_receives();
            let is_done = self.connections.iter().all(|one| one.pair.left().is_none());
            rest = if is_done && before == self.next_event() { rest + 1 } else { 0 };
            if rest > 20 {
                return Ok(());
            }
        }
        network::with(|network| {
            for (index, (_, link)) in network.links.iter().enumerate() {
                self.trace.line(|| format!("link {index}: {}", link.describe()));
            }
        });
        let left = self.connections.iter().enumerate().find_map(|(index, connection)| {
            connection.pair.left().map(|what| format!("connection {index}: {what}"))
        });
        Err(left.unwrap_or_else(|| "the world does not come to rest".to_owned()))
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
        self.connections.clear();
        let Self { processes, trace, .. } = self;
        trace.line(|| "all adapters are closed".to_owned());
        let mut threads: Vec<_> = network::with(|network| std::mem::take(&mut network.threads));
        drop(processes);
        // A link that its peer does not close lives for longer.
        for _ in 0..400 {
            network::deliver_all();
            clock::advance(Duration::from_millis(2));
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
