//! Disconnects, and what breaks.

use std::time::Duration;

use dat_core::Close;
use dat_sync::clock;

use crate::network;
use crate::world::{Connection, Outcome, World};

impl World {
    pub(crate) fn disconnect(&mut self, index: usize, side: usize) -> Outcome {
        let how = if self.random.bool() { Close::Graceful } else { Close::Abrupt };
        self.trace.line(|| format!("connection {index} side {side}: disconnect {how:?}"));
        let Connection { ends, pair, .. } = &mut self.connections[index];
        pair.end();
        let Some(end) = &ends[side] else { return Ok(()) };
        // It may have ended already.
        let _ = end.ep.disconnect(how);
        Ok(())
    }

    /// A process is stopped for some time.
    pub(crate) fn stop(&mut self) {
        let process = self.random.usize(0..self.processes.len());
        let time = Duration::from_micros(self.random.u64(1..5_000));
        self.trace.line(|| format!("process {process} is stopped for {time:?}"));
        self.processes[process].stopped_until = clock::now() + time;
        self.has_stopped = true;
    }

    /// A process is killed: its links break, and it does nothing any more.
    pub(crate) fn kill(&mut self) {
        let process = self.random.usize(0..self.processes.len());
        self.trace.line(|| format!("process {process} is killed"));
        self.processes[process].is_killed = true;
        for Connection { processes, pair, .. } in &mut self.connections {
            if !processes.contains(&process) {
                continue;
            }
            pair.end();
            for (side, owner) in pair.sides.iter_mut().zip(*processes) {
                side.is_dead |= owner == process;
            }
        }
        if let Some(descriptors) = &self.descriptors {
            descriptors.close_all(process);
        }
        network::with(|network| {
            for (_, link) in network.links.iter_mut().filter(|(ends, _)| ends.contains(&process)) {
                link.cut();
            }
        });
    }

    /// The link of a connection breaks.
    pub(crate) fn break_link(&mut self) {
        if self.connections.is_empty() {
            return;
        }
        let index = self.random.usize(0..self.connections.len());
        let Connection { pair, link, sockets, .. } = &mut self.connections[index];
        let mut is_cut = sockets.iter().filter(|socket| socket.shut_down()).count() > 0;
        if let Some(link) = *link {
            network::with(|network| network.links[link].1.cut());
            is_cut = true;
        }
        if is_cut {
            self.trace.line(|| format!("the link of connection {index} breaks"));
            pair.end();
        }
    }
}
