//! What a seed does: its workload, and the habits of its processes and its network.

use clap::ValueEnum;
use fastrand::Rng;

use crate::network::Habits;

/// What the consumers of a seed are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Requests of all kinds on up to six connections.
    Mixed,
    /// Many requests at once, more than one read of a link takes.
    Bursts,
    /// Each message is answered by one, and each receive is posted again alone.
    Exchanges,
    /// More reads and atomic operations than the peer executes at once.
    Reads,
    /// The system refuses descriptors and memory, and the program closes descriptors.
    Refusals,
    /// A child of a fork uses what its parent has created.
    Forks,
    /// Requests that access the memory of the peer directly, and memory that is deregistered.
    Direct,
    /// Connections of peers whose memory comes late (libfabric #12542).
    LatePeers,
    /// Arrivals between the last check of a waiter and its sleep (Open MPI #13761).
    Arming,
    /// Suppressed completions, remote memory regions, and endpoints that connect again.
    Calls,
    /// Waits and connects with a time-out, and requests that are answered late.
    TimeOuts,
    /// Consumers that sleep on a notification object of all their dispatchers, which they disable and enable.
    Notifications,
    /// What soft-verbs uses of the engine and DAT does not: unreliable connections, receives that outlive a connection,
    /// immediate data, keys of windows.
    Verbs,
    /// Datagrams of soft-verbs, by the sockets of the system. No seed decides for it.
    Datagrams,
    /// The adapters themselves, with the sockets and the memory of the system. No seed decides for them.
    Shm,
    Tcp,
    Auto,
}

impl Workload {
    /// The workload of a seed, unless it is named.
    pub(crate) fn of(seed: u64) -> Self {
        let all: Vec<_> =
            Self::value_variants().iter().filter(|one| one.adapter().is_none()).collect();
        // Every second seed is mixed.
        match (seed % 2, seed / 2) {
            (0, _) => Self::Mixed,
            (_, number) => *all[1 + number as usize % (all.len() - 1)],
        }
    }

    /// The adapter that it opens, if it is not a simulated one.
    pub(crate) fn adapter(self) -> Option<&'static str> {
        match self {
            Self::Shm => Some("shm"),
            Self::Tcp | Self::Datagrams => Some("tcp-lo"),
            Self::Auto => Some("auto?address=127.0.0.1"),
            _ => None,
        }
    }
}

/// The habit of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// It posts, and polls all its dispatchers.
    Polls,
    /// It polls without posting.
    PollsOnly,
    /// It posts, and finds what arrives by polling memory: it never polls a dispatcher.
    PostsOnly,
    /// It posts, and waits.
    Waits,
    /// It posts, and sleeps until an event arrives.
    Sleeps,
    /// It makes no call for some time.
    Away,
}

impl Habit {
    pub(crate) fn any(random: &mut Rng, workload: Workload) -> Self {
        let all: &[Self] = match workload {
            Workload::Arming => &[Self::Sleeps, Self::Sleeps, Self::Sleeps, Self::Away],
            Workload::Bursts => {
                &[Self::Waits, Self::Waits, Self::Polls, Self::PostsOnly, Self::Away]
            }
            Workload::Notifications => &[Self::Sleeps, Self::Sleeps, Self::Polls, Self::Away],
            Workload::Exchanges => &[Self::Sleeps, Self::Sleeps, Self::Polls, Self::Away],
            _ => &[
                Self::Polls,
                Self::PollsOnly,
                Self::PostsOnly,
                Self::Waits,
                Self::Sleeps,
                Self::Away,
            ],
        };
        all[random.usize(0..all.len())]
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) workload: Workload,
    pub(crate) habits: Habits,
    pub(crate) processes: usize,
    pub(crate) connections: usize,
    /// Length of a slot, and number of slots, requests and receives of each endpoint.
    pub(crate) slot: usize,
    pub(crate) slots: usize,
    /// Most requests that are posted at once.
    pub(crate) burst: usize,
    /// Number of receives that are kept posted, at least and at most.
    pub(crate) receives: (usize, usize),
    /// Number of reads that an endpoint executes at once.
    pub(crate) reads: u32,
    /// Faults and disconnects may happen.
    pub(crate) has_faults: bool,
    /// Number of steps before the world comes to rest, compared with others.
    pub(crate) steps: usize,
}

impl Plan {
    pub(crate) fn new(workload: Workload, random: &mut Rng) -> Self {
        let (slot, slots) = match random.usize(0..32) {
            0 => (200 << 10, 8),
            1..=4 => (20 << 10, 8),
            5..=9 => (4 << 10, 8),
            _ => (2 << 10, 8),
        };
        let mut plan = Self {
            workload,
            habits: Habits {
                are_rings: random.bool(),
                has_doorbells: random.bool(),
                has_secret: random.u8(0..4) == 0,
                is_direct: false,
                is_late: false,
                capacity: [300, 5_000, 40_000, 2_000_000][random.usize(0..4)],
            },
            processes: random.usize(2..=4),
            // Long messages need much memory.
            connections: if slot > 100 << 10 { 2 } else { 6 },
            slot,
            slots,
            burst: 3,
            receives: [(slots / 2, slots), (1, 2)][usize::from(random.u8(0..4) == 0)],
            reads: if random.bool() { 16 } else { random.u32(1..4) },
            has_faults: random.u8(0..3) == 0,
            steps: 1,
        };
        plan.adapt(random);
        plan
    }

    /// Makes it fit its workload.
    fn adapt(&mut self, random: &mut Rng) {
        match self.workload {
            Workload::Mixed | Workload::Refusals | Workload::Forks => {}
            Workload::Datagrams | Workload::Shm | Workload::Tcp | Workload::Auto => {}
            Workload::Verbs => self.slot = self.slot.min(20 << 10),
            Workload::Bursts => {
                (self.slot, self.slots) = if random.bool() { (600, 100) } else { (20 << 10, 24) };
                (self.processes, self.connections) = (2, 1);
                self.burst = self.slots;
                self.receives = (self.slots, self.slots);
                self.habits.capacity = [40_000, 2_000_000][random.usize(0..2)];
            }
            Workload::Exchanges => {
                (self.slot, self.processes, self.connections) = (2 << 10, 2, 2);
                self.receives = (1, random.usize(1..=2));
                self.steps = 3;
            }
            Workload::Reads => {
                self.reads = random.u32(1..3);
                self.connections = 2;
            }
            Workload::Direct => {
                self.slot = self.slot.max(20 << 10);
                self.connections = 2;
                (self.habits.are_rings, self.habits.is_direct) = (true, true);
            }
            Workload::LatePeers => {
                self.habits.is_late = true;
                self.slot = self.slot.min(4 << 10);
            }
            Workload::Arming | Workload::Notifications => self.connections = 3,
            Workload::TimeOuts => {
                self.slot = self.slot.min(4 << 10);
                self.connections = 12;
                self.has_faults = random.bool();
            }
            Workload::Calls => {
                self.slot = self.slot.min(20 << 10);
                self.connections = 12;
                self.has_faults = random.bool();
            }
        }
    }
}
