//! What the consumers do: they connect, and post receives and requests.

use std::time::{Duration, Instant};

use dat_core::{Bind, CompletionFlags, Connect, EpState, Privileges};

use crate::memory;
use crate::model::{self, Kind, Pair};
use crate::network;
use crate::plan::{Plan, Workload};
use crate::world::{Area, Connection, End, Outcome, World};

const NONE: CompletionFlags = CompletionFlags::empty();

impl World {
    /// A process connects to another one, or to itself.
    ///
    /// # Errors
    /// The call fails without a reason.
    pub(crate) fn connect(&mut self) -> Outcome {
        if self.connections.len() >= self.plan.connections {
            return Ok(());
        }
        let [from, to] = [0, 1].map(|_| self.random.usize(0..self.processes.len()));
        if [from, to].iter().any(|one| self.processes[*one].is_killed) {
            return Ok(());
        }
        let is_broken = [from, to].iter().any(|one| self.processes[*one].is_broken);
        let index = self.connections.len();
        self.trace.line(|| format!("connection {index}: process {from} connects to {to}"));
        let again = self.connect_again(from)?;
        let Some(end) = again.or_else(|| self.end(from)) else { return Ok(()) };
        let qualifier = self.processes[to].psp.qualifier();
        let destination = self.processes[to].node.address();
        let data = (index as u64).to_le_bytes();
        let (timeout, deadline) = self.time_out(Duration::from_millis(2));
        let attempt = Connect::to(destination, qualifier).private_data(&data).timeout(timeout);
        let links = network::with(|network| network.links.len());
        self.count_refusals(false);
        let excuses = self.excuses;
        let connected = end.ep.connect(&attempt);
        let sockets = self.note_descriptors(from);
        self.count_refusals(false);
        let is_refused = self.excuses > excuses;
        let state = end.ep.query().map_or(EpState::Disconnected, |query| query.state);
        if let Err(error) = connected {
            self.trace.line(|| format!("it cannot connect: {error}"));
            let is_local = error.raw_os_error().is_some() && !error.reason().is_empty();
            let is_right = is_local && (is_broken || is_refused);
            return if is_right { Ok(()) } else { Err(format!("it cannot connect: {error}")) };
        }
        let pair = Pair {
            may_end: is_broken,
            // A peer without its adapter refuses the connection, whatever the system does.
            needs_local_cause: is_refused && !is_broken && state == EpState::Disconnected,
            ..Pair::default()
        };
        let link = network::with(|network| (network.links.len() > links).then_some(links));
        self.connections.push(Connection {
            ends: [Some(end), None],
            processes: [from, to],
            pair,
            link,
            sockets,
            deadline,
        });
        self.post_receives(index, 0);
        Ok(())
    }

