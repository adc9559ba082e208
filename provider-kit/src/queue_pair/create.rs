//! The settings of a queue pair, applied when it is created or modified.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result};
use dat_provider::{ConnectionSink, QueuePairSpec};
use dat_sync::Mutex;
use dat_sync::biased::BiasedLock;

use super::handle::QpHandle;
use super::{Phase, QpRef, QpState, SoftQp};
use crate::attached_srq::AttachedSrq;
use crate::completion_target::CompletionTarget;
use crate::credits::Attachment;
use crate::domain::Membership;
use crate::progress::Core;
use crate::regions;
use crate::ring::Ring;
use crate::spec_objects::{SpecObjects, check_limits};
use crate::work_queues::WorkQueues;

/// The settings that were replaced. Dropping them takes locks of other objects, so the lock of the
/// queue pair must be released before.
pub(super) struct Replaced {
    _sink: Arc<dyn ConnectionSink>,
    _memberships: [Option<Membership>; 2],
    _shared: Option<AttachedSrq>,
    _attachments: Vec<Attachment>,
}

impl QpHandle {
    /// Creates a queue pair.
    ///
    /// # Errors
    /// An object of the settings belongs to another provider.
    pub(super) fn create(core: &Arc<Core>, spec: &QueuePairSpec) -> Result<Self> {
        let number = regions::queue_pair_id();
        let mut outcome = Ok(());
        let queue_pair = Arc::new_cyclic(|weak_self: &Weak<SoftQp>| {
            let mut state = QpState {
                phase: Phase::Unconnected,
                attempt: 0,
                local_port: 0,
                dialling: None,
                conn: None,
                queues: WorkQueues::unconfigured(number),
                is_closing: false,
                is_retired: false,
                sink: Arc::clone(&spec.sink),
                memberships: [None, None],
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
    /// More operations are outstanding than a new limit allows, an object belongs to another provider, or
    /// there is no memory for the receives.
    pub(super) fn apply(
        &mut self,
        spec: &QueuePairSpec,
        weak_self: &Weak<SoftQp>,
    ) -> Result<Replaced> {
        check_limits(&spec.limits, &self.queues.credits, &self.queues.receives.credits)?;
        let SpecObjects { domains, request_cq, receive_cq, shared } = SpecObjects::new(spec)?;
        let limits = &spec.limits;
        let ring = &mut self.queues.receives.ring;
        if shared.is_none() && !ring.reallocate(limits.max_receives, limits.max_receive_segments) {
            return Err(Error::no_memory("the receives of the endpoint"));
        }
        let user = Arc::new(QpRef(Weak::clone(weak_self)));
        let memberships = domains.memberships(&(Arc::clone(&user) as _));
        let queues = &mut self.queues;
        let attachment = request_cq.attach();
        let end = queues.requests.queue().tail();
        queues.requests = CompletionTarget::new(spec.tag, request_cq, attachment.index());
        queues.credits.resize(spec.limits.max_requests);
        let mut drained = queues.credits.attach(attachment, end);
        let receives = &mut queues.receives;
        let end = receives.target.queue().tail();
        let old_srq = if let Some(queue) = shared {
            let shared = AttachedSrq::new(queue, receive_cq, user);
            receives.target = shared.target(spec.tag);
            receives.ring = Ring::new(0, 0);
            receives.credits.resize(0);
            receives.shared.replace(shared)
        } else {
            let attachment = receive_cq.attach();
            receives.target = CompletionTarget::new(spec.tag, receive_cq, attachment.index());
            receives.credits.resize(limits.max_receives);
            drained.extend(receives.credits.attach(attachment, end));
            receives.shared.take()
        };
        receives.domain = domains.id();
        receives.epochs = Arc::clone(&spec.epochs);
        queues.domain = domains.id();
        queues.max_reads = (limits.max_reads_in.max(1), limits.max_reads_out.max(1));
        let sink = std::mem::replace(&mut self.sink, Arc::clone(&spec.sink));
        let memberships = std::mem::replace(&mut self.memberships, memberships);
        Ok(Replaced {
            _sink: sink,
            _memberships: memberships,
            _shared: old_srq,
            _attachments: drained,
        })
    }
}
