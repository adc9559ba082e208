//! The check of requested endpoint attributes, one by one and in combination
//! (dat_ep_create(3DAT), dat_ep_create_with_srq(3DAT)).

use std::sync::Arc;

use parking_lot::Mutex;

use crate::attr::EpAttributes;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::CompletionFlags;
use crate::provider::{AdapterAttributes, QueuePairLimits};

/// What the endpoint made last was made for: those that are made alike have one copy.
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

/// Checks attributes against an adapter and fills in what a 0 stands for.
pub(super) fn check(
    requested: &EpAttributes,
    adapter: &AdapterAttributes,
    shared_receives: bool,
) -> Result<EpAttributes> {
    let ia = &adapter.ia;
    let mut attributes = requested.clone();
    if attributes.max_rdma_read_iov == 0 {
        let most = ia.max_iov_segments_per_rdma_read;
        attributes.max_rdma_read_iov = attributes.max_request_iov.min(most);
    }
    if attributes.max_rdma_write_iov == 0 {
        let most = ia.max_iov_segments_per_rdma_write;
        attributes.max_rdma_write_iov = attributes.max_request_iov.min(most);
    }
    // One that is not set (dat_ep_create(3DAT)); an endpoint that can carry nothing is of no use.
    let default = &adapter.default_ep;
    for (size, usual) in [
        (&mut attributes.max_message_size, default.max_message_size),
        (&mut attributes.max_rdma_size, default.max_rdma_size),
    ] {
        if *size == 0 {
            *size = usual;
        }
    }
    let wanted = &attributes;
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
                .advise(format!("ask for at most {limit}; see `dat info`")));
        }
    }
    check_model(wanted, adapter)?;
    check_flags("recv_completion_flags", wanted.recv_completion_flags, true)?;
    check_flags("request_completion_flags", wanted.request_completion_flags, false)?;
    check_queues(wanted, adapter, shared_receives)?;
    if wanted.srq_soft_hw != 0 && !shared_receives {
        return Err(invalid(format!(
            "srq_soft_hw {} is for endpoints with a shared receive queue",
            wanted.srq_soft_hw
        ))
        .advise("leave it 0, or make the endpoint with dat_ep_create_with_srq"));
    }
    Ok(attributes)
}

fn invalid(reason: String) -> Error {
    Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6).because(reason)
}

fn segments(ia: &crate::attr::IaAttributes) -> u64 {
    ia.max_iov_segments_per_dto.into()
}

/// Receives have their segments on the shared queue, where there is one.
fn receive_segments(wanted: &EpAttributes, shared_receives: bool) -> u64 {
    if shared_receives { 0 } else { wanted.max_recv_iov.into() }
}

/// What the provider's model does not have at all.
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
            "service_type {} is none of the provider's",
            wanted.service_type
        ))
        .advise("use DAT_SERVICE_TYPE_RC"));
    }
    let excess = wanted.qos - provider.qos_supported;
    if !excess.is_empty() {
        return Err(unsupported(format!("qos: the provider has no {excess:?}"))
            .advise("use DAT_QOS_BEST_EFFORT, or what the provider attributes name"));
    }
    for (name, flags) in [
        ("recv_completion_flags", wanted.recv_completion_flags),
        ("request_completion_flags", wanted.request_completion_flags),
    ] {
        let mode = flags & (CompletionFlags::UNSIGNALLED | CompletionFlags::SOLICITED_WAIT);
        let excess = mode - provider.completion_flags_supported;
        if !excess.is_empty() {
            return Err(unsupported(format!("{name}: the provider has no {excess:?}"))
                .advise("use the flags that the provider attributes name"));
        }
    }
    if let Some(attribute) = wanted.transport_specific.first() {
        return Err(unsupported(format!(
            "transport_specific: the transport has no attribute {:?}",
            attribute.name
        )));
    }
    if let Some(attribute) = wanted.provider_specific.first() {
        return Err(unsupported(format!(
            "provider_specific: the provider has no attribute {:?}",
            attribute.name
        )));
    }
    Ok(())
}

/// An endpoint's flags name one mode of notification, of those that the direction has.
fn check_flags(name: &str, flags: CompletionFlags, receive: bool) -> Result<()> {
    let mut modes = CompletionFlags::UNSIGNALLED | CompletionFlags::EVD_THRESHOLD;
    if receive {
        modes |= CompletionFlags::SOLICITED_WAIT;
    }
    let excess = flags - modes;
    if !excess.is_empty() {
        return Err(invalid(format!("{name}: {excess:?} is no attribute of an endpoint"))
            .advise("give it with the post that it is meant for"));
    }
    if flags.bits().count_ones() > 1 {
        return Err(invalid(format!("{name}: {flags:?} exclude one another"))
            .advise("choose one of the modes"));
    }
    Ok(())
}

/// The work queues must fit the device with all their segments.
fn check_queues(
    wanted: &EpAttributes,
    adapter: &AdapterAttributes,
    shared_receives: bool,
) -> Result<()> {
    let limits = limits(wanted, shared_receives);
    for (name, depth, segments) in [
        ("max_recv_dtos x max_recv_iov", limits.max_receives, limits.max_receive_segments),
        ("max_request_dtos x IOV", limits.max_requests, limits.max_request_segments),
    ] {
        let total = u64::from(depth) * u64::from(segments);
        if total > adapter.max_queue_segments {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceTep)
                .because(format!(
                    "{name}: {depth} x {segments} segments exceed the {} of a work queue",
                    adapter.max_queue_segments
                ))
                .advise("ask for fewer operations or shorter IOVs"));
        }
    }
    Ok(())
}

/// How large a queue pair with these attributes is.
pub(super) fn limits(attributes: &EpAttributes, shared_receives: bool) -> QueuePairLimits {
    QueuePairLimits {
        max_receives: if shared_receives { 0 } else { attributes.max_recv_dtos },
        max_requests: attributes.max_request_dtos,
        max_receive_segments: if shared_receives { 0 } else { attributes.max_recv_iov },
        max_request_segments: attributes
            .max_request_iov
            .max(attributes.max_rdma_read_iov)
            .max(attributes.max_rdma_write_iov),
        max_message_size: attributes.max_message_size,
        max_reads_in: attributes.max_rdma_read_in,
        max_reads_out: attributes.max_rdma_read_out,
    }
}
