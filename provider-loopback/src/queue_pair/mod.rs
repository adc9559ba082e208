//! Queue pairs.

mod datagram;
mod direct;
mod execute;
mod lookout;
mod post;
mod receive;
mod send;
mod settings;
mod state;
mod teardown;

pub(crate) use lookout::Lookout;
pub(crate) use receive::{Inbound, Source};
pub(crate) use settings::create;
pub(crate) use state::{Announced, Connection, Endpoint, State};

use std::any::Any;

use dat_core::Failure;
use dat_core::error::{Result, Subtype};
use dat_core::flags::Close;
use dat_core::provider::{
    BindRequest, ConnectRequest, HotArc, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    RemoteAddress, Request,
};

use crate::errors::{foreign, wrong_state};

/// The endpoint behind a queue pair of the contract.
pub(crate) fn find(queue_pair: &dyn QueuePair) -> Result<HotArc<Endpoint>> {
    match queue_pair.as_any().downcast_ref::<Endpoint>() {
        Some(endpoint) => endpoint.shared(),
        None => Err(foreign("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl Endpoint {
    /// Itself, to keep. Only one whose last reference is going has none.
    fn shared(&self) -> Result<HotArc<Self>> {
        self.me.upgrade().ok_or_else(|| wrong_state(Subtype::NoSubtype))
    }
}

impl QueuePair for Endpoint {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.receive(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.request(request)
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        self.datagram(to, request)
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        self.bind(bind)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        Self::begin_connect(self.shared()?, request)
    }

    fn connecting_port(&self) -> Option<u64> {
        match self.sq.lock().state {
            State::Connecting { port, .. } => Some(port),
            _ => None,
        }
    }

    fn disconnect(&self, how: Close) {
        self.end(how);
    }

    fn reset(&self) -> Result<()> {
        self.begin_anew()
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.set(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        let requests = self.sq.lock().waiting();
        let receives = self.posted();
        Outstanding { receives, requests }
    }

    fn failure(&self) -> Option<Failure> {
        let requests = self.sq.lock().requests.outlet.clone();
        let receives = self.rq.lock().receives.outlet.clone();
        requests.failure().or_else(|| receives.failure())
    }

    fn retire(&self) {
        self.end_for_good();
    }
}
