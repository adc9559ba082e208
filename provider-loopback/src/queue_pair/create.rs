//! Creating queue pairs, and changing the specification of unconnected ones.

use std::mem::replace;
use std::sync::Arc;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{QueuePair, QueuePairSpec, Segment};
use dat_provider_kit::completion_queue::downcast;
use dat_provider_kit::completion_target::CompletionTarget;
use dat_provider_kit::credits::{Attachment, QueueCredits};
use dat_provider_kit::domain::{self, Domain, Membership};
use dat_provider_kit::receive_ring::ReceiveRing;
use dat_provider_kit::receive_wakeup::ReceiveWakeup;
use dat_provider_kit::regions::queue_pair_id;
use dat_provider_kit::shared_receive;
use dat_provider_kit::sync::BiasedLock;
use dat_sync::{SlabArc, SlabWeak};
use parking_lot::Mutex;

use super::QpHandle;
use super::connection_state::ConnectionState;
use super::qp::{LoopbackQp, QpRef};
use super::receive_poster::{PosterState, ReceivePoster};
use super::receive_queue::{AttachedSrq, ReceiveQueue};
use super::request_context::RequestContext;
use super::responder::ResponderLock;
use super::send_queue::SendQueue;
use crate::fabric::Host;

/// Creates a queue pair.
pub(crate) fn create(host: &Arc<Host>, spec: &QueuePairSpec) -> Result<Box<dyn QueuePair>> {
    let number = queue_pair_id();
    let qp = SlabArc::try_new_cyclic(|weak_self| {
        let resolved = ResolvedSpec::new(spec, number, weak_self)?;
        let mut request_credits = QueueCredits::new(spec.limits.max_requests);
        let mut receive_credits = QueueCredits::new(0);
        // The attachments that this replaces: none yet.
        let _ = request_credits.attach(resolved.request_attachment, 0);
        let _ = resolved.receive_attachment.map(|attachment| receive_credits.attach(attachment, 0));
        let poster = PosterState::new(&spec.limits, receive_credits, resolved.shared.is_some());
        Ok(LoopbackQp {
            send_queue: BiasedLock::new(SendQueue {
                state: ConnectionState::Unconnected,
                credits: request_credits,
                context: resolved.context,
                is_retired: false,
                service: spec.service,
                max_segments: spec.limits.max_request_segments,
                sink: Arc::clone(&spec.sink),
                memberships: memberships(&resolved.domains, weak_self),
            }),
            poster: ReceivePoster { wakeup: ReceiveWakeup::new(), state: BiasedLock::new(poster) },
            responder: ResponderLock::new(ReceiveQueue {
                head: 0,
                ring: ReceiveRing::unallocated(),
                target: resolved.receive_target,
                epochs: Arc::clone(&spec.epochs),
                domain: resolved.domain,
                qp_number: number,
                segments: Vec::new(),
                shared: resolved.shared,
            }),
            number,
            padding: [0; 12],
            host: Arc::clone(host),
            peer: Mutex::default(),
            weak_self: SlabWeak::clone(weak_self),
        })
    })?;
    Ok(Box::new(QpHandle(qp)))
}

/// Adds a queue pair to the users of domains.
fn memberships(
    domains: &[Option<Arc<Domain>>; 2],
    user: &SlabWeak<LoopbackQp>,
) -> [Option<Membership>; 2] {
    let join = |domain| Membership::new(domain, Arc::new(QpRef(SlabWeak::clone(user))));
    domains.each_ref().map(|domain| domain.as_ref().map(join))
}

/// The objects of this provider that a specification names.
struct ResolvedSpec {
    context: RequestContext,
    request_attachment: Attachment,
    receive_target: CompletionTarget,
    /// Absent if receives are shared.
    receive_attachment: Option<Attachment>,
    shared: Option<Box<AttachedSrq>>,
    /// Id of the domain of the queue pair, or 0.
    domain: u32,
    /// The domain of the queue pair, and that of its shared receive queue if it is another one.
    domains: [Option<Arc<Domain>>; 2],
}

