//! The objects that the specification of a queue pair refers to.

use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::{QueuePairLimits, QueuePairSpec};

use crate::completion_queue::{self, Cq};
use crate::credits::QueueCredits;
use crate::domain::{self, Domain, DomainUser, Membership};
use crate::shared_receive::{self, Srq};

/// This crate's objects behind those of the contract.
pub struct SpecObjects {
    /// The protection domains.
    pub domains: QpDomains,
    /// The completion queue of requests.
    pub request_cq: Arc<Cq>,
    /// The completion queue of receives.
    pub receive_cq: Arc<Cq>,
    /// The shared receive queue, if the queue pair uses one.
    pub shared: Option<Arc<Srq>>,
}

/// The domain of a queue pair, and the domain of its shared receive queue if it differs.
pub struct QpDomains([Option<Arc<Domain>>; 2]);

impl SpecObjects {
    /// Resolves the objects of a specification.
    ///
    /// # Errors
    /// One of them belongs to another provider.
    pub fn new(spec: &QueuePairSpec) -> Result<Self> {
        let own = spec.domain.as_ref().map(|domain| domain::downcast(&**domain)).transpose()?;
        let shared = match &spec.shared_receives {
            Some(queue) => Some(shared_receive::downcast(&**queue)?),
            None => None,
        };
        let request_cq = completion_queue::downcast(
            spec.request_queue.as_deref(),
            Subtype::InvalidHandleEvdRequest,
        )?;
        let receive_cq = completion_queue::downcast(
            spec.receive_queue.as_deref(),
            Subtype::InvalidHandleEvdRecv,
        )?;
        let id = own.as_ref().map_or(0, |domain| domain.id);
        let other = shared.as_ref().map(|queue| &queue.domain).filter(|domain| domain.id != id);
        let domains = QpDomains([own, other.map(Arc::clone)]);
        Ok(Self { domains, request_cq, receive_cq, shared })
    }
}

impl QpDomains {
    /// Id of the domain of the queue pair; 0, which owns no memory, if it has none.
    pub fn id(&self) -> u32 {
        self.0[0].as_ref().map_or(0, |domain| domain.id)
    }

    /// Adds the queue pair to the users of its domains.
    pub fn memberships(&self, user: &Arc<dyn DomainUser>) -> [Option<Membership>; 2] {
        let join = |domain| Membership::new(domain, Arc::clone(user));
        self.0.each_ref().map(|domain| domain.as_ref().map(join))
    }
}

/// Checks new limits of a queue pair.
///
/// # Errors
/// More operations are outstanding than a limit allows.
pub fn check_limits(
    limits: &QueuePairLimits,
    requests: &QueueCredits,
    receives: &QueueCredits,
) -> Result<()> {
    for (used, max) in
        [(requests.in_use(), limits.max_requests), (receives.in_use(), limits.max_receives)]
    {
        if used > max {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                .because(format!(
                    "{used} operations are outstanding, more than the new limit of {max}"
                )));
        }
    }
    Ok(())
}
