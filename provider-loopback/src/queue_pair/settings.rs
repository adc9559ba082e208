//! Creates queue pairs, and changes the specification of unconnected ones.

use std::mem::replace;
use std::sync::Arc;

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{QueuePair, QueuePairSpec, Segment};
use dat_sync::{SlabArc, SlabWeak};

use super::Source;
use super::post::Post;
use super::receive::{Direction, Receives, SharedReceives};
use super::state::{Endpoint, Me, Receiver, Requester, Sq, State};
use super::{QpHandle, ReceiveWakeup};
use parking_lot::Mutex;

use crate::completion_queue::downcast;
use crate::completion_target::CompletionTarget;
use crate::credits::{Attachment, QueueCredits};
use crate::domain::{self, Membership};
use crate::fabric::{self, Host};
use crate::receive_ring::ReceiveRing;
use crate::ring::Ring;
use crate::shared_receive;
use crate::sync::BiasedLock;

pub(crate) fn create(host: &Arc<Host>, spec: &QueuePairSpec) -> Result<Box<dyn QueuePair>> {
    let number = fabric::queue_pair_id();
    let made = SlabArc::try_new_cyclic(|me| {
        let parts = Parts::new(spec, number, me)?;
        let mut requests = QueueCredits::new(spec.limits.max_requests);
        let mut room = QueueCredits::new(0);
        // None left by another way before.
        let _ = requests.attach(parts.request_place, 0);
        let _ = parts.receive_place.map(|place| room.attach(place, 0));
        let post = Post::new(&spec.limits, room, parts.shared.is_some());
        Ok(Endpoint {
            sq: BiasedLock::new(Sq {
                state: State::Unconnected,
                requests: parts.requests,
                room: requests,
                retired: false,
                service: spec.service,
                stride: spec.limits.max_request_segments,
                sink: Arc::clone(&spec.sink),
                memberships: memberships(&parts.domains, me),
            }),
            receiver: Receiver { wakeup: ReceiveWakeup::new(), post: BiasedLock::new(post) },
            rq: Direction::new(Receives {
                head: 0,
                ring: ReceiveRing::unallocated(),
                outlet: parts.receives,
                epochs: Arc::clone(&spec.epochs),
                domain: parts.domain,
                number,
                segments: Vec::new(),
                shared: parts.shared,
                me: SlabWeak::clone(me),
            }),
            number,
            rest: [0; 12],
            host: Arc::clone(host),
            peer: Mutex::default(),
            me: SlabWeak::clone(me),
        })
    })?;
    Ok(Box::new(QpHandle(made)))
}

/// Enters a queue pair among the users of domains.
fn memberships(
    domains: &[Option<Arc<domain::Domain>>; 2],
    user: &SlabWeak<Endpoint>,
) -> [Option<Membership>; 2] {
    let enter = |domain| Membership::new(domain, Arc::new(Me(SlabWeak::clone(user))));
    domains.each_ref().map(|one| one.as_ref().map(enter))
}

/// The objects of this provider that a specification names.
struct Parts {
    requests: Requester,
    request_place: Attachment,
    receives: CompletionTarget,
    /// None where receives are shared.
    receive_place: Option<Attachment>,
    shared: Option<Box<SharedReceives>>,
    domain: u32,
    domains: [Option<Arc<domain::Domain>>; 2],
}

impl Parts {
    fn new(spec: &QueuePairSpec, number: u32, me: &SlabWeak<Endpoint>) -> Result<Self> {
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
        let (out, back) = (
            downcast(spec.request_queue.as_deref(), Subtype::InvalidHandleEvdRequest)?,
            downcast(spec.receive_queue.as_deref(), Subtype::InvalidHandleEvdRecv)?,
        );
        let request_place = out.attach();
        let receive_place = shared.is_none().then(|| back.attach());
        let source = match (&receive_place, &shared) {
            (Some(place), _) => place.index(),
            (None, Some(shared)) => shared.attach(&back),
            (None, None) => 0,
        };
        let outlet = CompletionTarget::new(spec.tag, out, request_place.index());
        Ok(Self {
            requests: Requester { outlet, domain, epochs: Arc::clone(&spec.epochs), number },
            request_place,
            receives: CompletionTarget::new(spec.tag, Arc::clone(&back), source),
            receive_place,
            shared: shared.map(|queue| {
                Box::new(SharedReceives {
                    segments: vec![Segment::default(); queue.max_segments as usize].into(),
                    queue,
                    completions: back,
                    stalled: false,
                    me: Arc::new(Me(SlabWeak::clone(me))),
                })
            }),
            domain,
            domains,
        })
    }
}

impl Endpoint {
    /// Takes over another specification.
    pub(super) fn set(&self, spec: &QueuePairSpec) -> Result<()> {
        // Not under the locks, for it may take others.
        let parts = Parts::new(spec, self.number, &self.me)?;
        let mut sq = self.sq.lock();
        if sq.retired || !matches!(sq.state, State::Unconnected) {
            return Err(sq.state.refusal());
        }
        let mut post = self.receiver.post.lock();
        let mut rq = self.rq.lock();
        let receives = &mut rq.receives;
        for (used, max) in [
            (sq.room.in_use(), spec.limits.max_requests),
            (post.room.in_use(), spec.limits.max_receives),
        ] {
            if used > max {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!(
                        "{used} operations are outstanding, more than the new limit \
                         of {max}"
                    )));
            }
        }
        let memberships = memberships(&parts.domains, &receives.me);
        if !post.ring.is_unallocated() {
            let size = (post.room.capacity(), spec.limits.max_receive_segments);
            post.ring = post.ring.enlarged(receives.head..post.tail, size);
        }
        if parts.shared.is_some() {
            // There is no ring then; what was posted is gone with it.
            post.ring = ReceiveRing::unallocated();
            post.room.resize(0);
            receives.head = post.tail;
        }
        receives.ring = post.ring.clone();
        post.is_shared = parts.shared.is_some();
        post.limit(&spec.limits);
        let end = receives.outlet.queue().tail();
        let over = parts.receive_place.map(|place| post.room.attach(place, end));
        receives.domain = parts.domain;
        receives.epochs = Arc::clone(&spec.epochs);
        sq.room.resize(spec.limits.max_requests);
        let end = sq.requests.outlet.queue().tail();
        let over = (over, sq.room.attach(parts.request_place, end));
        sq.stride = spec.limits.max_request_segments;
        sq.service = spec.service;
        let before = (
            over,
            replace(&mut receives.outlet, parts.receives),
            replace(&mut receives.shared, parts.shared),
            replace(&mut sq.requests, parts.requests),
            replace(&mut sq.memberships, memberships),
            replace(&mut sq.sink, Arc::clone(&spec.sink)),
        );
        drop(rq);
        drop(post);
        drop(sq);
        // Sinks may own more than this provider knows of, so they go without the locks.
        drop(before);
        Ok(())
    }
}

impl Sq {
    /// This queue pair as the origin of requests on a connection.
    pub(crate) fn source(&self, link: u64, me: &SlabArc<Endpoint>) -> Source {
        Source {
            link,
            peer: SlabArc::clone(me),
            requester: self.requests.clone(),
            waiting: Ring::new(self.room.capacity(), self.stride),
            closing: false,
        }
    }
}