impl ResolvedSpec {
    fn new(spec: &QueuePairSpec, number: u32, weak_self: &SlabWeak<LoopbackQp>) -> Result<Self> {
        let own = spec.domain.as_ref().map(|domain| domain::downcast(&**domain)).transpose()?;
        let domain = own.as_ref().map_or(0, |domain| domain.id);
        let mut domains = [own, None];
        let shared = match &spec.shared_receives {
            Some(queue) => Some(shared_receive::downcast(&**queue)?),
            None => None,
        };
        if let Some(queue) = &shared {
            if queue.domain.id != domain {
                domains[1] = Some(Arc::clone(&queue.domain));
            }
        }
        let (request_cq, receive_cq) = (
            downcast(spec.request_queue.as_deref(), Subtype::InvalidHandleEvdRequest)?,
            downcast(spec.receive_queue.as_deref(), Subtype::InvalidHandleEvdRecv)?,
        );
        let request_attachment = request_cq.attach();
        let receive_attachment = shared.is_none().then(|| receive_cq.attach());
        let work_queue = match (&receive_attachment, &shared) {
            (Some(attachment), _) => attachment.index(),
            (None, Some(shared)) => shared.attach(&receive_cq),
            (None, None) => 0,
        };
        let target = CompletionTarget::new(spec.tag, request_cq, request_attachment.index());
        Ok(Self {
            context: RequestContext {
                target,
                domain,
                epochs: Arc::clone(&spec.epochs),
                qp_number: number,
            },
            request_attachment,
            receive_target: CompletionTarget::new(spec.tag, Arc::clone(&receive_cq), work_queue),
            receive_attachment,
            shared: shared.map(|queue| {
                Box::new(AttachedSrq {
                    segments: vec![Segment::default(); queue.max_segments as usize].into(),
                    queue,
                    cq: receive_cq,
                    is_stalled: false,
                    resume: Arc::new(QpRef(SlabWeak::clone(weak_self))),
                })
            }),
            domain,
            domains,
        })
    }
}

impl LoopbackQp {
    /// Replaces the specification.
    pub(super) fn modify(&self, spec: &QueuePairSpec) -> Result<()> {
        // Without the locks, because it may take others.
        let resolved = ResolvedSpec::new(spec, self.number, &self.weak_self)?;
        let mut send_queue = self.send_queue.lock();
        if send_queue.is_retired || !matches!(send_queue.state, ConnectionState::Unconnected) {
            return Err(send_queue.state.error());
        }
        let mut poster = self.poster.state.lock();
        let mut responder = self.responder.lock();
        let receives = &mut responder.receives;
        for (used, max) in [
            (send_queue.credits.in_use(), spec.limits.max_requests),
            (poster.credits.in_use(), spec.limits.max_receives),
        ] {
            if used > max {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!(
                        "{used} operations are outstanding, more than the new limit of {max}"
                    )));
            }
        }
        let memberships = memberships(&resolved.domains, &self.weak_self);
        if !poster.ring.is_unallocated() {
            let size = (poster.credits.capacity(), spec.limits.max_receive_segments);
            poster.ring = poster.ring.enlarged(receives.head..poster.tail, size);
        }
        if resolved.shared.is_some() {
            // The posted receives are dropped with the ring.
            poster.ring = ReceiveRing::unallocated();
            poster.credits.resize(0);
            receives.head = poster.tail;
        }
        receives.ring = poster.ring.clone();
        poster.is_shared = resolved.shared.is_some();
        poster.set_limits(&spec.limits);
        let end = receives.target.queue().tail();
        let replaced =
            resolved.receive_attachment.map(|attachment| poster.credits.attach(attachment, end));
        receives.domain = resolved.domain;
        receives.epochs = Arc::clone(&spec.epochs);
        send_queue.credits.resize(spec.limits.max_requests);
        let end = send_queue.context.target.queue().tail();
        let replaced = (replaced, send_queue.credits.attach(resolved.request_attachment, end));
        send_queue.max_segments = spec.limits.max_request_segments;
        send_queue.service = spec.service;
        let before = (
            replaced,
            replace(&mut receives.target, resolved.receive_target),
            replace(&mut receives.shared, resolved.shared),
            replace(&mut send_queue.context, resolved.context),
            replace(&mut send_queue.memberships, memberships),
            replace(&mut send_queue.sink, Arc::clone(&spec.sink)),
        );
        drop(responder);
        drop(poster);
        drop(send_queue);
        // Sinks may own anything, so they are dropped without the locks.
        drop(before);
        Ok(())
    }
}
