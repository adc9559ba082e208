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
        for Connection { ends, pair, .. } in &mut self.connections {
            for (side, end) in ends.iter().enumerate() {
                pair.sides[side].is_dead |= end.as_ref().is_some_and(|end| end.process == process);
            }
        }
        let connections = &mut self.connections;
        network::with(|network| {
            for (index, (processes, link)) in network.links.iter_mut().enumerate() {
                if processes.contains(&process) {
                    connections
                        .iter_mut()
                        .filter(|one| one.link == Some(index))
                        .for_each(|one| one.pair.end());
                    link.cut();
                }
            }
        });
    }

    /// A link breaks.
    pub(crate) fn break_link(&mut self) {
        let Self { random, trace, connections, .. } = self;
        network::with(|network| {
            if network.links.is_empty() {
                return;
            }
            let index = random.usize(0..network.links.len());
            trace.line(|| format!("link {index} breaks"));
            let its_connection = connections.iter_mut().find(|one| one.link == Some(index));
            its_connection.into_iter().for_each(|one| one.pair.end());
            network.links[index].1.cut();
        });
    }
}
