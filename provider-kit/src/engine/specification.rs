//! What a queue pair is specified by.

use std::sync::{Arc, Weak};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{ConnectionSink, QueuePairSpec};

use super::pair::{Inner, Me, Pair};
use super::receives::{Receives, SharedReceives};
use super::side::Side;
use crate::completion_queue::downcast;
use crate::completion_target::CompletionTarget;
use crate::credits::{Attachment, QueueCredits};
use crate::domain::{self, Membership};
use crate::ring::Ring;
use crate::shared_receive;

/// What a specification replaced. Its drop calls objects that take locks of their own, so the lock
/// of the queue pair is released before.
pub(super) struct Replaced {
    _sink: Arc<dyn ConnectionSink>,
    _memberships: [Option<Membership>; 2],
    _shared: Option<SharedReceives>,
    _places: Vec<Attachment>,
}

/// The side of a queue pair without a specification.
pub(super) fn nowhere(number: u32) -> Side {
    let outlet = || {
        let queue = downcast(None, Subtype::NoSubtype).unwrap_or_else(|_| unreachable!());
        let place = queue.attach();
        (CompletionTarget::new(0, queue, place.index()), place)
    };
    let ((requests, _), (receives, _)) = (outlet(), outlet());
    Side {
        requests,
        room: QueueCredits::new(0),
        receives: Receives {
            ring: Ring::new(0, 0),
            room: QueueCredits::new(0),
            outlet: receives,
            shared: None,
            domain: 0,
        },
        domain: 0,
        number,
        reads: (0, 0),
    }
}

impl Inner {
    /// Takes over a specification. Returns what it replaces.
    pub(super) fn set(&mut self, spec: &QueuePairSpec, me: &Weak<Pair>) -> Result<Replaced> {
        for (used, max) in [
            (self.side.room.in_use(), spec.limits.max_requests),
            (self.side.receives.room.in_use(), spec.limits.max_receives),
        ] {
            if used > max {
                return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                    .because(format!(
                        "{used} operations are outstanding, more than the new limit of {max}"
                    )));
            }
        }
        let own = spec.domain.as_ref().map(|domain| domain::downcast(&**domain)).transpose()?;
        let shared = match &spec.shared_receives {
            Some(queue) => Some(shared_receive::downcast(&**queue)?),
            None => None,
        };
        let out = downcast(spec.request_queue.as_deref(), Subtype::InvalidHandleEvdRequest)?;
        let back = downcast(spec.receive_queue.as_deref(), Subtype::InvalidHandleEvdRecv)?;
        let id = own.as_ref().map_or(0, |domain| domain.id);
        let other = shared.as_ref().filter(|queue| queue.domain.id != id);
        let other = other.map(|queue| Arc::clone(&queue.domain));
        let enter = |domain| Membership::new(&domain, Arc::new(Me(Weak::clone(me))));
        let memberships = [own.map(enter), other.map(enter)];
        let side = &mut self.side;
        let place = out.attach();
        let end = side.requests.queue().tail();
        side.requests = CompletionTarget::new(spec.tag, out, place.index());
        side.room.resize(spec.limits.max_requests);
        let mut over = side.room.attach(place, end);
        let receives = &mut side.receives;
        let end = receives.outlet.queue().tail();
        let limits = &spec.limits;
        let before = if let Some(queue) = shared {
            let source = queue.attach(&back);
            receives.outlet = CompletionTarget::new(spec.tag, Arc::clone(&back), source);
            receives.ring = Ring::new(0, 0);
            receives.room.resize(0);
            let me = Arc::new(Me(Weak::clone(me)));
            let shared = SharedReceives { queue, completions: back, stalled: false, me };
            receives.shared.replace(shared)
        } else {
            let place = back.attach();
            receives.outlet = CompletionTarget::new(spec.tag, back, place.index());
            receives.ring.reallocate(limits.max_receives, limits.max_receive_segments);
            receives.room.resize(limits.max_receives);
            over.extend(receives.room.attach(place, end));
            receives.shared.take()
        };
        receives.domain = id;
        side.domain = id;
        side.reads = (limits.max_reads_in.max(1), limits.max_reads_out.max(1));
        let sink = std::mem::replace(&mut self.sink, Arc::clone(&spec.sink));
        let memberships = std::mem::replace(&mut self.memberships, memberships);
        Ok(Replaced { _sink: sink, _memberships: memberships, _shared: before, _places: over })
    }
}
