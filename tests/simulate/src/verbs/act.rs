//! What the machines do: they connect, post and poll, and their connections break.

use dat_core::flags::Qos;
use dat_core::provider::{BindRequest, Completion, ConnectRequest, Epoch, Request, Work};
use dat_core::{Close, CompletionFlags, DtoStatus, Privileges};

use super::machine::Change;
use super::model::{Kind, Phase, Posted};
use super::side::SLOTS;
use super::{Area, Pair, Side, World};
use crate::model as pattern;
use crate::network;
use crate::world::Outcome;

const NONE: CompletionFlags = CompletionFlags::empty();

impl World {
    /// A pair connects, for the first time or after both sides have lost the connection.
    ///
    /// # Errors
    /// The call is refused.
    pub(super) fn connect(&mut self, index: usize) -> Outcome {
        let Pair { sides, link, has_receives } = &mut self.pairs[index];
        for side in &mut *sides {
            let account = &mut side.account;
            let is_empty = account.requests.is_empty() && account.receives.is_empty();
            if account.phase == Phase::Disconnected && is_empty && !self.is_settling {
                side.queue_pair.reset().map_err(|error| format!("a reset is refused: {error}"))?;
                account.phase = Phase::Unconnected;
            }
        }
        let is_free = |side: &Side| {
            let account = &side.account;
            let is_over = matches!(account.phase, Phase::Unconnected | Phase::Lost);
            is_over && account.requests.is_empty()
        };
        if self.is_settling || !sides.iter().all(is_free) {
            return Ok(());
        }
        self.trace.line(|| format!("connection {index} begins"));
        for side in &mut *sides {
            side.account.begin();
            // The message that was to invalidate it may not have arrived.
            side.stale = None;
            side.account.may_drop |= side.account.is_unreliable && !*has_receives;
            side.attempt += 1;
        }
        let request = ConnectRequest {
            attempt: sides[0].attempt,
            address: network::address(1).into(),
            qualifier: self.machines[1].qualifier,
            private_data: &[index as u8, sides[1].attempt as u8],
            qos: Qos::BEST_EFFORT,
        };
        let links = network::with(|network| network.links.len());
        let connected = sides[0].queue_pair.connect(&request);
        *link = network::with(|network| (network.links.len() > links).then_some(links));
        connected.map_err(|error| format!("connection {index} cannot connect: {error}"))
    }

    /// Machine 1 accepts what has arrived.
    ///
    /// # Errors
    /// The call is refused although nothing can have ended the attempt.
    pub(super) fn answer(&mut self) -> Outcome {
        while let Some(incoming) = self.machines[1].requests.take() {
            let [index, attempt] = *incoming.private_data else {
                return Err("a request without its private data".to_owned());
            };
            let side = &mut self.pairs[usize::from(index)].sides[1];
            if side.attempt as u8 != attempt || side.account.phase != Phase::Connecting {
                // Its attempt has ended.
                let _ = incoming.responder.reject(&[]);
                continue;
            }
            let accepted = incoming.responder.accept(&*side.queue_pair, side.attempt, &[]);
            if let Err(error) = accepted {
                if !side.account.may_end {
                    return Err(format!("connection {index} cannot be accepted: {error}"));
                }
                side.account.phase = Phase::Lost;
            }
        }
        Ok(())
    }

    /// Takes the changes of connections.
    ///
    /// # Errors
    /// One has no cause, or comes twice.
    pub(super) fn note_changes(&mut self) -> Outcome {
        for (index, pair) in self.pairs.iter_mut().enumerate() {
            for side in &mut pair.sides {
                for (attempt, change) in side.changes.take() {
                    self.trace.line(|| format!("connection {index}: {change:?} of {attempt}"));
                    let account = &mut side.account;
                    if attempt != side.attempt || account.phase == Phase::Disconnected {
                        continue;
                    }
                    account.phase = match (change, account.phase) {
                        (Change::Established, Phase::Connecting) => Phase::Up,
                        (Change::Ended | Change::Refused, Phase::Connecting | Phase::Up)
                            if account.may_end =>
                        {
                            Phase::Lost
                        }
                        (change, phase) => {
                            return Err(format!("connection {index}: {change:?} while {phase:?}"));
                        }
                    };
                }
                // At once, also what was posted before the loss was noticed.
                if side.account.phase == Phase::Lost {
                    side.queue_pair.for_verbs().give_up();
                }
            }
        }
        Ok(())
    }

