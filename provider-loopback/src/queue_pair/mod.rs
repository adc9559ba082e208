//! Queue pairs.

mod activity;
mod connect;
mod connection_state;
mod create;
mod datagram;
mod execute;
mod fast_path;
mod message;
mod patience;
mod post_receive;
mod qp;
mod receive_poster;
mod receive_queue;
mod request;
mod request_context;
mod responder;
mod send_queue;
mod serve;
mod slow_path;
mod teardown;

pub(crate) use create::create;

use dat_provider::Failure;
use dat_provider::error::{Result, Subtype};
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::{
    Activity, BindRequest, Buffer, ConnectRequest, Epoch, Outstanding, QueuePair, QueuePairSpec,
    ReceiveRequest, RemoteAddress, RemoteBuffer, Request,
};
use dat_provider_kit::errors::foreign_object;
use dat_sync::SlabArc;

use connection_state::ConnectionState;
use fast_path::{OneSegment, READ, SEND, WRITE};
use qp::LoopbackQp;

/// The object that represents a queue pair in the provider contract.
struct QpHandle(SlabArc<LoopbackQp>);

/// The queue pair behind an object of the contract.
fn downcast(queue_pair: &dyn QueuePair) -> Result<SlabArc<LoopbackQp>> {
    match queue_pair.as_any().downcast_ref::<QpHandle>() {
        Some(handle) => Ok(SlabArc::clone(&handle.0)),
        None => Err(foreign_object("queue pair", Subtype::InvalidHandleEp)),
    }
}

impl QueuePair for QpHandle {
    fn post_receive(&self, receive: &ReceiveRequest<'_>) -> Result<()> {
        self.0.post_receive(receive)
    }

    fn post_request(&self, request: &Request<'_>) -> Result<()> {
        self.0.post_request(request)
    }

    fn post_one_receive(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        self.0.post_one_receive(buffer, key, cookie, flags, checked)
    }

    fn post_one_send(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
    ) -> Result<()> {
        let remote = RemoteBuffer::default();
        self.0.post_one::<SEND>(OneSegment { buffer, key, cookie, flags, checked, remote })
    }

    fn post_one_write(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        self.0.post_one::<WRITE>(OneSegment { buffer, key, cookie, flags, checked, remote })
    }

    fn post_one_read(
        &self,
        buffer: Buffer,
        key: u32,
        cookie: u64,
        flags: CompletionFlags,
        checked: Epoch,
        remote: RemoteBuffer,
    ) -> Result<()> {
        self.0.post_one::<READ>(OneSegment { buffer, key, cookie, flags, checked, remote })
    }

    fn post_datagram(&self, to: &RemoteAddress, request: &Request<'_>) -> Result<()> {
        self.0.post_datagram(to, request)
    }

    fn post_bind(&self, bind: &BindRequest<'_>) -> Result<u32> {
        self.0.post_bind(bind)
    }

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        LoopbackQp::connect(SlabArc::clone(&self.0), request)
    }

    fn connecting_port(&self) -> Option<u64> {
        match self.0.send_queue.lock().state {
            ConnectionState::Connecting { port, .. } => Some(port),
            _ => None,
        }
    }

    fn disconnect(&self, how: Close) {
        self.0.disconnect(how);
    }

    fn reset(&self) -> Result<()> {
        self.0.reset()
    }

    fn modify(&self, spec: QueuePairSpec) -> Result<()> {
        self.0.modify(&spec)
    }

    fn outstanding(&self) -> Outstanding {
        let requests = self.0.send_queue.lock().waiting_requests();
        let receives = self.0.posted_receives();
        Outstanding { receives, requests }
    }

    fn failure(&self) -> Option<Failure> {
        let requests = self.0.send_queue.lock().context.target.clone();
        let receives = self.0.responder.lock().receives.target.clone();
        requests.failure().or_else(|| receives.failure())
    }

    fn activity(&self) -> Activity {
        self.0.activity()
    }

    fn shutdown(&self) {
        self.0.shutdown();
    }
}
