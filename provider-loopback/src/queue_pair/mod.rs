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
use std::sync::Arc;

use dat_core::error::{Result, Subtype};
use dat_core::flags::Close;
use dat_core::provider::{
    BindRequest, ConnectRequest, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    RemoteAddress, Request,
};

use post::Post;

use crate::errors::foreign;
use crate::sync::BiasedLock;

/// What the core holds; the end of it ends the connection. Only who holds it posts receives.
pub(crate) struct Handle {
    endpoint: Arc<Endpoint>,
    lookout: Arc<Lookout>,
    post: BiasedLock<Post>,
}

/// The endpoint behind a handle of the contract.
pub(crate) fn find(queue_pair: &dyn QueuePair) -> Result<Arc<Endpoint>> {
    match queue_pair.as_any().downcast_ref::<Handle>() {
        Some(handle) => Ok(Arc::clone(&handle.endpoint)),
        None => Err(foreign("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl QueuePair for Handle {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.receive(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.endpoint.post_request(request)
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        self.endpoint.post_datagram(to, request)
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        self.endpoint.post_bind(bind)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        self.endpoint.connect(request)
    }

    fn connecting_port(&self) -> Option<u64> {
        self.endpoint.connecting_port()
    }

    fn disconnect(&self, how: Close) {
        self.endpoint.disconnect(how);
    }

    fn reset(&self) -> Result<()> {
        self.endpoint.reset()
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.set(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        let requests = self.endpoint.sq.lock().waiting();
        let receives = self.posted();
        Outstanding { receives, requests }
    }

    fn retire(&self) {
        self.endpoint.retire();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.endpoint.retire();
    }
}
