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
    dat_provider::forward! { self => self.0;
        fn post_receive(receive: &ReceiveRequest<'_>) -> Result<()>;
        fn post_request(request: &Request<'_>) -> Result<()>;
        fn post_one_receive(
            buffer: Buffer, key: u32, cookie: u64, flags: CompletionFlags, checked: Epoch
        ) -> Result<()>;
        fn post_datagram(to: &RemoteAddress, request: &Request<'_>) -> Result<()>;
        fn post_bind(bind: &BindRequest<'_>) -> Result<u32>;
        fn disconnect(how: Close);
        fn reset() -> Result<()>;
        fn activity() -> Activity;
        fn shutdown();
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

    fn connect(&self, request: &ConnectRequest<'_>) -> Result<()> {
        LoopbackQp::connect(SlabArc::clone(&self.0), request)
    }

    fn connecting_port(&self) -> Option<u64> {
        match self.0.send_queue.lock().state {
            ConnectionState::Connecting { port, .. } => Some(port),
            _ => None,
        }
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
}
