//! Queue pairs.
//!
//! The core and the device's threads share a queue pair; the core ends its use before it drops its
//! reference.

mod activity;
mod causes;
mod connect;
mod create;
mod datagram;
mod fast_path;
mod last_look;
mod post;
mod resolution;
mod resolve;
mod state;
mod teardown;

pub(crate) use connect::Accepted;
pub(crate) use create::create;
pub(crate) use post::empty_write;
pub(crate) use state::VerbsQp;

use std::sync::Arc;

use dat_provider::error::{Result, Subtype};
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::{
    Activity, BindRequest, Buffer, ConnectRequest, ConnectionUpcall, Epoch, Outstanding, QueuePair,
    QueuePairSpec, ReceiveRequest, RemoteAddress, RemoteBuffer, Request,
};
use dat_provider::{Failure, forward};
use dat_provider_kit::errors::foreign_object;

use crate::cm;
use crate::engine::QueuePairEvents;
use fast_path::{READ, WRITE};
use state::{Receiver, Sender};

/// The queue pair of a contract object.
pub(crate) fn find(queue_pair: &dyn QueuePair) -> Result<Arc<VerbsQp>> {
    match queue_pair.as_any().downcast_ref::<Arc<VerbsQp>>() {
        Some(queue_pair) => Ok(Arc::clone(queue_pair)),
        None => Err(foreign_object("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl QueuePair for VerbsQp {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        Receiver::post_slow(self.receiver.lock(), receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        Sender::post_slow(self.sender.lock(), request)
    }

    #[inline]
    fn post_one_receive(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        Receiver::post(self.receiver.lock(), buffer, key, cookie, flags, checked)
    }

    #[inline]
    fn post_one_send(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        Sender::post_send(self.sender.lock(), buffer, key, cookie, flags, checked)
    }

    #[inline]
    fn post_one_write(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let sender = self.sender.lock();
        Sender::post_rdma::<WRITE>(sender, buffer, key, cookie, flags, checked, remote)
    }

    #[inline]
    fn post_one_read(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        let sender = self.sender.lock();
        Sender::post_rdma::<READ>(sender, buffer, key, cookie, flags, checked, remote)
    }

    forward! { self => self;
        fn post_datagram(to: &RemoteAddress, request: &Request<'_>) -> Result<()>;
        fn post_bind(bind: &BindRequest<'_>) -> Result<u32>;
        fn connect(request: &ConnectRequest<'_>) -> Result<()>;
        fn connecting_port() -> Option<u64>;
        fn disconnect(how: Close);
        fn reset() -> Result<()>;
        fn outstanding() -> Outstanding;
        fn failure() -> Option<Failure>;
        fn activity() -> Activity;
        fn shutdown();
    }

    fn communication_established(&self, attempt: u64) {
        self.communication_established(Some(attempt));
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        spec.check_needed_by_dat()?;
        self.modify(&spec)
    }
}

impl QueuePairEvents for VerbsQp {
    forward! { self => self;
        fn connection_event(event: cm::Event);
        fn trouble();
        fn finish();
        fn fail_attempt(key: u64, event: Option<ConnectionUpcall<'_>>);
        fn try_close() -> bool;
        fn oldest_request() -> Option<u32>;
    }

    fn port(&self) -> u8 {
        self.device.port
    }

    fn data_arrived(&self) {
        self.communication_established(None);
    }
}

impl Drop for VerbsQp {
    fn drop(&mut self) {
        // The core has retired it before it dropped its reference.
        self.shutdown();
        self.device.engine.forget(self.key);
    }
}
