//! Service points of every kind, as connection requests see them.

use std::sync::Arc;

use crate::csp::CspInner;
use crate::ia::{Child, IaInner};
use crate::provider::Incoming;
use crate::psp::PspInner;
use crate::rsp::RspInner;

/// A service point that listens.
pub(crate) enum Listening {
    Public(Arc<PspInner>),
    Reserved(Arc<RspInner>),
    Common(Arc<CspInner>),
}

impl Listening {
    /// Lets a request arrive; gives it back when it can't be delivered.
    pub(crate) fn arrived(&self, incoming: Box<dyn Incoming>) -> Result<(), Box<dyn Incoming>> {
        match self {
            Self::Public(psp) => psp.arrived(incoming),
            Self::Reserved(rsp) => rsp.arrived(incoming),
            Self::Common(csp) => csp.arrived(incoming),
        }
    }
}

impl IaInner {
    /// The service point of the adapter that listens on a qualifier.
    pub(crate) fn service_point(&self, qualifier: u64) -> Option<Listening> {
        let all = self.children(|child| match child {
            Child::Psp(psp) => psp.upgrade().map(Listening::Public),
            Child::Rsp(rsp) => rsp.upgrade().map(Listening::Reserved),
            Child::Csp(csp) => csp.upgrade().map(Listening::Common),
            _ => None,
        });
        all.into_iter().find(|point| match point {
            Listening::Public(psp) => psp.listens_on(qualifier),
            Listening::Reserved(rsp) => rsp.listens_on(qualifier),
            Listening::Common(csp) => csp.listens_on(qualifier),
        })
    }
}
