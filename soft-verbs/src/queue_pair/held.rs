//! Requests that wait for the connection.

use std::sync::Arc;

use crate::address_handle::AddressHandle;
use crate::error::Result;
use crate::region::Region;
use crate::request::{
    Data, Destination, Inline, SendFlags, SendOperation, SendRequest, Sge, WindowBind,
};
use crate::window::Window;

/// A request with its own copy of all that the post refers to.
pub(super) struct Held {
    pub(super) wr_id: u64,
    pub(super) flags: SendFlags,
    operation: HeldOperation,
    data: HeldData,
    /// Address, number and key.
    destination: Option<(Arc<AddressHandle>, u32, u32)>,
}

enum HeldOperation {
    Plain(SendOperation<'static>),
    Bind { window: Arc<Window>, key: u32, region: Option<Arc<Region>>, bind: WindowBind<'static> },
}

enum HeldData {
    Segments(Box<[Sge]>),
    Inline(Box<[u8]>),
}

impl Held {
    /// A copy of a request.
    pub(super) fn new(request: &SendRequest<'_>) -> Self {
        type Op<'a> = SendOperation<'a>;
        let plain = HeldOperation::Plain;
        let operation = match request.operation {
            Op::Send => plain(Op::Send),
            Op::SendWithImmediate(data) => plain(Op::SendWithImmediate(data)),
            Op::SendWithInvalidate(key) => plain(Op::SendWithInvalidate(key)),
            Op::Write(remote) => plain(Op::Write(remote)),
            Op::WriteWithImmediate(remote, data) => plain(Op::WriteWithImmediate(remote, data)),
            Op::Read(remote) => plain(Op::Read(remote)),
            Op::CompareSwap { remote, compare, swap } => {
                plain(Op::CompareSwap { remote, compare, swap })
            }
            Op::FetchAdd { remote, add } => plain(Op::FetchAdd { remote, add }),
            Op::LocalInvalidate(key) => plain(Op::LocalInvalidate(key)),
            Op::Bind { window, key, bind } => HeldOperation::Bind {
                window: Arc::clone(window),
                key,
                region: bind.region.map(Arc::clone),
                bind: WindowBind { region: None, ..bind },
            },
        };
        let data = match request.data {
            Data::Segments(sges) => HeldData::Segments(sges.into()),
            Data::Inline(inline) => HeldData::Inline(inline.to_bytes().into()),
        };
        let to = request.destination.as_ref();
        let destination = to.map(|to| (Arc::clone(to.address), to.number, to.key));
        Self { wr_id: request.wr_id, flags: request.flags, operation, data, destination }
    }

    /// Posts the request.
    pub(super) fn post(&self, post: impl FnOnce(&SendRequest<'_>) -> Result<()>) -> Result<()> {
        let operation = match &self.operation {
            HeldOperation::Plain(operation) => *operation,
            HeldOperation::Bind { window, key, region, bind } => SendOperation::Bind {
                window,
                key: *key,
                bind: WindowBind { region: region.as_ref(), ..*bind },
            },
        };
        let data = match &self.data {
            HeldData::Segments(sges) => Data::Segments(sges),
            HeldData::Inline(bytes) => Data::Inline(Inline::from_bytes(bytes)),
        };
        let (wr_id, flags) = (self.wr_id, self.flags);
        let to = self.destination.as_ref();
        let destination =
            to.map(|(address, number, key)| Destination { address, number: *number, key: *key });
        post(&SendRequest { wr_id, operation, flags, data, destination })
    }
}
