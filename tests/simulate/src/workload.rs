//! What the consumers do: they connect, and post receives and requests.

use dat_core::{CompletionFlags, Connect, Privileges, Timeout};
use fastrand::Rng;

use crate::memory;
use crate::model::{self, Kind, Pair};
use crate::world::{Area, Connection, End, Outcome, SLOTS, World};

const NONE: CompletionFlags = CompletionFlags::empty();

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
    /// It makes no call for some time.
    Away,
}

impl Habit {
    pub(crate) fn any(random: &mut Rng) -> Self {
        [Self::Polls, Self::PollsOnly, Self::PostsOnly, Self::Waits, Self::Away][random.usize(0..5)]
    }
}

impl World {
    /// A process connects to another one, or to itself.
    pub(crate) fn connect(&mut self) {
        // Long messages need much memory.
        let most = if self.slot > 100 << 10 { 2 } else { 6 };
        if self.connections.len() >= most {
            return;
        }
        let [from, to] = [0, 1].map(|_| self.random.usize(0..self.processes.len()));
        if [from, to].iter().any(|one| self.processes[*one].is_killed) {
            return;
        }
        let index = self.connections.len();
        self.trace.line(|| format!("connection {index}: process {from} connects to {to}"));
        let end = self.end(from);
        let qualifier = self.processes[to].psp.qualifier();
        let destination = self.processes[to].node.address();
        let data = (index as u64).to_le_bytes();
        let attempt =
            Connect::to(destination, qualifier).private_data(&data).timeout(Timeout::Infinite);
        end.ep.connect(&attempt).expect("an unconnected endpoint");
        self.connections.push(Connection { ends: [Some(end), None], pair: Pair::default() });
        self.post_receives(index, 0);
    }

    pub(crate) fn end(&self, process: usize) -> End {
        let node = &self.processes[process].node;
        let size = (Area::Constant as usize * SLOTS + 1) * self.slot + 64;
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let buffer = memory::buffer(node, size, privileges);
        let spec = match &self.processes[process].shared {
            Some(shared) => node.spec().srq(&shared.queue),
            None => node.spec(),
        };
        let ep = node.ia.ep_create(&spec).expect("an endpoint");
        buffer.fill(self.at(Area::Constant, 0), &model::bytes(7, self.slot));
        End { process, ep, buffer }
    }

    pub(crate) fn at(&self, area: Area, slot: usize) -> usize {
        (area as usize * SLOTS + slot) * self.slot
    }

    pub(crate) fn word(&self) -> usize {
        self.at(Area::Constant, 1)
    }

    pub(crate) fn cookie(&mut self) -> u64 {
        self.next_cookie += 1;
        self.next_cookie
    }

    /// Posts receives until the shared queue of a process has some.
    pub(crate) fn post_shared_receives(&mut self, process: usize) {
        let wanted = self.random.usize(1..=SLOTS);
        loop {
            let cookie = self.cookie();
            let Some(shared) = &mut self.processes[process].shared else { return };
            if shared.receives.len() >= wanted {
                return;
            }
            let used = |at| shared.receives.iter().any(|(_, offset)| *offset == at);
            let free = (0..SLOTS).map(|slot| slot * self.slot).find(|at| !used(*at));
            let Some(offset) = free else { return };
            let piece = shared.buffer.piece(offset, self.slot);
            if shared.queue.post_recv(&[piece], cookie).is_err() {
                return;
            }
            shared.receives.push((cookie, offset));
        }
    }

    /// Posts receives until the endpoint has some.
    pub(crate) fn post_receives(&mut self, index: usize, side: usize) {
        let process = self.connections[index].ends[side].as_ref().map(|end| end.process);
        let is_shared = |process: &usize| self.processes[*process].shared.is_some();
        if let Some(process) = process.filter(is_shared) {
            return self.post_shared_receives(process);
        }
        let wanted = self.random.usize(SLOTS / 2..=SLOTS);
        while self.connections[index].pair.sides[side].receives.len() < wanted {
            let (cookie, Connection { ends, pair }) = (self.cookie(), &mut self.connections[index]);
            let Some(end) = &ends[side] else { return };
            let side = &mut pair.sides[side];
            let used = |at| side.receives.iter().any(|(_, offset)| *offset == at);
            let free = (0..SLOTS)
                .map(|slot| (Area::Receive as usize * SLOTS + slot) * self.slot)
                .find(|at| !used(*at));
            let Some(offset) = free else { return };
            if end.ep.post_recv(&[end.buffer.piece(offset, self.slot)], cookie, NONE).is_err() {
                return;
            }
            side.receives.push_back((cookie, offset));
        }
    }

    /// Posts the receives for which messages wait.
    pub(crate) fn post_missing_receives(&mut self) {
        for index in 0..self.connections.len() {
            for side in 0..2 {
                let Connection { ends, pair } = &self.connections[index];
                let waiting = pair.sides[1 - side].messages.len();
                let this = &pair.sides[side];
                let Some(end) = &ends[side] else { continue };
                let posted = match &self.processes[end.process].shared {
                    Some(shared) => shared.receives.len(),
                    None => this.receives.len(),
                };
                if !this.has_ended && waiting > posted {
                    self.post_receives(index, side);
                }
            }
        }
    }

