//! The workload `datagrams`: queue pairs of soft-verbs that send datagrams to each other, by the sockets of the system.
//!
//! A datagram is delivered or counted: it arrives at most once, at the queue pair that it was sent to, with its bytes, and
//! only if its key is one that the queue pair has had since. Each other one is counted by the adapter of the receiver.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dat_core::provider::verbs::{DatagramBinding, VerbsOptions};
use dat_core::provider::{
    Adapter, Completion, CompletionPoller, ConnectionSink, ConnectionUpcall, DATAGRAM_PREFIX,
    Epoch, MemoryRegion, OpenRequest, QueuePair, QueuePairLimits, QueuePairSpec, ReceiveRequest,
    Request, Segment, Service, Work,
};
use dat_core::{CompletionFlags, DtoStatus, Memory, Operation, Privileges};
use dat_provider_kit::engine;
use dat_sync::clock;
use fastrand::Rng;

use crate::ending::SETTLING;
use crate::network;
use crate::plan::{Plan, Workload};
use crate::reports::Reports;
use crate::trace::Trace;
use crate::world::{Outcome, WAKE_UP};
use crate::{memory, model as pattern, threads};

const PREFIX: usize = DATAGRAM_PREFIX as usize;
/// Number of receives and of requests of a queue pair, each with a slot of this length.
const SLOTS: usize = 8;
const SLOT: usize = 256;
/// Length of the number with which each message begins.
const NUMBER: usize = 8;
/// Keys that the queue pairs have in turn.
const KEYS: u64 = 3;
const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A datagram that was sent and has not arrived.
struct Sent {
    from: usize,
    to: usize,
    length: usize,
    immediate: Option<u32>,
    key: u64,
    /// The queue pair has had its key since.
    may_arrive: bool,
}

/// A queue pair with its memory, of which the first half is for receives.
struct Side {
    machine: usize,
    queue_pair: Box<dyn QueuePair>,
    port: u16,
    key: u64,
    region: Box<dyn MemoryRegion>,
    local_key: u32,
    memory: Memory,
    /// Posted receives, the oldest first: cookies, slots and lengths.
    receives: VecDeque<(u64, usize, usize)>,
    /// Cookies of requests that are not complete.
    requests: VecDeque<u64>,
}

struct Machine {
    adapter: Arc<dyn Adapter>,
    poller: Box<dyn CompletionPoller>,
    reports: Arc<Reports>,
    /// Number of datagrams that were sent to its queue pairs, and that have arrived.
    sent: u64,
    arrived: u64,
    /// Its thread was woken, and runs at this time.
    runs_at: Option<Instant>,
}

/// Events of connections, which datagrams do not have.
struct Unconnected;

impl ConnectionSink for Unconnected {
    fn connection_event(&self, _attempt: u64, _event: ConnectionUpcall<'_>) {}
}

struct World {
    random: Rng,
    trace: Trace,
    machines: Vec<Machine>,
    sides: Vec<Side>,
    sent: HashMap<u64, Sent>,
    cookie: u64,
}

/// Runs a seed.
///
/// # Errors
/// What is wrong.
pub(crate) fn run(seed: u64, steps: usize, trace: Trace) -> Outcome {
    let mut random = Rng::with_seed(seed);
    let plan = Plan::new(Workload::Datagrams, &mut random);
    network::begin(plan.habits, 2, Rng::with_seed(random.u64(..)), false);
    let mut world = World {
        random,
        trace,
        machines: Vec::new(),
        sides: Vec::new(),
        sent: HashMap::new(),
        cookie: 0,
    };
    for machine in 0..2 {
        world.add_machine(machine);
    }
    for _ in 0..steps {
        world.step()?;
    }
    world.settle()?;
    world.finish()
}

impl World {
    fn add_machine(&mut self, process: usize) {
        let reports = Arc::new(Reports::default());
        let sink = Arc::clone(&reports) as _;
        let request = OpenRequest { name: "tcp-lo", parameters: "", sink };
        let adapter = dat_provider_tcp::provider().open(request).expect("an adapter");
        network::with(|network| {
            let started = engine::take_simulated_threads().into_iter();
            network.threads.extend(started.map(|thread| Some((process, thread))));
        });
        let sink = Arc::clone(&reports) as _;
        let parts = adapter.create_completion_queue(4096, sink).expect("a completion queue");
        let domain = adapter.create_domain().expect("a domain");
        for _ in 0..self.random.u8(1..4) {
            let key = self.random.u64(0..KEYS);
            let spec = QueuePairSpec {
                tag: self.sides.len() as u64,
                service: Service::Datagram,
                domain: Some(Arc::clone(&domain)),
                request_queue: Some(Arc::clone(&parts.queue)),
                receive_queue: Some(Arc::clone(&parts.queue)),
                limits: QueuePairLimits {
                    max_receives: SLOTS as u32,
                    max_requests: SLOTS as u32,
                    max_receive_segments: 1,
                    max_request_segments: 1,
                    max_message_size: SLOT as u64,
                    max_reads_in: 0,
                    max_reads_out: 0,
                },
                verbs: VerbsOptions {
                    binding: Some(DatagramBinding { port: 0, key }),
                    ..VerbsOptions::default()
                },
                ..QueuePairSpec::new(Arc::new(Unconnected))
            };
            let queue_pair = adapter.create_queue_pair(spec).expect("a queue pair");
            let memory = memory::block(2 * SLOTS * SLOT);
            let registered = domain.register(memory.span(), Privileges::ALL).expect("a region");
            self.sides.push(Side {
                machine: process,
                port: queue_pair.for_verbs().datagram_port().expect("it has one"),
                queue_pair,
                key,
                region: registered.region,
                local_key: registered.local_key,
                memory,
                receives: VecDeque::new(),
                requests: VecDeque::new(),
            });
        }
        let poller = parts.poller;
        self.machines.push(Machine {
            adapter,
            poller,
            reports,
            sent: 0,
            arrived: 0,
            runs_at: None,
        });
    }

