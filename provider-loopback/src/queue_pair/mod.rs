//! Queue pairs.

mod datagram;
mod direct;
mod execute;
mod post;
mod receive;
mod send;
mod settings;
mod state;
mod teardown;

pub(crate) use dat_provider_kit::receive_wakeup::{Duty, ReceiveWakeup};
pub(crate) use receive::{Inbound, Source};
pub(crate) use settings::create;
pub(crate) use state::{Announced, Connection, Endpoint, State};

use dat_core::Failure;
use dat_core::error::{Result, Subtype};
use dat_core::flags::Close;
use dat_core::provider::{
    BindRequest, ConnectRequest, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    RemoteAddress, Request,
};
use dat_sync::SlabArc;

use crate::errors::foreign_object;

/// A queue pair as the core holds it. Connections and peers refer to the endpoint behind it, which
/// lies in a slab with the others.
pub(crate) struct QpHandle(SlabArc<Endpoint>);

/// The endpoint behind a queue pair of the contract.
pub(crate) fn find(queue_pair: &dyn QueuePair) -> Result<SlabArc<Endpoint>> {
    match queue_pair.as_any().downcast_ref::<QpHandle>() {
        Some(handle) => Ok(SlabArc::clone(&handle.0)),
        None => Err(foreign_object("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl QueuePair for QpHandle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.receive(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.0.request(request)
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        self.0.datagram(to, request)
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        self.0.bind(bind)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        Endpoint::begin_connect(SlabArc::clone(&self.0), request)
    }

    fn connecting_port(&self) -> Option<u64> {
        match self.0.sq.lock().state {
            State::Connecting { port, .. } => Some(port),
            _ => None,
        }
    }

    fn disconnect(&self, how: Close) {
        self.0.end(how);
    }

    fn reset(&self) -> Result<()> {
        self.0.begin_anew()
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.0.set(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        let requests = self.0.sq.lock().waiting();
        let receives = self.0.posted();
        Outstanding { receives, requests }
    }

    fn failure(&self) -> Option<Failure> {
        let requests = self.0.sq.lock().requests.outlet.clone();
        let receives = self.0.rq.lock().receives.outlet.clone();
        requests.failure().or_else(|| receives.failure())
    }

    fn retire(&self) {
        self.0.end_for_good();
    }
}
