//! The names of calls, and their figures as text.

use std::fmt;

use super::call::Call;
use dat_provider::{AsyncUpcall, ReceiveRequest, Work};

impl Call<'_> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::CreateDomain
            | Self::CreateCompletionQueue { .. }
            | Self::CreateQueuePair { .. }
            | Self::CreateSharedReceives { .. }
            | Self::CreateWindow { .. } => "create",
            Self::Listen { .. } => "listen",
            Self::Register { .. } => "register",
            Self::Deregister => "deregister",
            Self::Poll { .. } => "poll",
            Self::Notify { .. } => "notify",
            Self::ArmDescriptor => "arm_descriptor",
            Self::Resize { .. } => "resize",
            Self::PostReceive(_) => "post_receive",
            Self::PostRequest(request) => match request.work {
                Work::Send => "post_send",
                Work::SendImmediate { .. } => "post_send_immediate",
                Work::SendInvalidate { .. } => "post_send_invalidate",
                Work::RdmaWrite { .. } => "post_rdma_write",
                Work::RdmaWriteImmediate { .. } => "post_rdma_write_immediate",
                Work::RdmaRead { .. } => "post_rdma_read",
                Work::RdmaReadToRmr { .. } => "post_rdma_read_to_rmr",
                Work::FetchAdd { .. } => "post_fetch_add",
                Work::CompareSwap { .. } => "post_compare_swap",
                _ => "post_request",
            },
            Self::PostDatagram { .. } => "post_datagram",
            Self::PostBind { .. } => "post_bind",
            Self::Connect(_) => "connect",
            Self::CommunicationEstablished { .. } => "communication_established",
            Self::Abandon { .. } => "abandon",
            Self::Disconnect { .. } => "disconnect",
            Self::Reset => "reset",
            Self::Modify { .. } => "modify",
            Self::Shutdown => "shutdown",
            Self::Accept { .. } => "accept",
            Self::Reject { .. } => "reject",
            Self::ArmLowWatermark { .. } => "arm_low_watermark",
            Self::CompletionReady => "completion_ready",
            Self::CompletionOverflow => "completion_overflow",
            Self::LowWatermark => "low_watermark_reached",
            Self::ConnectionRequest { .. } => "connection_request",
            Self::ConnectionEvent { .. } => "connection_event",
            Self::AsyncEvent(_) => "async_event",
        }
    }
}

/// Writes the figures, each as ` key=value`.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { parameters } => write!(f, " parameters={parameters:?}"),
            Self::CreateCompletionQueue { depth } => write!(f, " depth={depth}"),
            Self::CreateQueuePair { limits } | Self::Modify { limits } => write!(
                f,
                " max_receives={} max_requests={}",
                limits.max_receives, limits.max_requests
            ),
            Self::CreateSharedReceives { limits } => {
                write!(f, " max_receives={}", limits.max_receives)
            }
            Self::Listen { qualifier: Some(qualifier) } => write!(f, " qualifier={qualifier}"),
            Self::Listen { qualifier: None } => f.write_str(" qualifier=any"),
            Self::Register { bytes, privileges } => {
                write!(f, " bytes={bytes} privileges={:#x}", privileges.bits())
            }
            Self::CreateWindow { scope } => write!(f, " scope={scope:?}"),
            Self::Poll { found } => found.iter().try_for_each(|one| {
                write!(f, " [tag={} {:?} cookie={}", one.tag, one.operation, one.cookie)?;
                write!(f, " length={} {}]", one.length, one.status)
            }),
            Self::Notify { mode, waiting } => write!(f, " mode={mode:?} waiting={waiting}"),
            Self::Resize { depth } => write!(f, " depth={depth}"),
            Self::PostReceive(receive) => write!(
                f,
                " cookie={} segments={} bytes={}",
                receive.cookie,
                receive.segments.len(),
                length(receive)
            ),
            Self::PostRequest(request) => write!(
                f,
                " cookie={} segments={} bytes={}",
                request.cookie,
                request.segments.len(),
                request.length
            ),
            Self::PostDatagram { to, request } => write!(
                f,
                " to={to:?} cookie={} segments={} bytes={}",
                request.cookie,
                request.segments.len(),
                request.length
            ),
            Self::PostBind { length, cookie } => write!(f, " cookie={cookie} length={length}"),
            Self::Connect(request) => write!(
                f,
                " attempt={} address={} qualifier={} private_data={}",
                request.attempt,
                request.address,
                request.qualifier,
                request.private_data.len()
            ),
            Self::CommunicationEstablished { attempt } | Self::Abandon { attempt } => {
                write!(f, " attempt={attempt}")
            }
            Self::Disconnect { how } => write!(f, " how={how:?}"),
            Self::Accept { attempt, private_data } => {
                write!(f, " attempt={attempt} private_data={private_data}")
            }
            Self::Reject { private_data } => write!(f, " private_data={private_data}"),
            Self::ArmLowWatermark { watermark } => write!(f, " watermark={watermark}"),
            Self::ConnectionRequest { peer, private_data } => {
                write!(f, " peer={} port={} private_data={private_data}", peer.address, peer.port)
            }
            Self::ConnectionEvent { attempt, event } => {
                // Without the fields behind the name.
                let event = format!("{event:?}");
                let name = event.split([' ', '(']).next().unwrap_or_default();
                write!(f, " attempt={attempt} {name}")
            }
            Self::AsyncEvent(AsyncUpcall::QueuePairBroken { tag }) => {
                write!(f, " QueuePairBroken tag={tag}")
            }
            Self::AsyncEvent(event) => write!(f, " {event:?}"),
            Self::CreateDomain
            | Self::Deregister
            | Self::ArmDescriptor
            | Self::Reset
            | Self::Shutdown
            | Self::CompletionReady
            | Self::CompletionOverflow
            | Self::LowWatermark => Ok(()),
        }
    }
}

/// Total length of the segments of a receive, in bytes.
pub(super) fn length(receive: &ReceiveRequest<'_>) -> u64 {
    receive.segments.iter().fold(0, |sum, one| sum.saturating_add(one.length))
}