    /// A side posts receives, at any time.
    ///
    /// # Errors
    /// One is refused.
    pub(super) fn receive_more(&mut self, pair: usize, side: usize) -> Outcome {
        let wanted = self.random.usize(1..=SLOTS);
        self.pairs[pair].sides[side].post_receives(wanted, &mut self.cookie)
    }

    /// Sides post the receives for which messages wait.
    ///
    /// # Errors
    /// As [`receive_more`](Self::receive_more).
    pub(super) fn receive_missing(&mut self, pair: usize) -> Outcome {
        for side in &mut self.pairs[pair].sides {
            let account = &side.account;
            if account.phase == Phase::Up && !account.is_unreliable {
                side.post_receives(account.awaited(), &mut self.cookie)?;
            }
        }
        Ok(())
    }

    /// A side posts a request, or several.
    ///
    /// # Errors
    /// One is refused.
    pub(super) fn post_any(&mut self, pair: usize, side: usize) -> Outcome {
        for _ in 0..self.random.usize(1..4) {
            self.post(pair, side)?;
        }
        Ok(())
    }

    fn post(&mut self, index: usize, number: usize) -> Outcome {
        let Pair { sides: [one, two], has_receives, .. } = &mut self.pairs[index];
        let (near, far) = if number == 0 { (one, two) } else { (two, one) };
        let phase = near.account.phase;
        // After a loss, one request shows what becomes of it.
        let is_late = phase == Phase::Lost && self.random.u8(0..8) == 0;
        if !(phase == Phase::Up || is_late) || near.account.requests.len() >= SLOTS {
            return Ok(());
        }
        self.cookie += 1;
        let (cookie, is_unreliable) = (self.cookie, near.account.is_unreliable);
        let length = match self.random.u8(0..4) {
            0 => 0,
            1 => self.random.usize(0..=self.slot),
            _ => self.random.usize(0..200),
        };
        let slot = cookie as usize % SLOTS;
        // The memory of a request is its own until it completes.
        if near.account.requests.iter().any(|other| other.cookie as usize % SLOTS == slot) {
            return Ok(());
        }
        let is_quiet = near.account.requests.is_empty() && far.account.requests.is_empty();
        let kind = match self.random.u8(0..16) {
            0..=2 => Kind::Send { immediate: Some(cookie as u32), invalidates: None },
            // Of two messages that look alike, the oracle could not tell which one was dropped.
            3..=6 if !is_unreliable => Kind::Send { immediate: None, invalidates: None },
            7 if is_quiet && far.bound.is_some() && phase == Phase::Up && !is_unreliable => {
                far.stale = far.bound.take();
                Kind::Send { immediate: None, invalidates: far.stale }
            }
            8 | 9 => Kind::Write { slot },
            10 | 11 => Kind::WriteImmediate { immediate: cookie as u32 },
            12 if !is_unreliable => Kind::Read { slot },
            13 if !is_unreliable => Kind::FetchAdd,
            14 if is_quiet && phase == Phase::Up && !is_unreliable => {
                near.stale = near.bound.take().or(near.stale);
                Kind::Bind { key: near.reserved & !0xff | (cookie as u32 % 255 + 1) }
            }
            15 if self.has_faults && far.stale.is_some() && self.random.bool() => Kind::Stale,
            _ => return Ok(()),
        };
        let length = match kind {
            Kind::FetchAdd => 8,
            Kind::Bind { .. } => 0,
            Kind::Stale => length.max(1),
            // Messages without immediate data differ in their bytes.
            Kind::Send { immediate: None, .. } => length.max(8),
            _ => length,
        };
        let posted = Posted { cookie, kind, length };
        let has_one = far.account.receives.len() > far.account.inbound.len();
        if posted.takes_receive() && *has_receives && !(has_one && far.account.phase == Phase::Up) {
            return Ok(());
        }
        if is_unreliable && far.account.phase != Phase::Up {
            far.account.may_drop = true;
        }
        if kind == Kind::Stale && !is_unreliable {
            near.account.may_end = true;
            far.account.may_end = true;
            far.account.may_refuse = true;
        }
        self.trace.line(|| format!("connection {index} side {number}: {posted:?}"));
        let local = match kind {
            Kind::Read { .. } | Kind::FetchAdd => near.slot_address(Area::Read, slot),
            _ => {
                near.fill(Area::Out, slot, &posted.bytes());
                near.slot_address(Area::Out, slot)
            }
        };
        let result = if let Kind::Bind { key } = kind {
            let area = near.area(Area::In);
            let bind = BindRequest {
                window: &*near.window,
                region: Some(&*near.region),
                address: area.address,
                remote_address: area.address,
                length: area.length,
                privileges: Privileges::ALL,
                key: Some(key),
                cookie,
                flags: NONE,
            };
            near.queue_pair.post_bind(&bind).map(drop)
        } else {
            let to = far.slot_address(Area::In, slot);
            let key = if kind == Kind::Stale { far.stale } else { far.bound };
            let work = match kind {
                Kind::Send { immediate: Some(immediate), .. } => Work::SendImmediate { immediate },
                Kind::Send { invalidates: Some(key), .. } => Work::SendInvalidate { key },
                Kind::WriteImmediate { immediate } => {
                    let remote = far.triplet(to, length, None);
                    Work::RdmaWriteImmediate { remote, immediate }
                }
                Kind::Write { .. } | Kind::Stale => {
                    Work::RdmaWrite { remote: far.triplet(to, length, key) }
                }
                Kind::Read { .. } => {
                    let from = far.slot_address(Area::Constant, 0);
                    Work::RdmaRead { remote: far.triplet(from, length, None) }
                }
                Kind::FetchAdd => {
                    Work::FetchAdd { add: 1, remote: far.triplet(far.word(), 8, None) }
                }
                _ => Work::Send,
            };
            let segments = [near.segment(local, length)];
            let (length, checked) = (length as u64, Epoch::default());
            let flags = NONE;
            let request = Request { work, segments: &segments, length, cookie, flags, checked };
            near.queue_pair.post_request(&request)
        };
        if let Err(error) = result {
            return Err(format!("request {cookie:#x} is refused: {error}"));
        }
        near.account.requests.push_back(posted);
        near.account.added.0 += u64::from(kind == Kind::FetchAdd);
        if posted.takes_receive() && phase == Phase::Up {
            far.account.inbound.push_back(posted);
        }
        Ok(())
    }

