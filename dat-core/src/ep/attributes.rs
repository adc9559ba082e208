//! Checks of requested endpoint attributes, one by one and in combination
//! (dat_ep_create(3DAT), dat_ep_create_with_srq(3DAT)).

use std::sync::Arc;

use dat_sync::Mutex;

use crate::attr::EpAttributes;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::CompletionFlags;
use crate::provider::{AdapterAttributes, QueuePairLimits, Service};

/// The attributes of the most recently created endpoint: endpoints with equal attributes share one
/// copy.
#[derive(Debug, Default)]
pub(crate) struct CommonAttributes(Mutex<Arc<EpAttributes>>);

impl CommonAttributes {
    pub(super) fn of(&self, attributes: EpAttributes) -> Arc<EpAttributes> {
        let mut last = self.0.lock();
        if **last != attributes {
            *last = Arc::new(attributes);
        }
        Arc::clone(&last)
    }
}

/// Checks attributes against an adapter. The result is at least what was requested.
pub(super) fn check(
    requested: &EpAttributes,
    adapter: &AdapterAttributes,
    shared_receives: bool,
) -> Result<EpAttributes> {
    let mut attributes = requested.clone();
    ignore_meaningless(&mut attributes);
    fill_in_defaults(&mut attributes, adapter);
    check_limits(&attributes, adapter, shared_receives)?;
    check_model(&attributes, adapter)?;
    check_recv_flags(attributes.recv_completion_flags)?;
    check_request_flags(attributes.request_completion_flags)?;
    // An endpoint with a shared queue gets exactly the values that were requested
    // (dat_ep_create_with_srq(3DAT)).
    if !shared_receives {
        round_up(&mut attributes, adapter);
    }
    Ok(attributes)
}

/// Resets attributes that the endpoint ignores: programs leave stack garbage in them. `srq_soft_hw`
/// of an endpoint without a shared queue is never read, and neither is `max_recv_iov` of one with a
/// shared queue.
fn ignore_meaningless(attributes: &mut EpAttributes) {
    if attributes.service_type == EpAttributes::SERVICE_DATAGRAM {
        attributes.max_rdma_size = 0;
        attributes.max_rdma_read_in = 0;
        attributes.max_rdma_read_out = 0;
        attributes.max_rdma_write_iov = 0;
    }
    if attributes.max_rdma_read_out == 0 {
        attributes.max_rdma_read_iov = 0;
    }
}

/// Replaces each 0 by its default (dat_ep_create(3DAT)). An endpoint that can carry nothing would
/// be useless.
fn fill_in_defaults(attributes: &mut EpAttributes, adapter: &AdapterAttributes) {
    let (ia, default) = (&adapter.ia, &adapter.default_ep);
    let request_iov = attributes.max_request_iov;
    if attributes.max_rdma_read_iov == 0 {
        attributes.max_rdma_read_iov = request_iov.min(ia.max_iov_segments_per_rdma_read);
    }
    if attributes.max_rdma_write_iov == 0 {
        attributes.max_rdma_write_iov = request_iov.min(ia.max_iov_segments_per_rdma_write);
    }
    for (size, default) in [
        (&mut attributes.max_message_size, default.max_message_size),
        (&mut attributes.max_rdma_size, default.max_rdma_size),
    ] {
        if *size == 0 {
            *size = default;
        }
    }
}

/// Raises the attributes that cost nothing to the maximum of the adapter. No memory is sized by the
/// two sizes, and each entry of the request queue has space for the longest IOV in any case.
/// Programs request less than they use, because other libraries do not enforce it.
fn round_up(attributes: &mut EpAttributes, adapter: &AdapterAttributes) {
    let ia = &adapter.ia;
    // The longest datagram depends on the network, not on the adapter.
    if attributes.service_type == EpAttributes::SERVICE_CONNECTION {
        attributes.max_message_size = ia.max_message_size;
        attributes.max_rdma_size = ia.max_rdma_size;
    }
    let longest = request_segments(attributes);
    attributes.max_request_iov = longest.min(ia.max_iov_segments_per_dto);
    attributes.max_rdma_read_iov = longest.min(ia.max_iov_segments_per_rdma_read);
    attributes.max_rdma_write_iov = longest.min(ia.max_iov_segments_per_rdma_write);
}

/// Rejects what exceeds the limits of the adapter.
fn check_limits(
    wanted: &EpAttributes,
    adapter: &AdapterAttributes,
    shared_receives: bool,
) -> Result<()> {
    let ia = &adapter.ia;
    for (name, value, limit) in [
        ("max_message_size", wanted.max_message_size, ia.max_message_size),
        ("max_rdma_size", wanted.max_rdma_size, ia.max_rdma_size),
        ("max_recv_dtos", wanted.max_recv_dtos.into(), ia.max_dto_per_ep.into()),
        ("max_request_dtos", wanted.max_request_dtos.into(), ia.max_dto_per_ep.into()),
        ("max_recv_iov", receive_segments(wanted, shared_receives), segments(ia)),
        ("max_request_iov", wanted.max_request_iov.into(), segments(ia)),
        ("max_rdma_read_in", wanted.max_rdma_read_in.into(), ia.max_rdma_read_per_ep_in.into()),
        ("max_rdma_read_out", wanted.max_rdma_read_out.into(), ia.max_rdma_read_per_ep_out.into()),
        (
            "max_rdma_read_iov",
            wanted.max_rdma_read_iov.into(),
            ia.max_iov_segments_per_rdma_read.into(),
        ),
        (
            "max_rdma_write_iov",
            wanted.max_rdma_write_iov.into(),
            ia.max_iov_segments_per_rdma_write.into(),
        ),
    ] {
        if value > limit {
            return Err(invalid(format!("{name} {value} exceeds the adapter's {limit}"))
                .advise(format!("request at most {limit}; `dat info` shows the limits")));
        }
    }
    Ok(())
}

fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6).because(reason)
}

fn segments(ia: &crate::attr::IaAttributes) -> u64 {
    ia.max_iov_segments_per_dto.into()
}

/// With a shared queue, receives keep their segments there.
fn receive_segments(wanted: &EpAttributes, shared_receives: bool) -> u64 {
    if shared_receives { 0 } else { wanted.max_recv_iov.into() }
}

/// Rejects what the provider does not implement at all.
fn check_model(wanted: &EpAttributes, adapter: &AdapterAttributes) -> Result<()> {
    let provider = &adapter.provider;
    let unsupported = |reason: String| {
        Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype).because(reason)
    };
    let served = match wanted.service_type {
        EpAttributes::SERVICE_CONNECTION => true,
        EpAttributes::SERVICE_DATAGRAM => provider.datagrams_supported,
        _ => false,
    };
    if !served {
        return Err(unsupported(format!(
            "service_type {} is not supported by this provider",
            wanted.service_type
        ))
        .advise("use DAT_SERVICE_TYPE_RC"));
    }
    let excess = wanted.qos - provider.qos_supported;
    if !excess.is_empty() {
        return Err(unsupported(format!("qos: the provider does not support {excess}"))
            .advise("use DAT_QOS_BEST_EFFORT, or a value listed in the provider attributes"));
    }
    let unsignalled = CompletionFlags::UNSIGNALLED;
    for (name, flags) in [
        (
            "recv_completion_flags",
            wanted.recv_completion_flags & (unsignalled | CompletionFlags::SOLICITED_WAIT),
        ),
        ("request_completion_flags", wanted.request_completion_flags & unsignalled),
    ] {
        let excess = flags - provider.completion_flags_supported;
        if !excess.is_empty() {
            return Err(unsupported(format!("{name}: the provider does not support {excess}"))
                .advise("use flags listed in the provider attributes"));
        }
    }
    if let Some(attribute) = wanted.transport_specific.first() {
        return Err(unsupported(format!(
            "transport_specific: the transport does not know the attribute {:?}",
            attribute.name
        )));
    }
    if let Some(attribute) = wanted.provider_specific.first() {
        return Err(unsupported(format!(
            "provider_specific: the provider does not know the attribute {:?}",
            attribute.name
        )));
    }
    Ok(())
}

/// Flags of single requests, which an endpoint's flags may contain too. Every request may have them
/// whatever the endpoint's flags are (dat_ep_modify(3DAT)), so they have no effect there.
const OF_REQUESTS: CompletionFlags = CompletionFlags::SUPPRESS
    .union(CompletionFlags::SOLICITED_WAIT)
    .union(CompletionFlags::BARRIER_FENCE);

/// The notification mode among the flags of an endpoint's requests.
pub(super) fn request_mode(flags: CompletionFlags) -> CompletionFlags {
    flags - OF_REQUESTS
}

fn check_recv_flags(flags: CompletionFlags) -> Result<()> {
    check_mode("recv_completion_flags", flags, CompletionFlags::SOLICITED_WAIT)
}

fn check_request_flags(flags: CompletionFlags) -> Result<()> {
    check_mode("request_completion_flags", request_mode(flags), CompletionFlags::empty())
}

/// Checks that an endpoint's flags name one notification mode, which the direction must support.
fn check_mode(name: &str, flags: CompletionFlags, more_modes: CompletionFlags) -> Result<()> {
    let modes = CompletionFlags::UNSIGNALLED | CompletionFlags::EVD_THRESHOLD | more_modes;
    let excess = flags - modes;
    if !excess.is_empty() {
        return Err(invalid(format!("{name}: {excess} is not valid as an endpoint attribute"))
            .advise("pass it with the post instead"));
    }
    if flags.bits().count_ones() > 1 {
        return Err(
            invalid(format!("{name}: {flags} are mutually exclusive")).advise("choose one of them")
        );
    }
    Ok(())
}

/// The service that the attributes request.
pub(super) fn service(attributes: &EpAttributes) -> Service {
    match attributes.service_type {
        EpAttributes::SERVICE_DATAGRAM => Service::Datagram,
        _ => Service::Connection,
    }
}

/// The queue pair limits for these attributes.
pub(super) fn limits(attributes: &EpAttributes, shared_receives: bool) -> QueuePairLimits {
    QueuePairLimits {
        max_receives: if shared_receives { 0 } else { attributes.max_recv_dtos },
        max_requests: attributes.max_request_dtos,
        max_receive_segments: if shared_receives { 0 } else { attributes.max_recv_iov },
        max_request_segments: request_segments(attributes),
        max_message_size: attributes.max_message_size,
        max_reads_in: attributes.max_rdma_read_in,
        max_reads_out: attributes.max_rdma_read_out,
    }
}

/// Number of segments in an entry of the request queue.
fn request_segments(attributes: &EpAttributes) -> u32 {
    let rdma = attributes.max_rdma_read_iov.max(attributes.max_rdma_write_iov);
    attributes.max_request_iov.max(rdma)
}
