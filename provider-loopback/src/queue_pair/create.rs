//! Creating queue pairs, and changing the specification of unconnected ones.

use std::mem::replace;
use std::sync::Arc;

use dat_provider::error::{Error, Result};
use dat_provider::{QueuePair, QueuePairSpec};
use dat_provider_kit::attached_srq::AttachedSrq;
use dat_provider_kit::completion_target::CompletionTarget;
use dat_provider_kit::credits::{Attachment, QueueCredits};
use dat_provider_kit::domain::Membership;
use dat_provider_kit::receive_ring::ReceiveRing;
use dat_provider_kit::receive_wakeup::ReceiveWakeup;
use dat_provider_kit::regions::queue_pair_id;
use dat_provider_kit::spec_objects::{QpDomains, SpecObjects, check_limits};
use dat_provider_kit::sync::BiasedLock;
use dat_sync::Mutex;
use dat_sync::{SlabArc, SlabWeak};

use super::QpHandle;
use super::connection_state::ConnectionState;
use super::patience::Patience;
use super::qp::{LoopbackQp, QpRef};
use super::receive_poster::{PosterState, ReceivePoster};
use super::receive_queue::ReceiveQueue;
use super::request_context::RequestContext;
use super::responder::ResponderLock;
use super::send_queue::SendQueue;
use crate::fabric::Host;

/// Creates a queue pair.
pub(crate) fn create(host: &Arc<Host>, spec: &QueuePairSpec) -> Result<Box<dyn QueuePair>> {
    let number = queue_pair_id();
    let make = |weak_self: &SlabWeak<LoopbackQp>| {
        let resolved = ResolvedSpec::new(spec, number, weak_self)?;
        let memberships = resolved.memberships();
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
                patience: Patience::default(),
                max_segments: spec.limits.max_request_segments,
                sink: Arc::clone(&spec.sink),
                memberships,
            }),
            poster: ReceivePoster { wakeup: ReceiveWakeup::new(), state: BiasedLock::new(poster) },
            responder: ResponderLock::new(ReceiveQueue {
                head: 0,
                ring: ReceiveRing::unallocated(),
                target: resolved.receive_target,
                epochs: Arc::clone(&spec.epochs),
                bytes_in: 0,
                bytes_out: 0,
                domain: resolved.domains.id(),
                qp_number: number,
                segments: Vec::new(),
                shared: resolved.shared,
            }),
            number,
            padding: [0; 4],
            host: Arc::clone(host),
            peer: Mutex::default(),
            weak_self: SlabWeak::clone(weak_self),
        })
    };
    let qp = SlabArc::try_new_cyclic(make, || Error::no_memory("the endpoint"))?;
    Ok(Box::new(QpHandle(qp)))
}

/// The parts of a queue pair that follow from a specification.
struct ResolvedSpec {
    domains: QpDomains,
    context: RequestContext,
    request_attachment: Attachment,
    receive_target: CompletionTarget,
    /// Absent if receives are shared.
    receive_attachment: Option<Attachment>,
    shared: Option<Box<AttachedSrq>>,
    user: Arc<QpRef>,
}

impl ResolvedSpec {
    fn new(spec: &QueuePairSpec, number: u32, weak_self: &SlabWeak<LoopbackQp>) -> Result<Self> {
        spec.check_needed_by_dat()?;
        let SpecObjects { domains, request_cq, receive_cq, shared } = SpecObjects::new(spec)?;
        let user = Arc::new(QpRef(SlabWeak::clone(weak_self)));
        let request_attachment = request_cq.attach();
        let context = RequestContext {
            target: CompletionTarget::new(spec.tag, request_cq, request_attachment.index()),
            domain: domains.id(),
            epochs: Arc::clone(&spec.epochs),
            qp_number: number,
        };
        let (receive_target, receive_attachment, shared) = if let Some(queue) = shared {
            let shared = AttachedSrq::new(queue, receive_cq, Arc::clone(&user) as _);
            (shared.target(spec.tag), None, Some(Box::new(shared)))
        } else {
            let attachment = receive_cq.attach();
            let target = CompletionTarget::new(spec.tag, receive_cq, attachment.index());
            (target, Some(attachment), None)
        };
        Ok(Self {
            domains,
            context,
            request_attachment,
            receive_target,
            receive_attachment,
            shared,
            user,
        })
    }

    /// Adds the queue pair to the users of its domains.
    fn memberships(&self) -> [Option<Membership>; 2] {
        self.domains.memberships(&(Arc::clone(&self.user) as _))
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
        check_limits(&spec.limits, &send_queue.credits, &poster.credits)?;
        let memberships = resolved.memberships();
        if !poster.ring.is_unallocated() {
            let size = (poster.credits.capacity(), spec.limits.max_receive_segments);
            let enlarged = poster.ring.enlarged(receives.head..poster.tail, size);
            poster.ring =
                enlarged.ok_or_else(|| Error::no_memory("the receives of the endpoint"))?;
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
        receives.domain = resolved.domains.id();
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