    /// Moves one thing.
    fn step(&mut self) -> Outcome {
        let side = self.random.usize(0..self.sides.len());
        match self.random.u8(0..16) {
            0..=4 => self.receive(side)?,
            5..=10 => self.send(side)?,
            11..=13 => self.poll(self.sides[side].machine)?,
            14 => clock::advance(Duration::from_nanos(self.random.u64(100..30_000))),
            _ if self.random.u8(0..4) == 0 => self.change_key(side)?,
            _ => {}
        }
        self.advance()
    }

    fn advance(&mut self) -> Outcome {
        threads::run_woken(&mut self.machines, |machine| &mut machine.runs_at, &mut self.random);
        self.machines.iter().try_for_each(|machine| machine.reports.check())
    }

    /// Posts a receive, which is sometimes too short.
    fn receive(&mut self, index: usize) -> Outcome {
        let side = &mut self.sides[index];
        let is_used = |slot: &usize| side.receives.iter().any(|(_, other, _)| other == slot);
        let Some(slot) = (0..SLOTS).find(|slot| !is_used(slot)) else { return Ok(()) };
        let length = if self.random.u8(0..8) == 0 { PREFIX + NUMBER } else { SLOT };
        self.cookie += 1;
        let cookie = self.cookie;
        let segments = [side.segment(slot, length)];
        let (flags, checked) = (CompletionFlags::empty(), Epoch::default());
        let request = ReceiveRequest { segments: &segments, cookie, flags, checked };
        let posted = side.queue_pair.post_receive(&request);
        posted.map_err(|error| format!("a receive is refused: {error}"))?;
        side.receives.push_back((cookie, slot, length));
        Ok(())
    }

    /// Sends to any queue pair, also to itself, and sometimes with a key that it does not have.
    fn send(&mut self, index: usize) -> Outcome {
        let to = self.random.usize(0..self.sides.len());
        let is_right = self.random.u8(0..6) != 0;
        let key = if is_right { self.sides[to].key } else { self.random.u64(0..KEYS) };
        let length = self.random.usize(NUMBER..=SLOT - PREFIX);
        let immediate = self.random.bool().then(|| self.random.u32(..));
        let far = &self.sides[to];
        let (at, has_key, receiver) = (SocketAddr::new(LO, far.port), far.key == key, far.machine);
        let near = &mut self.sides[index];
        if near.requests.len() == SLOTS {
            return Ok(());
        }
        self.cookie += 1;
        let number = self.cookie;
        // The slot of a request that is complete.
        let slot = SLOTS + number as usize % SLOTS;
        let bytes = [&number.to_ne_bytes(), &pattern::bytes(number, length)[NUMBER..]].concat();
        near.memory.write(slot * SLOT, &bytes).expect("a slot");
        let adapter = &self.machines[near.machine].adapter;
        let remote = adapter
            .for_verbs()
            .remote_address(Some(LO), at, key)
            .map_err(|error| error.to_string())?;
        let request = Request {
            work: immediate.map_or(Work::Send, |immediate| Work::SendImmediate { immediate }),
            segments: &[near.segment(slot, length)],
            length: length as u64,
            cookie: number,
            flags: CompletionFlags::empty(),
            checked: Epoch::default(),
        };
        let posted = near.queue_pair.post_datagram(&remote, &request);
        posted.map_err(|error| format!("a datagram is refused: {error}"))?;
        near.requests.push_back(number);
        self.trace.line(|| format!("datagram {number:#x} from {index} to {to}, {length} bytes"));
        self.machines[receiver].sent += 1;
        let sent = Sent { from: index, to, length, immediate, key, may_arrive: has_key };
        self.sent.insert(number, sent);
        Ok(())
    }

