//! The events that consumers take, and what they must be.

use std::time::Duration;

use dat_conformance::Buffer;
use dat_core::{ConnectionEventKind, DtoStatus, Event, Operation, RefusalCause, Timeout};
use dat_sync::clock;

use crate::model::{self, Kind};
use crate::plan::Workload;
use crate::process::Unanswered;
use crate::workload::end_idle;
use crate::world::{Connection, End, IDLE, Outcome, World};

impl World {
    /// Takes all events of a process.
    pub(crate) fn poll(&mut self, process: usize) -> Outcome {
        let node = &self.processes[process].node;
        let queues = [&node.request, &node.recv, &node.connect, &node.requests].map(Clone::clone);
        let order = self.random.usize(0..4);
        for at in 0..4 {
            let mut event = Event::default();
            while queues[(at + order) % 4].dequeue(&mut event).expect("a live dispatcher") {
                self.handle(process, std::mem::take(&mut event))?;
            }
        }
        self.note_descriptors(process);
        self.check_idle(process)
    }

    /// Polls without posting: by turns all dispatchers for some time, and only that for connections, as MPI libraries do
    /// while they await what the peer writes to memory.
    pub(crate) fn poll_only(&mut self, process: usize) -> Outcome {
        let state = &mut self.processes[process];
        state.polls = state.polls.wrapping_add(1);
        if state.polls & 16 == 0 {
            return self.poll(process);
        }
        let queue = state.node.connect.clone();
        let mut event = Event::default();
        while queue.dequeue(&mut event).expect("a live dispatcher") {
            self.handle(process, std::mem::take(&mut event))?;
        }
        Ok(())
    }

