//! A process of the world, and what its consumer is doing.

use std::os::fd::RawFd;
use std::time::Instant;

use dat_conformance::{Buffer, Node};
use dat_core::blocking::{BlockedCnoWait, BlockedEvdWait, SleepOn, SleepResult};
use dat_core::{Cno, Cr, Evd, Psp, Srq};

use crate::plan::Habit;

/// The shared receive queue of a process, with its receives that are not complete: cookies and offsets.
pub(crate) struct Shared {
    pub(crate) queue: Srq,
    pub(crate) buffer: Buffer,
    pub(crate) receives: Vec<(u64, usize)>,
}

/// A process.
pub(crate) struct Process {
    /// The receives of all its endpoints, in some processes.
    pub(crate) shared: Option<Shared>,
    pub(crate) node: Node,
    /// The notification object of its dispatchers, in some workloads, and which of them it has disabled.
    pub(crate) cno: Option<Cno>,
    pub(crate) disabled: [bool; 4],
    pub(crate) psp: Psp,
    pub(crate) habit: Habit,
    /// Its consumer waits.
    pub(crate) wait: Option<Wait>,
    /// The program has closed a descriptor of its adapter.
    pub(crate) is_broken: bool,
    /// How often it has polled without posting.
    pub(crate) polls: u32,
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

/// A request that a consumer has taken.
pub(crate) struct Unanswered {
    /// The process of the consumer.
    pub(crate) process: usize,
    /// The number of its connection.
    pub(crate) index: usize,
    pub(crate) request: Cr,
}

/// A wait in progress.
pub(crate) struct Wait {
    pub(crate) blocked: Blocked,
    pub(crate) state: State,
    /// When it ends without an event; never if it has no time-out.
    pub(crate) deadline: Option<Instant>,
    /// Its last sleep was on a word of memory, of which the simulation does not see when it changes.
    pub(crate) is_blind: bool,
}

/// What it waits on.
pub(crate) enum Blocked {
    Dispatcher(Evd, BlockedEvdWait),
    Notification(BlockedCnoWait),
}

impl Blocked {
    pub(crate) fn begin_sleep(&mut self) -> Option<SleepOn<'_>> {
        match self {
            Self::Dispatcher(_, blocked) => blocked.begin_sleep(),
            Self::Notification(blocked) => blocked.begin_sleep(),
        }
    }
}

impl Process {
    /// Its dispatchers.
    pub(crate) fn queues(&self) -> [&Evd; 4] {
        let node = &self.node;
        [&node.request, &node.recv, &node.connect, &node.requests]
    }
}

pub(crate) enum State {
    /// It has found nothing, and will sleep.
    Awake,
    /// It sleeps until one of these is readable; without any, it checks again soon.
    Asleep(Option<[RawFd; 2]>, Instant),
    /// It runs at this time, after its sleep has ended this way.
    Woken(Instant, SleepResult),
}
