//! Memory that is deregistered while peers use it.

use dat_core::Privileges;

use crate::memory;
use crate::model;
use crate::world::{Area, Connection, Retired, World};

impl World {
    /// A process deregisters the memory of one of its connections, and registers other memory. What is in progress may
    /// end with an error, and nothing is written to the memory any more.
    pub(crate) fn deregister(&mut self) {
        if self.connections.is_empty() {
            return;
        }
        let (index, side) = (self.random.usize(0..self.connections.len()), self.random.usize(0..2));
        let constant = self.at(Area::Constant, 0);
        let Connection { ends, pair, .. } = &mut self.connections[index];
        let Some(end) = &mut ends[side] else { return };
        if !pair.sides[side].is_established {
            return;
        }
        self.trace.line(|| format!("connection {index} side {side} deregisters its memory"));
        (pair.may_end, pair.has_other_memory) = (true, true);
        let length = end.buffer.memory.len();
        let privileges = Privileges::ALL | Privileges::REMOTE_ATOMIC;
        let fresh = memory::buffer(&self.processes[end.process].node, length, privileges);
        fresh.fill(constant, &model::bytes(7, self.plan.slot));
        let remote = end.buffer.remote(0, 8);
        let buffer = std::mem::replace(&mut end.buffer, fresh);
        buffer.lmr.free().expect("a region without windows");
        let before = buffer.bytes(0, length);
        self.retired.push(Retired { buffer, before, remote, ep: end.ep.id() });
    }
}
