//! The settings of the work queues, applied when a queue pair is created or modified.

use std::sync::Arc;

use dat_provider::error::{Error, Result};
use dat_provider::{QueuePairSpec, Service};

use super::WorkQueues;
use crate::attached_srq::AttachedSrq;
use crate::completion_target::CompletionTarget;
use crate::credits::Attachment;
use crate::domain::{DomainUser, Membership};
use crate::ring::Ring;
use crate::shared_receive::Resume;
use crate::spec_objects::{SpecObjects, check_limits};

/// Memberships in the domain of a queue pair and of its shared receive queue.
pub(super) type Memberships = [Option<Membership>; 2];

/// The replaced objects. Dropping them takes locks of other objects, so release the lock of the queue pair first.
pub(crate) struct ReplacedQueues {
    _memberships: Memberships,
    _shared: Option<AttachedSrq>,
    _attachments: Vec<Attachment>,
}

impl WorkQueues {
    /// Applies the settings of a queue pair, which `user` refers to. Returns the replaced objects.
    ///
    /// # Errors
    /// More operations are outstanding than a new limit allows, an object belongs to another provider, or
    /// there is no memory for the receives.
    pub(crate) fn apply<U: DomainUser + Resume + 'static>(
        &mut self,
        spec: &QueuePairSpec,
        user: Arc<U>,
    ) -> Result<ReplacedQueues> {
        check_limits(&spec.limits, &self.credits, &self.receives.credits)?;
        let SpecObjects { domains, request_cq, receive_cq, shared } = SpecObjects::new(spec)?;
        let limits = &spec.limits;
        let ring = &mut self.receives.ring;
        if shared.is_none() && !ring.reallocate(limits.max_receives, limits.max_receive_segments) {
            return Err(Error::no_memory("the receives of the endpoint"));
        }
        let memberships = domains.memberships(&(Arc::clone(&user) as _));
        let attachment = request_cq.attach();
        let end = self.requests.queue().tail();
        self.requests = CompletionTarget::new(spec.tag, request_cq, attachment.index());
        self.credits.resize(spec.limits.max_requests);
        let mut drained = self.credits.attach(attachment, end);
        let receives = &mut self.receives;
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
        self.domain = domains.id();
        self.losses = spec.verbs.losses;
        self.is_unreliable = spec.service == Service::UnreliableConnection;
        self.max_reads = (limits.max_reads_in.max(1), limits.max_reads_out.max(1));
        let memberships = std::mem::replace(&mut self.memberships, memberships);
        Ok(ReplacedQueues { _memberships: memberships, _shared: old_srq, _attachments: drained })
    }
}
