//! How an endpoint is created and modified.

use real::EpAttributes;

use super::evd::EventDispatcher;
use super::pz::ProtectionZone;
use super::srq::SharedReceiveQueue;

/// The specification of an endpoint to create.
#[derive(Clone, Debug)]
pub struct EpSpec {
    pub(super) pz: ProtectionZone,
    pub(super) recv_evd: Option<EventDispatcher>,
    pub(super) request_evd: Option<EventDispatcher>,
    pub(super) connect_evd: Option<EventDispatcher>,
    pub(super) srq: Option<SharedReceiveQueue>,
    pub(super) attributes: Option<EpAttributes>,
}

impl EpSpec {
    /// An endpoint in a protection zone, without dispatchers and with default attributes.
    #[must_use]
    pub fn new(pz: &ProtectionZone) -> Self {
        let pz = pz.clone();
        let (recv_evd, request_evd, connect_evd) = (None, None, None);
        Self { pz, recv_evd, request_evd, connect_evd, srq: None, attributes: None }
    }

    /// The dispatcher for completions of receives.
    #[must_use]
    pub fn recv_evd(mut self, evd: &EventDispatcher) -> Self {
        self.recv_evd = Some(evd.clone());
        self
    }

    /// The dispatcher for completions of requests.
    #[must_use]
    pub fn request_evd(mut self, evd: &EventDispatcher) -> Self {
        self.request_evd = Some(evd.clone());
        self
    }

    /// The dispatcher for connection events.
    #[must_use]
    pub fn connect_evd(mut self, evd: &EventDispatcher) -> Self {
        self.connect_evd = Some(evd.clone());
        self
    }

    /// The shared receive queue to take receives from.
    #[must_use]
    pub fn srq(mut self, srq: &SharedReceiveQueue) -> Self {
        self.srq = Some(srq.clone());
        self
    }

    /// The attributes to ask for.
    #[must_use]
    pub fn attributes(mut self, attributes: &EpAttributes) -> Self {
        self.attributes = Some(attributes.clone());
        self
    }
}

/// A change of an endpoint (dat_ep_modify(3DAT)).
#[derive(Clone, Debug, Default)]
pub struct EpChange {
    pub(super) pz: Option<ProtectionZone>,
    pub(super) recv_evd: Option<Option<EventDispatcher>>,
    pub(super) request_evd: Option<Option<EventDispatcher>>,
    pub(super) connect_evd: Option<Option<EventDispatcher>>,
    pub(super) attributes: Option<EpAttributes>,
}

impl EpChange {
    /// An empty change.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets another protection zone.
    #[must_use]
    pub fn pz(mut self, pz: &ProtectionZone) -> Self {
        self.pz = Some(pz.clone());
        self
    }

    /// Sets another dispatcher for receives, or none.
    #[must_use]
    pub fn recv_evd(mut self, evd: Option<&EventDispatcher>) -> Self {
        self.recv_evd = Some(evd.cloned());
        self
    }

    /// Sets another dispatcher for requests, or none.
    #[must_use]
    pub fn request_evd(mut self, evd: Option<&EventDispatcher>) -> Self {
        self.request_evd = Some(evd.cloned());
        self
    }

    /// Sets another dispatcher for connection events, or none.
    #[must_use]
    pub fn connect_evd(mut self, evd: Option<&EventDispatcher>) -> Self {
        self.connect_evd = Some(evd.cloned());
        self
    }

    /// Sets all attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &EpAttributes) -> Self {
        self.attributes = Some(attributes.clone());
        self
    }
}
