//! The workload `verbs`: what soft-verbs uses of the engine by the provider contract, and DAT does not. Sends with
//! immediate data, receives that outlive a connection, unreliable connections, and windows with keys that the consumer
//! chooses, between two machines.

mod act;
mod machine;
mod model;
mod side;

use std::time::Duration;

use dat_core::Close;
use dat_core::provider::Service;
use dat_sync::clock;
use fastrand::Rng;

use crate::ending::SETTLING;
use crate::network;
use crate::plan::{Plan, Workload};
use crate::threads;
use crate::trace::Trace;
use crate::world::{Outcome, WAKE_UP};
use machine::Machine;
use model::Phase;
use side::{Area, Side};

/// Two sides that connect to each other, again after each end.
struct Pair {
    /// Side 0 connects, and is on machine 0.
    sides: [Side; 2],
    /// The number of the link of the latest attempt.
    link: Option<usize>,
    /// No message is sent without a receive of the peer.
    has_receives: bool,
}

struct World {
    random: Rng,
    trace: Trace,
    slot: usize,
    has_faults: bool,
    machines: Vec<Machine>,
    pairs: Vec<Pair>,
    cookie: u64,
    is_settling: bool,
}

/// Runs a seed.
///
/// # Errors
/// What is wrong.
pub(crate) fn run(seed: u64, steps: usize, trace: Trace) -> Outcome {
    let mut random = Rng::with_seed(seed);
    let plan = Plan::new(Workload::Verbs, &mut random);
    network::begin(plan.habits, 2, Rng::with_seed(random.u64(..)), true);
    let machines: Vec<_> = (0..2).map(Machine::new).collect();
    let pairs: Vec<_> = (0..random.u64(1..4))
        .map(|number| {
            let is_unreliable = random.u8(0..3) == 0;
            let service =
                if is_unreliable { Service::UnreliableConnection } else { Service::Connection };
            let side = |index: usize| {
                Side::new(&machines[index], number * 2 + index as u64, service, plan.slot)
            };
            Pair {
                sides: [side(0), side(1)],
                link: None,
                has_receives: is_unreliable && random.bool(),
            }
        })
        .collect();
    trace.line(|| format!("{plan:?}, {} connections", pairs.len()));
    let mut world = World {
        random,
        trace,
        slot: plan.slot,
        has_faults: plan.has_faults,
        machines,
        pairs,
        cookie: 0,
        is_settling: false,
    };
    for _ in 0..steps {
        world.step()?;
    }
    world.settle()?;
    world.finish()
}

impl World {
    /// Moves one thing.
    fn step(&mut self) -> Outcome {
        let pair = self.random.usize(0..self.pairs.len());
        let side = self.random.usize(0..2);
        match self.random.u8(0..20) {
            0..=2 => self.receive_more(pair, side)?,
            3..=8 => self.post_any(pair, side)?,
            9..=12 => network::deliver(&mut self.random),
            13 | 14 => clock::advance(Duration::from_nanos(self.random.u64(100..30_000))),
            15..=17 => self.poll(side)?,
            18 => self.connect(pair)?,
            _ if self.has_faults && self.random.u8(0..8) == 0 => self.fault(pair, side),
            _ => {}
        }
        self.advance()
    }

    /// What follows from what has moved.
    fn advance(&mut self) -> Outcome {
        threads::run_woken(&mut self.machines, |machine| &mut machine.runs_at, &mut self.random);
        self.answer()?;
        self.note_changes()?;
        self.machines.iter().try_for_each(Machine::check)
    }

    /// Everything that was begun comes to its end, except receives without a message.
    fn settle(&mut self) -> Outcome {
        self.trace.line(|| "nothing new begins".to_owned());
        self.is_settling = true;
        let mut rest = 0;
        for _ in 0..SETTLING {
            let before = (self.trace.lines(), network::read_bytes());
            network::deliver_all();
            clock::advance(Duration::from_nanos(WAKE_UP));
            self.advance()?;
            for machine in 0..2 {
                self.poll(machine)?;
            }
            for pair in 0..self.pairs.len() {
                self.receive_missing(pair)?;
            }
            let is_still = before == (self.trace.lines(), network::read_bytes());
            rest = if is_still && self.left().is_none() { rest + 1 } else { 0 };
            if rest > 20 {
                return Ok(());
            }
        }
        Err(self.left().unwrap_or_else(|| "the world does not come to rest".to_owned()))
    }

    /// What is left although everything has come to rest.
    fn left(&self) -> Option<String> {
        self.pairs.iter().enumerate().find_map(|(index, pair)| {
            let may_end = pair.sides.iter().any(|side| side.account.may_end);
            pair.sides.iter().find_map(|side| {
                let account = &side.account;
                let request = account.requests.front().map(|one| one.cookie);
                // Messages that no receive took can have been dropped.
                let is_lost = may_end || account.may_drop || account.phase != Phase::Up;
                let message =
                    account.inbound.get(account.earlier).filter(|_| !is_lost).map(|one| one.cookie);
                let half = (account.phase == Phase::Connecting && !may_end).then_some("an attempt");
                let receive =
                    account.receives.front().filter(|_| account.phase == Phase::Disconnected);
                let what = (request.map(|one| format!("request {one:#x}")))
                    .or(message.map(|one| format!("message {one:#x}")))
                    .or(half.map(str::to_owned))
                    .or(receive.map(|one| format!("receive {:#x}", one.0)))?;
                Some(format!("{what} of connection {index} is left"))
            })
        })
    }

    /// Ends all connections, and flushes what is posted; nothing may be left.
    fn finish(mut self) -> Outcome {
        self.check_counts()?;
        for pair in &mut self.pairs {
            for side in &mut pair.sides {
                let account = &mut side.account;
                (account.phase, account.may_end) = (Phase::Disconnected, true);
                side.queue_pair.disconnect(Close::Abrupt);
            }
        }
        self.settle()?;
        let Self { machines, pairs, .. } = self;
        for side in pairs.iter().flat_map(|pair| &pair.sides) {
            side.queue_pair.shutdown();
            side.region.deregister().map_err(|error| format!("a region stays in use: {error}"))?;
        }
        threads::end_after((pairs, machines))
    }

    /// Additions are made once, and each message that did not arrive was counted.
    fn check_counts(&self) -> Outcome {
        for (index, pair) in self.pairs.iter().enumerate() {
            for (near, far) in [(0, 1), (1, 0)] {
                let (least, most) = {
                    let account = &pair.sides[near].account;
                    (account.added.1, account.added.0)
                };
                let word = pair.sides[far].bytes(pair.sides[far].word(), 8);
                let found = word.try_into().map_or(0, u64::from_ne_bytes);
                if !(least..=most).contains(&found) {
                    return Err(format!(
                        "connection {index}: {found} additions, not {least} to {most}"
                    ));
                }
            }
        }
        if self.has_faults {
            return Ok(());
        }
        for (index, machine) in self.machines.iter().enumerate() {
            let accounts = self.pairs.iter().map(|pair| &pair.sides[index].account);
            let missing = |account: &model::Account| account.dropped + account.inbound.len() as u64;
            let expected: u64 = accounts.filter(|one| one.is_unreliable).map(missing).sum();
            let counted = machine.adapter.counters().dropped_datagrams;
            if counted != expected {
                return Err(format!("machine {index} counts {counted} drops, not {expected}"));
            }
        }
        Ok(())
    }
}
