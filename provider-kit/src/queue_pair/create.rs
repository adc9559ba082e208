//! The settings of a queue pair, applied when it is created or modified.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Weak};

use dat_provider::error::Result;
use dat_provider::{ConnectionSink, QueuePairSpec};
use dat_sync::Mutex;
use dat_sync::biased::BiasedLock;

use super::handle::QpHandle;
use super::{Phase, QpRef, QpState, SoftQp};
use crate::datagram_counts::DatagramCounts;
use crate::progress::Core;
use crate::protocol::SendQueue;
use crate::regions;
use crate::work_queues::{ReplacedQueues, WorkQueues};

/// The replaced settings. Dropping them takes locks of other objects, so release the lock of the
/// queue pair first.
pub(super) type Replaced = (Arc<dyn ConnectionSink>, ReplacedQueues);

impl QpHandle {
    /// Creates a queue pair.
    ///
    /// # Errors
    /// An object of the settings belongs to another provider.
    pub(super) fn create(
        core: &Arc<Core>,
        lost: &Arc<DatagramCounts>,
        spec: &QueuePairSpec,
    ) -> Result<Self> {
        let number = regions::queue_pair_id();
        let mut outcome = Ok(());
        let queue_pair = Arc::new_cyclic(|weak_self: &Weak<SoftQp>| {
            let mut state = QpState {
                phase: Phase::Unconnected,
                attempt: 0,
                local_port: 0,
                dialling: None,
                conn: None,
                kept: SendQueue::default(),
                queues: WorkQueues::unconfigured(number),
                is_closing: false,
                is_retired: false,
                lost: Arc::clone(lost),
                sink: Arc::clone(&spec.sink),
                break_cause: None,
                events: VecDeque::new(),
                is_delivering: false,
            };
            outcome = state.apply(spec, weak_self).map(drop);
            SoftQp {
                weak_self: Weak::clone(weak_self),
                core: Arc::clone(core),
                state: BiasedLock::new(state),
                polled_by: Mutex::default(),
                polls_seen: AtomicU64::new(0),
                waits_for_doorbell: AtomicBool::new(false),
                refusals: AtomicU32::new(0),
                thread_waits: AtomicBool::new(false),
            }
        });
        outcome?;
        queue_pair.join_completion_queues();
        Ok(Self(queue_pair))
    }
}

impl QpState {
    /// Applies settings and returns those that they replace.
    ///
    /// # Errors
    /// As [`WorkQueues::apply`].
    pub(super) fn apply(
        &mut self,
        spec: &QueuePairSpec,
        weak_self: &Weak<SoftQp>,
    ) -> Result<Replaced> {
        let user = Arc::new(QpRef(Weak::clone(weak_self)));
        let queues = self.queues.apply(spec, user)?;
        Ok((std::mem::replace(&mut self.sink, Arc::clone(&spec.sink)), queues))
    }
}