    fn change_key(&mut self, index: usize) -> Outcome {
        let side = &mut self.sides[index];
        side.key = self.random.u64(0..KEYS);
        self.trace.line(|| format!("queue pair {index} has the key {}", side.key));
        for sent in self.sent.values_mut().filter(|sent| sent.to == index) {
            sent.may_arrive |= sent.key == side.key;
        }
        side.queue_pair.for_verbs().set_datagram_key(side.key).map_err(|error| error.to_string())
    }

    /// Takes the completions of a machine.
    fn poll(&mut self, machine: usize) -> Outcome {
        loop {
            let mut done = [Completion::default(); 8];
            let count = self.machines[machine].poller.poll(&mut done);
            for one in &done[..count] {
                self.trace.line(|| format!("{one:?}"));
                self.complete(one).map_err(|why| format!("queue pair {}: {why}", one.tag))?;
            }
            if count == 0 {
                return Ok(());
            }
        }
    }

    fn complete(&mut self, done: &Completion) -> Outcome {
        let index = done.tag as usize;
        let side = &mut self.sides[index];
        if done.operation == Operation::SendDatagram {
            let expected = side.requests.pop_front();
            if expected != Some(done.cookie) || done.status != DtoStatus::Success {
                return Err(format!("{done:?} instead of a success of {expected:x?}"));
            }
            return Ok(());
        }
        let receive = side.receives.pop_front().filter(|one| one.0 == done.cookie);
        let Some((_, slot, space)) = receive else {
            return Err(format!("{done:?} is not the oldest receive"));
        };
        if done.status == DtoStatus::LocalLength && space < SLOT {
            return Ok(());
        }
        if done.status != DtoStatus::Success {
            return Err(format!("{done:?} has failed"));
        }
        let message = side.memory.to_vec(slot * SLOT + PREFIX, done.length as usize - PREFIX);
        let message = message.expect("a slot");
        let number = message.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let Some(sent) = self.sent.remove(&number) else {
            return Err(format!("datagram {number:#x} was not sent, or arrives twice"));
        };
        self.machines[side.machine].arrived += 1;
        let immediate = (done.operation == Operation::ReceiveDatagramImmediate)
            .then(|| done.immediate())
            .flatten();
        let right = (sent.to, sent.length, sent.immediate, self.sides[sent.from].port);
        if (index, message.len(), immediate, done.datagram_port()) != right {
            return Err(format!("{done:?} instead of {right:?}, datagram {number:#x}"));
        }
        if message[NUMBER..] != pattern::bytes(number, sent.length)[NUMBER..] {
            return Err(format!("the bytes of datagram {number:#x} are wrong"));
        }
        if !sent.may_arrive {
            return Err(format!("datagram {number:#x} arrives without the key"));
        }
        Ok(())
    }

    /// What was sent arrives, or is counted.
    fn settle(&mut self) -> Outcome {
        for _ in 0..SETTLING {
            clock::advance(Duration::from_nanos(WAKE_UP));
            self.advance()?;
            for machine in 0..self.machines.len() {
                self.poll(machine)?;
            }
            // Datagrams wait for receives.
            for side in 0..self.sides.len() {
                self.receive(side)?;
            }
            if self.left().is_none() {
                return Ok(());
            }
        }
        Err(self.left().unwrap_or_default())
    }

    fn left(&self) -> Option<String> {
        let request = self.sides.iter().find_map(|side| side.requests.front());
        let request = request.map(|number| format!("datagram {number:#x} is not complete"));
        request.or_else(|| {
            self.machines.iter().enumerate().find_map(|(index, machine)| {
                let counters = machine.adapter.counters();
                let lost = counters.dropped_datagrams + counters.receive_errors;
                (machine.arrived + lost != machine.sent).then(|| {
                    format!(
                        "machine {index}: {} datagrams have arrived and {lost} are counted of {}",
                        machine.arrived, machine.sent
                    )
                })
            })
        })
    }

    fn finish(self) -> Outcome {
        let Self { machines, sides, .. } = self;
        for side in &sides {
            side.queue_pair.shutdown();
            side.region.deregister().map_err(|error| format!("a region stays in use: {error}"))?;
        }
        threads::end_after((sides, machines))
    }
}

impl Side {
    fn segment(&self, slot: usize, length: usize) -> Segment {
        let address = self.memory.address() + (slot * SLOT) as u64;
        Segment { address, length: length as u64, key: self.local_key }
    }
}