    /// A machine takes its completions.
    ///
    /// # Errors
    /// What is wrong with one.
    pub(super) fn poll(&mut self, machine: usize) -> Outcome {
        loop {
            let done = self.machines[machine].poll();
            if done.is_empty() {
                return Ok(());
            }
            // A poll may have found the end of a connection, which comes before its completions are judged.
            self.note_changes()?;
            for one in done {
                self.trace.line(|| format!("{one:?}"));
                self.complete(&one).map_err(|why| format!("connection {}: {why}", one.tag / 2))?;
            }
        }
    }

    fn complete(&mut self, done: &Completion) -> Outcome {
        let (index, number) = (done.tag as usize / 2, done.tag as usize % 2);
        let Pair { sides: [one, two], .. } = &mut self.pairs[index];
        let (near, far) = if number == 0 { (one, two) } else { (two, one) };
        if !done.operation.is_request() {
            let read = |&(_, slot): &(u64, usize)| {
                near.bytes(near.slot_address(Area::Receive, slot), done.length as usize)
            };
            let found = near.account.receives.front().map(read).unwrap_or_default();
            return near.account.complete_receive(done, &found);
        }
        let posted = near.account.complete_request(done)?;
        if done.status != DtoStatus::Success {
            return Ok(());
        }
        match posted.kind {
            Kind::Bind { key } => near.bound = Some(key),
            Kind::Write { slot }
                if !near.account.is_unreliable
                    && far.bytes(far.slot_address(Area::In, slot), posted.length)
                        != posted.bytes() =>
            {
                return Err(format!("the bytes of write {:#x} are wrong", posted.cookie));
            }
            Kind::Read { slot } => {
                let found = near.bytes(near.slot_address(Area::Read, slot), posted.length);
                if found != pattern::bytes(7, posted.length) {
                    return Err(format!("the bytes of read {:#x} are wrong", posted.cookie));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The link of a pair breaks, or one of its sides disconnects, which flushes everything, and is reset.
    pub(super) fn fault(&mut self, index: usize, number: usize) {
        let Pair { sides, link, .. } = &mut self.pairs[index];
        if sides.iter().any(|side| !matches!(side.account.phase, Phase::Up | Phase::Connecting)) {
            return;
        }
        for side in &mut *sides {
            side.account.may_end = true;
            side.account.may_drop |= side.account.is_unreliable;
        }
        if self.random.u8(0..4) == 0 {
            self.trace.line(|| format!("connection {index} side {number} disconnects"));
            sides[number].account.phase = Phase::Disconnected;
            sides[number].queue_pair.disconnect(Close::Abrupt);
        } else if let Some(link) = *link {
            self.trace.line(|| format!("the link of connection {index} breaks"));
            network::with(|network| network.links[link].1.cut());
        }
    }
}
