//! The settings of a queue pair, applied when it is created or modified.

use std::sync::{Arc, Weak};

use dat_provider::QueuePairSpec;
use dat_provider::error::Result;
use dat_provider::verbs::DatagramBinding;
use dat_sync::Mutex;

use super::backlog::SendBacklog;
use super::flow::Flows;
use super::handle::DatagramHandle;
use super::lease::Lease;
use super::packet::PacketBuffer;
use super::sockets::Sockets;
use super::{DatagramQp, QpRef, State};
use crate::datagram_counts::DatagramCounts;
use crate::handshake;
use crate::progress::Core;
use crate::queue_pair::PolledBy;
use crate::queue_pair::create::Replaced;
use crate::regions;
use crate::work_queues::WorkQueues;

impl DatagramHandle {
    /// Creates a queue pair.
    ///
    /// # Errors
    /// An object of the settings belongs to another provider, the system has no random numbers or no memory, or another
    /// socket has the port.
    pub(in crate::queue_pair) fn create(
        core: &Arc<Core>,
        lost: &Arc<DatagramCounts>,
        spec: &QueuePairSpec,
    ) -> Result<Self> {
        let key = match spec.verbs.binding {
            Some(binding) => binding.key,
            None => u128::from_le_bytes(handshake::nonce()?) as u64,
        };
        let buffer = PacketBuffer::new()?;
        let mut outcome = Ok(());
        let queue_pair = Arc::new_cyclic(|weak_self: &Weak<DatagramQp>| {
            let mut state = State {
                queues: WorkQueues::unconfigured(regions::queue_pair_id()),
                sink: Arc::clone(&spec.sink),
                is_retired: false,
                key,
                sockets: Sockets::default(),
                attempts: Vec::new(),
                buffer,
                backlog: SendBacklog::default(),
                flows: Flows::default(),
                lease: Lease::new(core.transport.progress_mode()),
                arrivals: 0,
            };
            outcome = state.apply(spec, weak_self).map(drop);
            DatagramQp {
                weak_self: Weak::clone(weak_self),
                driven: Weak::<DatagramQp>::clone(weak_self),
                core: Arc::clone(core),
                lost: Arc::clone(lost),
                state: Mutex::new(state),
                polled_by: Mutex::default(),
            }
        });
        outcome?;
        queue_pair.join_completion_queues();
        let handle = Self(queue_pair);
        if let Some(DatagramBinding { port, .. }) = spec.verbs.binding {
            handle.0.open(|sockets, core, this, lost| sockets.bind(port, core, this, lost))?;
        }
        Ok(handle)
    }
}

impl State {
    /// Applies settings and returns those that they replace.
    ///
    /// # Errors
    /// As [`WorkQueues::apply`].
    pub(super) fn apply(
        &mut self,
        spec: &QueuePairSpec,
        weak_self: &Weak<DatagramQp>,
    ) -> Result<Replaced> {
        // The leases are counted by the completion queues that are replaced.
        self.lease.end(&self.queues);
        self.lease.resume();
        let user = Arc::new(QpRef(Weak::clone(weak_self)));
        let queues = self.queues.apply(spec, user)?;
        Ok((std::mem::replace(&mut self.sink, Arc::clone(&spec.sink)), queues))
    }
}

impl DatagramQp {
    /// Makes polls of the completion queues receive datagrams, and no others.
    pub(super) fn join_completion_queues(self: &Arc<Self>) {
        let queues: Vec<_> = self.state.lock().queues.completion_queues().map(Arc::clone).collect();
        PolledBy::join(&mut self.polled_by.lock(), queues, self, &self.core);
    }
}
