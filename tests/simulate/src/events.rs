//! The events that consumers take, and what they must be.

use std::time::Duration;

use dat_conformance::Buffer;
use dat_core::{ConnectionEventKind, DtoStatus, Event, Operation, Timeout};

use crate::model::{self, Kind};
use crate::world::{Connection, End, Outcome, World};

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
                if self.has_faults && self.random.u8(0..10) == 0 {
                    self.connections[index].pair.may_end = true;
                    return arrival.request.reject(b"no").map_err(|error| error.to_string());
                }
                let end = self.end(process);
                self.connections[index].ends[1] = Some(end);
                self.post_receives(index, 1);
                let Connection { ends, .. } = &self.connections[index];
                let ep = ends[1].as_ref().map(|end| end.ep.clone());
                let accepted = arrival.request.accept(ep.as_ref(), b"");
                accepted.map_err(|error| format!("an accept is refused: {error}"))
            }
            Event::Connection(event) => {
                let (index, side) = self.find(|end| end.ep.id() == event.ep)?;
                let pair = &mut self.connections[index].pair;
                match event.kind {
                    ConnectionEventKind::Established if pair.sides[side].is_established => {
                        Err(format!("connection {index} is established twice"))
                    }
                    ConnectionEventKind::Established => {
                        pair.sides[side].is_established = true;
                        Ok(())
                    }
                    kind if !pair.may_end => {
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
                let (index, side) = self.find(|end| end.ep.id() == one.ep)?;
                let is_receive = matches!(
                    one.operation,
                    Operation::Receive
                        | Operation::ReceiveImmediate
                        | Operation::ReceiveWithInvalidate
                );
                if is_receive {
                    self.complete_receive(index, side, (one.cookie, one.status, one.length))
                } else {
                    self.complete_request(index, side, (one.cookie, one.status, one.length))
                }
            }
            Event::None => Ok(()),
            event => Err(format!("an event that was not expected: {event:?}")),
        }
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
        let Connection { ends, pair } = &mut self.connections[index];
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
        match message.kind {
            // Its bytes were checked when it completed; others may be there since.
            Kind::WriteImmediate(..) => Ok(()),
            _ => check(buffer, offset, &message, "a message"),
        }
    }

    pub(crate) fn complete_request(
        &mut self,
        index: usize,
        side: usize,
        (cookie, status, length): (u64, DtoStatus, u64),
    ) -> Outcome {
        let Connection { ends, pair } = &mut self.connections[index];
        let posted = pair.complete_request(side, cookie, status, length)?;
        if status != DtoStatus::Success {
            return Ok(());
        }
        let [Some(one), Some(two)] = ends else { return Ok(()) };
        let (near, far) = if side == 0 { (one, two) } else { (two, one) };
        match posted.kind {
            Kind::Write(to) | Kind::WriteImmediate(to, _) => {
                check(&far.buffer, to, &posted, "a write")
            }
            Kind::Read(to) => {
                check(&near.buffer, to, &model::Posted { pattern: 7, ..posted }, "a read")
            }
            _ => Ok(()),
        }
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