    /// An endpoint of a process whose connection has ended, and which can connect again; nothing if there is none.
    ///
    /// # Errors
    /// It cannot be reset.
    fn connect_again(&mut self, process: usize) -> Outcome<Option<End>> {
        // A completion of the shared receive queue may still be to come.
        let has_shared = self.processes[process].shared.is_some();
        if self.plan.workload != Workload::Calls || has_shared || self.random.bool() {
            return Ok(None);
        }
        let word = self.word();
        for (index, Connection { ends, pair, .. }) in self.connections.iter_mut().enumerate() {
            let is_absent = ends.each_ref().map(Option::is_none);
            let has_ended = (pair.sides.iter().zip(is_absent))
                .all(|(one, is_absent)| one.has_ended || one.is_dead || is_absent);
            for (slot, side) in ends.iter_mut().zip(&pair.sides) {
                let is_its = slot.as_ref().is_some_and(|end| end.process == process);
                let is_free = side.requests.is_empty() && side.receives.is_empty();
                if !(is_its && has_ended && side.has_ended && is_free) {
                    continue;
                }
                let Some(mut end) = slot.take() else { continue };
                self.trace.line(|| format!("an endpoint of connection {index} is reset"));
                end.ep.reset().map_err(|error| format!("a reset is refused: {error}"))?;
                end.bound = None;
                end.buffer.fill(word, &[0; 8]);
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// A new endpoint of a process, with its memory; nothing if its adapter cannot be used any more.
    pub(crate) fn end(&self, process: usize) -> Option<End> {
        let node = &self.processes[process].node;
        let size = (Area::Constant as usize * self.plan.slots + 1) * self.plan.slot + 64;
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let buffer = memory::buffer(node, size, privileges);
        let spec = node.spec_with(|attributes| {
            attributes.max_rdma_read_in = self.plan.reads;
            attributes.max_request_dtos = attributes.max_request_dtos.max(self.plan.slots as u32);
            attributes.max_recv_dtos = attributes.max_recv_dtos.max(self.plan.slots as u32);
        });
        let spec = match &self.processes[process].shared {
            Some(shared) => spec.srq(&shared.queue),
            None => spec,
        };
        let ep = match node.ia.ep_create(&spec) {
            Err(_) if self.processes[process].is_broken => return None,
            ep => ep.expect("an endpoint"),
        };
        buffer.fill(self.at(Area::Constant, 0), &model::bytes(7, self.plan.slot));
        let has_window = self.plan.workload == Workload::Calls;
        let window = has_window.then(|| node.ia.rmr_create(&node.pz).expect("a remote region"));
        Some(End { process, ep, window, bound: None, buffer })
    }

    /// Posts receives until the shared queue of a process has some.
    pub(crate) fn post_shared_receives(&mut self, process: usize) {
        let (slots, slot) = (self.plan.slots, self.plan.slot);
        let wanted = self.random.usize(1..=slots);
        loop {
            let cookie = self.cookie();
            let Some(shared) = &mut self.processes[process].shared else { return };
            if shared.receives.len() >= wanted {
                return;
            }
            let used = |at| shared.receives.iter().any(|(_, offset)| *offset == at);
            let free = (0..slots).map(|number| number * slot).find(|at| !used(*at));
            let Some(offset) = free else { return };
            let piece = shared.buffer.piece(offset, slot);
            if shared.queue.post_recv(&[piece], cookie).is_err() {
                return;
            }
            shared.receives.push((cookie, offset));
            for Connection { ends, link, .. } in &self.connections {
                if ends.iter().flatten().any(|end| end.process == process) {
                    end_idle(&mut self.idle_since, *link);
                }
            }
        }
    }

    /// Posts receives until the endpoint has some.
    pub(crate) fn post_receives(&mut self, index: usize, side: usize) {
        let process = self.connections[index].ends[side].as_ref().map(|end| end.process);
        let is_shared = |process: &usize| self.processes[*process].shared.is_some();
        if let Some(process) = process.filter(is_shared) {
            return self.post_shared_receives(process);
        }
        let (slots, slot, (least, most)) = (self.plan.slots, self.plan.slot, self.plan.receives);
        let wanted = self.random.usize(least..=most);
        while self.connections[index].pair.sides[side].receives.len() < wanted {
            let (cookie, Connection { ends, pair, link, .. }) =
                (self.cookie(), &mut self.connections[index]);
            let Some(end) = &ends[side] else { return };
            let side = &mut pair.sides[side];
            let used = |at| side.receives.iter().any(|(_, offset)| *offset == at);
            let free = (0..slots)
                .map(|number| (Area::Receive as usize * slots + number) * slot)
                .find(|at| !used(*at));
            let Some(offset) = free else { return };
            if end.ep.post_recv(&[end.buffer.piece(offset, slot)], cookie, NONE).is_err() {
                return;
            }
            side.receives.push_back((cookie, offset));
            end_idle(&mut self.idle_since, *link);
        }
    }

    /// Posts the receives for which messages wait.
    pub(crate) fn post_missing_receives(&mut self) {
        for index in 0..self.connections.len() {
            for side in 0..2 {
                let Connection { ends, pair, .. } = &self.connections[index];
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
        let Connection { ends, pair, .. } = &self.connections[index];
        let this = &pair.sides[side];
        if !is_own(&ends[side]) || !this.is_established || this.requests.len() >= self.plan.slots {
            return Ok(());
        }
        if self.plan.has_faults && self.random.u8(0..80) == 0 {
            return self.disconnect(index, side);
        }
        self.post_receives(index, side);
        if self.plan.workload == Workload::Exchanges {
            let pair = &self.connections[index].pair;
            let is_busy = pair.sides.iter().any(|side| !side.messages.is_empty());
            return if is_busy { Ok(()) } else { self.post(index, side, true) };
        }
        for _ in 0..self.random.usize(1..=self.plan.burst) {
            self.post(index, side, false)?;
        }
        Ok(())
    }

    /// Posts a request, if the limits of the workload permit it; or a message.
    pub(crate) fn post(&mut self, index: usize, side: usize, is_message: bool) -> Outcome {
        let cookie = self.cookie();
        let Self { random, plan, connections, retired, .. } = self;
        let Plan { slot, slots, has_faults, workload, .. } = *plan;
        let length = match random.u8(0..4) {
            0 => 0,
            1 => random.usize(0..=slot),
            _ => random.usize(0..200),
        };
        let at = |area: Area, number: usize| (area as usize * slots + number) * slot;
        let Connection { ends: [Some(one), Some(two)], pair, link, .. } = &mut connections[index]
        else {
            return Ok(());
        };
        let (near, far) = if side == 0 { (one, two) } else { (two, one) };
        // Some messages wait until their receives are posted.
        let has_credit = pair.sides[side].messages.len() < pair.sides[1 - side].receives.len()
            || random.u8(0..3) == 0;
        let is_used = |number: &usize| {
            pair.sides[side].requests.iter().any(|one| one.pattern as usize % slots == *number)
        };
        let Some(number) = (0..slots).find(|number| !is_used(number)) else {
            return Ok(());
        };
        let reads = workload == Workload::Reads && random.bool();
        let may_fail = has_faults || workload == Workload::Direct;
        let calls = workload == Workload::Calls;
        let is_bind = |one: &model::Posted| matches!(one.kind, Kind::Bind(_));
        // A bind ends the accesses through the one before.
        let may_bind = pair.sides[1 - side].requests.is_empty()
            && !pair.sides[side].requests.iter().any(is_bind);
        let mut kind = match random.u8(0..12) {
            _ if is_message => Kind::Send,
            11 if calls && may_bind => Kind::Bind(0),
            0..=9 if reads => Kind::Read(at(Area::Read, number)),
            0..=4 if has_credit => Kind::Send,
            5 | 6 => Kind::Write(at(Area::In, number)),
            7 if has_credit => Kind::WriteImmediate(at(Area::In, number), random.u32(..)),
            8 | 9 => Kind::Read(at(Area::Read, number)),
            10 => Kind::FetchAdd,
            11 if may_fail && random.u8(0..20) == 0 => Kind::Wrong,
            _ => return Ok(()),
        };
        let pattern = cookie * slots as u64 + number as u64;
        let from = at(Area::Out, number);
        let local = near.buffer.piece(from, length);
        let mut flags = if random.u8(0..10) == 0 { CompletionFlags::BARRIER_FENCE } else { NONE };
        let suppressed = pair.sides[side].requests.iter().filter(|one| one.is_suppressed).count();
        let is_suppressed = calls
            && suppressed < slots / 2
            && !matches!(kind, Kind::Wrong | Kind::Bind(_))
            && random.u8(0..3) == 0;
        if is_suppressed {
            flags |= CompletionFlags::SUPPRESS;
        }
        // Through the remote memory region of the peer, if it is bound.
        let context = far.bound.filter(|_| random.bool());
        let remote = |at: usize| {
            let mut remote = far.buffer.remote(at, length);
            remote.context = context.unwrap_or(remote.context);
            remote
        };
        if !matches!(kind, Kind::Read(_) | Kind::FetchAdd) {
            near.buffer.fill(from, &model::bytes(pattern, length));
        }
        let posted = match kind {
            Kind::Send => near.ep.post_send(&[local], cookie, flags),
            Kind::Write(to) => near.ep.post_rdma_write(&[local], cookie, remote(to), flags),
            Kind::WriteImmediate(to, value) => {
                near.ep.post_rdma_write_immediate(&[local], cookie, remote(to), value, flags)
            }
            Kind::Read(to) => {
                let from = remote(at(Area::Constant, 0));
                near.ep.post_rdma_read(&[near.buffer.piece(to, length)], cookie, from, flags)
            }
            Kind::FetchAdd => {
                let word = far.buffer.remote(at(Area::Constant, 1), 8);
                near.ep.post_fetch_and_add(1, near.buffer.piece(from, 8), cookie, word, flags)
            }
            Kind::Bind(_) => {
                let Some(window) = &near.window else { return Ok(()) };
                let bind = Bind {
                    lmr: &near.buffer.lmr,
                    triplet: near.buffer.piece(0, near.buffer.memory.len()),
                    privileges: Privileges::REMOTE,
                    cookie,
                    flags: NONE,
                };
                let bound = window.bind(&near.ep, &bind);
                // The peer cannot use the former context any more.
                near.bound = None;
                bound.map(|context| kind = Kind::Bind(context))
            }
            Kind::Wrong => {
                // Memory that does not exist, or not any more.
                let old = retired.iter().find(|old| old.ep == far.ep.id());
                let mut to = far.buffer.remote(0, 8);
                match old {
                    Some(old) => to = old.remote,
                    None => to.context ^= 0x5a5a_5a5a,
                }
                near.ep.post_rdma_write(&[near.buffer.piece(from, 8)], cookie, to, flags)
            }
        };
        self.trace.line(|| {
            format!(
                "connection {index} side {side}: post {cookie:#x} {kind:?} {length}: {posted:?}"
            )
        });
        end_idle(&mut self.idle_since, *link);
        match posted {
            Ok(()) => {
                let length = if kind == Kind::Wrong { 8 } else { length };
                let request = model::Posted { cookie, kind, length, pattern, is_suppressed };
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

/// A link may have something to do again.
pub(crate) fn end_idle(idle_since: &mut [Option<(u64, Instant)>], link: Option<usize>) {
    if let Some(since) = link.and_then(|link| idle_since.get_mut(link)) {
        *since = None;
    }
}
