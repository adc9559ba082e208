//! Queue pairs.

mod connect;
mod datagram;
mod parts;
mod post;
mod resolve;
mod short;
mod state;
mod teardown;

pub(crate) use connect::Accepted;
pub(crate) use parts::create;
pub(crate) use state::{Endpoint, Key};

use std::sync::Arc;

use dat_core::Failure;
use dat_core::error::{Result, Subtype};
use dat_core::flags::Close;
use dat_core::provider::{
    BindRequest, ConnectRequest, Outstanding, QueuePair, QueuePairSpec, ReceiveRequest,
    RemoteAddress, Request,
};

use crate::errors::foreign;
use state::{Receiver, Sender};

/// The object that the core holds; dropping it ends the connection.
pub(crate) struct Handle {
    endpoint: Arc<Endpoint>,
}

/// The endpoint of a contract object.
pub(crate) fn find(queue_pair: &dyn QueuePair) -> Result<Arc<Endpoint>> {
    match queue_pair.as_any().downcast_ref::<Handle>() {
        Some(handle) => Ok(Arc::clone(&handle.endpoint)),
        None => Err(foreign("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl QueuePair for Handle {
    #[inline]
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        Receiver::post(self.endpoint.receiver.lock(), receive)
    }

    #[inline]
    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        Sender::post(self.endpoint.sender.lock(), request)
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

    fn communication_established(&self, attempt: u64) {
        self.endpoint.communication_established(Some(attempt));
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
        self.endpoint.modify(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        self.endpoint.outstanding()
    }

    fn failure(&self) -> Option<Failure> {
        self.endpoint.failure()
    }

    fn retire(&self) {
        self.endpoint.retire();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.endpoint.retire();
        self.endpoint.device.engine.forget(self.endpoint.key);
    }
}