    /// Posts a request on a connection of the process.
    pub(crate) fn post_any(&mut self, process: usize) -> Outcome {
        if self.connections.is_empty() {
            return Ok(());
        }
        let index = self.random.usize(0..self.connections.len());
        let side = self.random.usize(0..2);
        let is_own = |end: &Option<End>| end.as_ref().is_some_and(|end| end.process == process);
        let Connection { ends, pair } = &self.connections[index];
        let this = &pair.sides[side];
        if !is_own(&ends[side]) || !this.is_established || this.requests.len() >= SLOTS {
            return Ok(());
        }
        if self.has_faults && self.random.u8(0..80) == 0 {
            return self.disconnect(index, side);
        }
        self.post_receives(index, side);
        for _ in 0..self.random.usize(1..4) {
            self.post(index, side)?;
        }
        Ok(())
    }

    /// Posts a request, if the limits of the workload permit it.
    pub(crate) fn post(&mut self, index: usize, side: usize) -> Outcome {
        let cookie = self.cookie();
        let Self { random, slot, connections, .. } = self;
        let slot = *slot;
        let length = match random.u8(0..4) {
            0 => 0,
            1 => random.usize(0..=slot),
            _ => random.usize(0..200),
        };
        let at = |area: Area, number: usize| (area as usize * SLOTS + number) * slot;
        let Connection { ends: [Some(one), Some(two)], pair } = &mut connections[index] else {
            return Ok(());
        };
        let (near, far) = if side == 0 { (one, two) } else { (two, one) };
        // Some messages wait until their receives are posted.
        let has_credit = pair.sides[side].messages.len() < pair.sides[1 - side].receives.len()
            || random.u8(0..3) == 0;
        let Some(number) = (0..SLOTS).find(|number| {
            pair.sides[side].requests.iter().all(|one| one.pattern as usize % SLOTS != *number)
        }) else {
            return Ok(());
        };
        let kind = match random.u8(0..12) {
            0..=4 if has_credit => Kind::Send,
            5 | 6 => Kind::Write(at(Area::In, number)),
            7 if has_credit => Kind::WriteImmediate(at(Area::In, number), random.u32(..)),
            8 | 9 => Kind::Read(at(Area::Read, number)),
            10 => Kind::FetchAdd,
            11 if self.has_faults && random.u8(0..20) == 0 => Kind::Wrong,
            _ => return Ok(()),
        };
        let pattern = cookie * SLOTS as u64 + number as u64;
        let from = at(Area::Out, number);
        let local = near.buffer.piece(from, length);
        let flags = if random.u8(0..10) == 0 { CompletionFlags::BARRIER_FENCE } else { NONE };
        if !matches!(kind, Kind::Read(_) | Kind::FetchAdd) {
            near.buffer.fill(from, &model::bytes(pattern, length));
        }
        let posted = match kind {
            Kind::Send => near.ep.post_send(&[local], cookie, flags),
            Kind::Write(to) => {
                let to = far.buffer.remote(to, length);
                near.ep.post_rdma_write(&[local], cookie, to, flags)
            }
            Kind::WriteImmediate(to, value) => {
                let to = far.buffer.remote(to, length);
                near.ep.post_rdma_write_immediate(&[local], cookie, to, value, flags)
            }
            Kind::Read(to) => {
                let from = far.buffer.remote(at(Area::Constant, 0), length);
                near.ep.post_rdma_read(&[near.buffer.piece(to, length)], cookie, from, flags)
            }
            Kind::FetchAdd => {
                let word = far.buffer.remote(at(Area::Constant, 1), 8);
                near.ep.post_fetch_and_add(1, near.buffer.piece(from, 8), cookie, word, flags)
            }
            Kind::Wrong => {
                let mut to = far.buffer.remote(0, 8);
                to.context ^= 0x5a5a_5a5a;
                near.ep.post_rdma_write(&[near.buffer.piece(from, 8)], cookie, to, flags)
            }
        };
        self.trace.line(|| {
            format!(
                "connection {index} side {side}: post {cookie:#x} {kind:?} {length}: {posted:?}"
            )
        });
        match posted {
            Ok(()) => {
                let length = if kind == Kind::Wrong { 8 } else { length };
                let request = model::Posted { cookie, kind, length, pattern };
                pair.may_end |= kind == Kind::Wrong;
                pair.sides[side].added += u64::from(kind == Kind::FetchAdd);
                if kind.takes_receive() {
                    pair.sides[side].messages.push_back(request.clone());
                }
                pair.sides[side].requests.push_back(request);
                Ok(())
            }
            Err(_) if pair.may_end => Ok(()),
            Err(error) => Err(format!("a post is refused: {error}")),
        }
    }
}
