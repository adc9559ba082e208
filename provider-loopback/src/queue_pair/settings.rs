//! Making queue pairs, and making them anew.

use std::mem::replace;
use std::sync::{Arc, Weak};

use dat_core::error::{Error, Result, ReturnType, Subtype};
use dat_core::provider::{QueuePair, QueuePairSpec, Segment};
use parking_lot::Mutex;

use super::receive::{Inbound, Receives, Rq, SharedReceives};
use super::state::{Endpoint, Requester, Sq, State};
use super::{Handle, Source};
use crate::domain::{self, Membership};
use crate::fabric::{self, Host};
use crate::outlet::{Credits, Outlet, Room};
use crate::ring::Ring;
use crate::shared_receive;

pub(crate) fn create(host: &Arc<Host>, spec: &QueuePairSpec) -> Result<Arc<dyn QueuePair>> {
    let requests = Room::new(spec.limits.max_requests);
    let receives = Room::new(spec.limits.max_receives);
    let number = fabric::serial();
    let parts = Parts::new(spec, number, &requests.credits, &receives.credits)?;
    let endpoint = Arc::new_cyclic(|me| Endpoint {
        number,
        host: Arc::clone(host),
        sq: Mutex::new(Sq {
            state: State::Unconnected,
            retired: false,
            service: spec.service,
            room: requests,
            requests: parts.requests,
            stride: spec.limits.max_request_segments,
            sink: Arc::clone(&spec.sink),
            memberships: parts.domains.iter().map(|one| Membership::new(one, me)).collect(),
        }),
        rq: Mutex::new(Rq {
            inbound: Inbound::Idle,
            receives: Receives {
                ring: Ring::new(spec.limits.max_receives, spec.limits.max_receive_segments),
                room: receives,
                outlet: parts.receives,
                domain: parts.domain,
                number,
                shared: parts.shared,
                me: Weak::clone(me),
            },
        }),
    });
    Ok(Arc::new(Handle { endpoint }))
}

/// What a specification stands for in objects of this provider.
struct Parts {
    requests: Requester,
    receives: Arc<Outlet>,
    shared: Option<SharedReceives>,
    domain: u64,
    domains: Vec<Arc<domain::Domain>>,
}

impl Parts {
    fn new(
        spec: &QueuePairSpec,
        number: u32,
        requests: &Arc<Credits>,
        own: &Arc<Credits>,
    ) -> Result<Self> {
        let mut domains = Vec::new();
        if let Some(domain) = &spec.domain {
            domains.push(domain::find(&**domain)?);
        }
        let domain = domains.first().map_or(0, |domain| domain.id);
        let mut receive_credits = own;
        let shared = match &spec.shared_receives {
            Some(queue) => Some(shared_receive::find(&**queue)?),
            None => None,
        };
        if let Some(queue) = &shared {
            queue.expect_user();
            receive_credits = &queue.credits;
            if queue.domain.id != domain {
                domains.push(Arc::clone(&queue.domain));
            }
        }
        let outlet = Outlet::new(
            spec.tag,
            Arc::clone(requests),
            spec.request_queue.as_deref(),
            Subtype::InvalidHandleEvdRequest,
        )?;
        Ok(Self {
            requests: Requester { outlet, domain, number },
            receives: Outlet::new(
                spec.tag,
                Arc::clone(receive_credits),
                spec.receive_queue.as_deref(),
                Subtype::InvalidHandleEvdRecv,
            )?,
            shared: shared.map(|queue| SharedReceives {
                segments: vec![Segment::default(); queue.max_segments as usize].into(),
                queue,
                stalled: false,
            }),
            domain,
            domains,
        })
    }
}

impl Endpoint {
    pub(super) fn modify(&self, spec: &QueuePairSpec) -> Result<()> {
        let mut sq = self.sq.lock();
        if sq.retired || !matches!(sq.state, State::Unconnected) {
            return Err(sq.state.refusal());
        }
        let mut rq = self.rq.lock();
        let receives = &mut rq.receives;
        let parts = Parts::new(spec, self.number, &sq.room.credits, &receives.room.credits)?;
        for (used, max) in [
            (sq.room.used(), spec.limits.max_requests),
            (receives.room.used(), spec.limits.max_receives),
        ] {
            if used > max {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!("{used} operations are outstanding, {max} would fit")));
            }
        }
        let memberships =
            parts.domains.iter().map(|one| Membership::new(one, &receives.me)).collect();
        receives.ring.relay(spec.limits.max_receives, spec.limits.max_receive_segments);
        receives.room.max = spec.limits.max_receives;
        receives.domain = parts.domain;
        sq.room.max = spec.limits.max_requests;
        sq.stride = spec.limits.max_request_segments;
        sq.service = spec.service;
        let before = (
            replace(&mut receives.outlet, parts.receives),
            replace(&mut receives.shared, parts.shared),
            replace(&mut sq.requests, parts.requests),
            replace(&mut sq.memberships, memberships),
            replace(&mut sq.sink, Arc::clone(&spec.sink)),
        );
        drop(rq);
        drop(sq);
        // Sinks may own more than this provider knows of, so they go without the locks.
        drop(before);
        Ok(())
    }
}

impl Sq {
    /// This queue pair as the origin of requests on a connection.
    pub(crate) fn source(&self, link: u64, me: &Arc<Endpoint>) -> Source {
        Source {
            link,
            peer: Arc::clone(me),
            requester: self.requests.clone(),
            waiting: Ring::new(self.room.max, self.stride),
            closing: false,
        }
    }
}