    /// A request of a process that has polled is complete if its link is idle for long and the peer can execute it.
    fn check_idle(&self, process: usize) -> Outcome {
        let now = clock::now_without_pauses();
        for (index, Connection { ends, pair, link, .. }) in self.connections.iter().enumerate() {
            let idle = link.and_then(|link| self.idle_since.get(link));
            let Some(Some((_, since))) = idle else { continue };
            let is_idle = now.duration_since(*since) > IDLE;
            if !is_idle || self.has_stopped || pair.may_end || self.excuses > 0 {
                continue;
            }
            let [Some(one), Some(two)] = ends else { continue };
            for (side, (near, far)) in [(one, two), (two, one)].into_iter().enumerate() {
                let has_shared = self.processes[far.process].shared.is_some();
                let is_here = near.process == process && pair.sides[side].is_established;
                if let Some(cookie) = pair.executable(side, has_shared).filter(|_| is_here) {
                    return Err(format!(
                        "request {cookie:#x} of connection {index} is not complete"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Waits, without time, on a dispatcher of a process: announces itself, claims progress and gives it back.
    pub(crate) fn wait(&mut self, process: usize) -> Outcome {
        let node = &self.processes[process].node;
        let all = [&node.request, &node.recv, &node.connect, &node.requests];
        let queue = all[self.random.usize(0..4)].clone();
        let mut event = Event::default();
        let waited = queue.wait(Timeout::After(Duration::ZERO), 1, &mut event);
        if waited.is_ok() && !matches!(event, Event::None) {
            self.handle(process, event)?;
        }
        Ok(())
    }

    pub(crate) fn handle(&mut self, process: usize, event: Event) -> Outcome {
        self.trace.line(|| format!("process {process}: {event:?}"));
        match event {
            Event::ConnectionRequest(arrival) => {
                let query = arrival.request.query().map_err(|error| error.to_string())?;
                let data = query.private_data;
                let index =
                    data.get(..8).and_then(|data| data.try_into().ok()).map(u64::from_le_bytes);
                let index = index.ok_or("a request without its private data")? as usize;
                if self.plan.has_faults && self.random.u8(0..10) == 0 {
                    self.connections[index].pair.may_end = true;
                    return arrival.request.reject(b"no").map_err(|error| error.to_string());
                }
                let request = Unanswered { process, index, request: arrival.request };
                let may_wait = self.plan.workload == Workload::TimeOuts && !self.is_settling;
                if may_wait && self.random.u8(0..3) == 0 {
                    self.unanswered.push(request);
                    return Ok(());
                }
                self.accept(request)
            }
            Event::Connection(event) => {
                let (index, side) = self.find(|end| end.ep.id() == event.ep)?;
                if event.kind == ConnectionEventKind::TimedOut {
                    self.check_time_out(index)?;
                }
                let is_end = event.kind != ConnectionEventKind::Established;
                let may_end = is_end && self.is_excused(index);
                let pair = &mut self.connections[index].pair;
                let is_local = matches!(event.cause, RefusalCause::Local(_));
                match event.kind {
                    ConnectionEventKind::NonPeerRejected
                        if side == 0 && pair.needs_local_cause && !is_local =>
                    {
                        Err(format!("connection {index} ends with the cause {:?}", event.cause))
                    }
                    ConnectionEventKind::Established if pair.sides[side].is_established => {
                        Err(format!("connection {index} is established twice"))
                    }
                    ConnectionEventKind::Established => {
                        pair.sides[side].is_established = true;
                        Ok(())
                    }
                    kind if !may_end => {
                        Err(format!("connection {index} side {side} ends with {kind:?}"))
                    }
                    _ if pair.sides[side].has_ended => {
                        Err(format!("connection {index} side {side} ends twice"))
                    }
                    _ => {
                        pair.sides[side].has_ended = true;
                        Ok(())
                    }
                }
            }
            Event::Dto(one) => {
                self.processes[process].took_at = clock::now_without_pauses();
                let (index, side) = self.find(|end| end.ep.id() == one.ep)?;
                let is_receive = matches!(
                    one.operation,
                    Operation::Receive
                        | Operation::ReceiveImmediate
                        | Operation::ReceiveSendImmediate
                        | Operation::ReceiveWithInvalidate
                );
                if is_receive {
                    self.complete_receive(index, side, (one.cookie, one.status, one.length))
                } else {
                    self.complete_request(index, side, (one.cookie, one.status, one.length))
                }
            }
            Event::RmrBind(one) => {
                let (index, side) = self.find(|end| end.ep.id() == one.ep)?;
                self.complete_request(index, side, (one.cookie, one.status, 0))
            }
            Event::None => Ok(()),
            event => Err(format!("an event that was not expected: {event:?}")),
        }
    }

    /// Accepts a request.
    pub(crate) fn accept(&mut self, request: Unanswered) -> Outcome {
        let Unanswered { process, index, request } = request;
        let Some(end) = self.end(process) else { return Ok(()) };
        self.connections[index].ends[1] = Some(end);
        self.post_receives(index, 1);
        let Connection { ends, .. } = &self.connections[index];
        let ep = ends[1].as_ref().map(|end| end.ep.clone());
        let accepted = request.accept(ep.as_ref(), b"");
        self.note_descriptors(process);
        if self.processes[process].is_broken {
            return Ok(());
        }
        accepted.map_err(|error| format!("an accept is refused: {error}"))
    }

    pub(crate) fn find(&self, is_it: impl Fn(&End) -> bool) -> Outcome<(usize, usize)> {
        for (index, connection) in self.connections.iter().enumerate() {
            for (side, end) in connection.ends.iter().enumerate() {
                if end.as_ref().is_some_and(&is_it) {
                    return Ok((index, side));
                }
            }
        }
        Err("an event of an endpoint that does not exist".to_owned())
    }

    pub(crate) fn complete_receive(
        &mut self,
        index: usize,
        side: usize,
        (cookie, status, length): (u64, DtoStatus, u64),
    ) -> Outcome {
        if status != DtoStatus::Success {
            self.is_excused(index);
        }
        let Connection { ends, pair, .. } = &mut self.connections[index];
        let Some(end) = &ends[side] else { return Ok(()) };
        let (buffer, offset) = match &mut self.processes[end.process].shared {
            Some(shared) => {
                let position = shared.receives.iter().position(|(one, _)| *one == cookie);
                let position = position.ok_or_else(|| {
                    format!("receive {cookie:#x} completes twice or was not posted")
                })?;
                (&shared.buffer, shared.receives.swap_remove(position).1)
            }
            None => (&end.buffer, pair.take_receive(side, cookie)?),
        };
        let message = pair.complete_receive(side, cookie, status, length)?;
        let Some(message) = message else { return Ok(()) };
        let is_checked = !pair.has_other_memory;
        let outcome = match message.kind {
            // Its bytes were checked when it completed; others may be there since.
            Kind::WriteImmediate(..) => Ok(()),
            _ if is_checked => check(buffer, offset, &message, "a message"),
            _ => Ok(()),
        };
        outcome?;
        if self.is_settling || self.random.u8(0..20) == 0 {
            return Ok(());
        }
        if self.plan.receives.1 <= 2 {
            self.post_receives(index, side);
        }
        let is_open = self.connections[index].pair.sides[side].is_established;
        if self.plan.workload == Workload::Exchanges && is_open {
            return self.post(index, side, true);
        }
        Ok(())
    }

    pub(crate) fn complete_request(
        &mut self,
        index: usize,
        side: usize,
        (cookie, status, length): (u64, DtoStatus, u64),
    ) -> Outcome {
        if status != DtoStatus::Success {
            self.is_excused(index);
        }
        let Connection { ends, pair, link, .. } = &mut self.connections[index];
        // The peer may execute the next one only now.
        end_idle(&mut self.idle_since, *link);
        let mut done = pair.take_suppressed(side, cookie)?;
        let posted = pair.complete_request(side, cookie, status, length)?;
        if status == DtoStatus::Success {
            done.push(posted);
        }
        let [Some(one), Some(two)] = ends else { return Ok(()) };
        let (near, far) = if side == 0 { (one, two) } else { (two, one) };
        for posted in done {
            match posted.kind {
                Kind::Bind(context) => near.bound = Some(context),
                _ if pair.has_other_memory => {}
                Kind::Write(to) | Kind::WriteImmediate(to, _) => {
                    check(&far.buffer, to, &posted, "a write")?;
                }
                Kind::Read(to) => {
                    check(&near.buffer, to, &model::Posted { pattern: 7, ..posted }, "a read")?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Checks the bytes of a request.
fn check(buffer: &Buffer, at: usize, posted: &model::Posted, what: &str) -> Outcome {
    let found = buffer.bytes(at, posted.length);
    let wrong =
        found.iter().enumerate().find(|(at, byte)| **byte != model::byte(posted.pattern, *at));
    match wrong {
        None => Ok(()),
        Some((position, byte)) => Err(format!(
            "{what} of request {:#x} has a wrong byte at {position} of {}: {byte:#x}",
            posted.cookie, posted.length
        )),
    }
}
