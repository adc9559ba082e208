//! Descriptors and memory that the system refuses, and descriptors that the program closes.

use dat_sync::epoll::simulated::{self, Call};
use rustix::io::Errno;

use crate::network;
use crate::world::{Connection, World};

impl World {
    /// One of the next calls is refused.
    pub(crate) fn refuse(&mut self) {
        let (call, errno) = match self.random.usize(0..4) {
            0 => (Call::Add, Errno::NOMEM),
            1 => (Call::Add, Errno::NOSPC),
            2 => (Call::Create, Errno::MFILE),
            _ => (Call::Create, Errno::NFILE),
        };
        self.count_refusals(false);
        if self.refused.contains(&call) {
            return;
        }
        let others = self.random.u32(0..6);
        self.trace.line(|| format!("{call:?} will be refused after {others} others: {errno:?}"));
        self.refused.push(call);
        simulated::refuse(call, others, errno);
    }

    /// From now on the system refuses nothing. Each refusal that has come may have ended one connection.
    pub(crate) fn count_refusals(&mut self, is_over: bool) {
        let (mut count, mut left) = (0, Vec::new());
        for call in std::mem::take(&mut self.refused) {
            match simulated::is_to_refuse(call) {
                false => count += 1,
                true if is_over => simulated::refuse_no_more(call),
                true => left.push(call),
            }
        }
        self.refused = left;
        self.excuses += count;
    }

    /// The connection may end, although the seed has not ended it: the system has refused something.
    pub(crate) fn is_excused(&mut self, index: usize) -> bool {
        self.count_refusals(false);
        if self.connections[index].pair.may_end {
            return true;
        }
        let is_excused = self.excuses > 0;
        if is_excused {
            self.excuses -= 1;
            self.connections[index].pair.end();
        }
        is_excused
    }

    /// The program closes a descriptor of the adapter of a process, which cannot be used any more.
    pub(crate) fn close_descriptor(&mut self) {
        let process = self.random.usize(0..self.processes.len());
        if self.processes[process].is_killed {
            return;
        }
        self.trace.line(|| format!("process {process} closes a descriptor of its adapter"));
        self.processes[process].is_broken = true;
        for Connection { ends, pair, .. } in &mut self.connections {
            if ends.iter().flatten().any(|end| end.process == process) {
                pair.end();
            }
        }
        network::with(|network| {
            for (index, (processes, _)) in network.links.iter().enumerate() {
                if processes.contains(&process) {
                    let its_connection = |one: &&mut Connection| one.link == Some(index);
                    self.connections
                        .iter_mut()
                        .filter(its_connection)
                        .for_each(|one| one.pair.end());
                }
            }
            let mut threads = network.threads.iter().flatten();
            if let Some((_, thread)) = threads.find(|(owner, _)| *owner == process) {
                thread.close_descriptor();
            }
        });
    }
}
