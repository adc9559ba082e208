//! The attributes as rows: the name in the C headers, a value and a unit.

use std::fmt;

use dat_core::EpAttributes;
use dat_core::attr::{
    EpCreator, IaAttributes, IovOwnership, NamedAttr, ProviderAttributes, PzSupport, StreamMerging,
};

use crate::units;

/// A group of attributes.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
}

/// One attribute.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) value: Value,
}

/// The value of an attribute, with its unit.
#[derive(Debug)]
pub(super) enum Value {
    Count(u64, &'static str),
    Bytes(u64),
    Address(u64),
    Flag(bool),
    Text(String),
    Words(Vec<String>),
    Named(Vec<NamedAttr>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count, unit) => write!(f, "{count} {unit}"),
            Self::Bytes(count) if *count < 1024 => write!(f, "{count} bytes"),
            Self::Bytes(count) => match units::bytes(*count) {
                text if text.ends_with("iB") => write!(f, "{count} bytes ({text})"),
                _ => write!(f, "{count} bytes"),
            },
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Flag(true) => f.write_str("yes"),
            Self::Flag(false) => f.write_str("no"),
            Self::Text(text) => f.write_str(text),
            Self::Words(words) if words.is_empty() => f.write_str("none"),
            Self::Words(words) => f.write_str(&words.join(", ")),
            Self::Named(named) if named.is_empty() => f.write_str("none"),
            Self::Named(named) => {
                let pairs = named.iter().map(|attr| format!("{}={}", attr.name, attr.value));
                f.write_str(&pairs.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Row {
    fn count(key: &'static str, count: u32, unit: &'static str) -> Self {
        Self { key, value: Value::Count(count.into(), unit) }
    }

    fn bytes(key: &'static str, count: u64) -> Self {
        Self { key, value: Value::Bytes(count) }
    }

    fn address(key: &'static str, address: u64) -> Self {
        Self { key, value: Value::Address(address) }
    }

    fn flag(key: &'static str, flag: bool) -> Self {
        Self { key, value: Value::Flag(flag) }
    }

    fn text(key: &'static str, text: impl fmt::Display) -> Self {
        Self { key, value: Value::Text(text.to_string()) }
    }

    fn version(key: &'static str, (major, minor): (u32, u32)) -> Self {
        Self::text(key, format_args!("{major}.{minor}"))
    }

    fn names(key: &'static str, names: impl Iterator<Item = (&'static str, impl Sized)>) -> Self {
        Self { key, value: Value::Words(names.map(|(name, _)| name.to_owned()).collect()) }
    }

    fn named(key: &'static str, named: &[NamedAttr]) -> Self {
        Self { key, value: Value::Named(named.to_vec()) }
    }
}

/// The row of a count, with the name of its field.
macro_rules! count {
    ($from:ident.$field:ident, $unit:literal) => {
        Row::count(stringify!($field), $from.$field, $unit)
    };
}

/// The attributes of the adapter.
pub(super) fn interface(ia: &IaAttributes) -> Section {
    let rows = vec![
        Row::text("adapter_name", &ia.adapter_name),
        Row::text("vendor_name", &ia.vendor_name),
        Row::version("hardware_version", ia.hardware_version),
        Row::version("firmware_version", ia.firmware_version),
        Row::text("ia_address", ia.address),
        count!(ia.max_eps, "endpoints"),
        count!(ia.max_dto_per_ep, "operations per endpoint and direction"),
        count!(ia.max_rdma_read_per_ep_in, "RDMA reads per endpoint"),
        count!(ia.max_rdma_read_per_ep_out, "RDMA reads per endpoint"),
        count!(ia.max_evds, "event dispatchers"),
        count!(ia.max_evd_qlen, "events per dispatcher"),
        count!(ia.max_iov_segments_per_dto, "segments per send or receive"),
        count!(ia.max_lmrs, "local memory regions"),
        Row::bytes("max_lmr_block_size", ia.max_lmr_block_size),
        Row::address("max_lmr_virtual_address", ia.max_lmr_virtual_address),
        count!(ia.max_pzs, "protection zones"),
        Row::bytes("max_message_size", ia.max_message_size),
        Row::bytes("max_rdma_size", ia.max_rdma_size),
        count!(ia.max_rmrs, "remote memory regions"),
        Row::address("max_rmr_target_address", ia.max_rmr_target_address),
        count!(ia.max_srqs, "shared receive queues"),
        count!(ia.max_ep_per_srq, "endpoints per shared receive queue"),
        count!(ia.max_recv_per_srq, "receives per shared receive queue"),
        count!(ia.max_iov_segments_per_rdma_read, "segments per RDMA read"),
        count!(ia.max_iov_segments_per_rdma_write, "segments per RDMA write"),
        count!(ia.max_rdma_read_in, "RDMA reads of all endpoints"),
        count!(ia.max_rdma_read_out, "RDMA reads of all endpoints"),
        Row::flag("max_rdma_read_per_ep_in_guaranteed", ia.max_rdma_read_per_ep_in_guaranteed),
        Row::flag("max_rdma_read_per_ep_out_guaranteed", ia.max_rdma_read_per_ep_out_guaranteed),
        Row::flag("zero_based_supported", ia.zero_based_supported),
        Row::named("transport_attributes", &ia.transport),
        Row::named("vendor_attributes", &ia.vendor),
    ];
    Section { key: "ia", title: "Interface adapter", rows }
}

/// The attributes of the provider.
pub(super) fn provider(provider: &ProviderAttributes) -> Section {
    let rows = vec![
        Row::text("provider_name", &provider.provider_name),
        Row::version("provider_version", provider.provider_version),
        Row::names("lmr_mem_types_supported", provider.lmr_mem_types.iter_names()),
        Row::text("iov_ownership_on_return", ownership(provider.iov_ownership)),
        Row::names("dat_qos_supported", provider.qos_supported.iter_names()),
        Row::names("completion_flags_supported", provider.completion_flags_supported.iter_names()),
        Row::bytes("max_private_data_size", provider.max_private_data_size.into()),
        Row::flag("supports_multipath", provider.supports_multipath),
        Row::text("ep_creator_for_psp", creator(provider.ep_creator)),
        Row::text("pz_support", zones(provider.pz_support)),
        Row::bytes("optimal_buffer_alignment", provider.optimal_buffer_alignment.into()),
        Row {
            key: "evd_streams_not_merged",
            value: Value::Words(unmerged(&provider.evd_stream_merging)),
        },
        Row::flag("srq_supported", provider.srq_supported),
        Row::flag("srq_watermarks_supported", provider.srq_watermarks_supported),
        Row::flag("srq_ep_pz_difference_supported", provider.srq_ep_pz_difference_supported),
        Row::flag("lmr_sync_required", provider.lmr_sync_required),
        Row::flag("rmr_supported", provider.rmr_supported),
        Row::flag("rmr_scope_ep_supported", provider.rmr_scope_ep_supported),
        Row::flag("invalidate_supported", provider.invalidate_supported),
        Row::flag("invalidate_scope_pz_supported", provider.invalidate_scope_pz_supported),
        Row::flag("read_to_rmr_supported", provider.read_to_rmr_supported),
        Row::flag("atomics_supported", provider.atomics_supported),
        Row::flag("datagrams_supported", provider.datagrams_supported),
        Row::flag("immediate_data_supported", provider.immediate_data_supported),
        Row::named("provider_specific", &provider.provider_specific),
    ];
    Section { key: "provider", title: "Provider", rows }
}

/// The attributes of an endpoint that is created without any.
pub(super) fn endpoint(ep: &EpAttributes) -> Section {
    let service = match ep.service_type {
        0 => "reliable connection".to_owned(),
        other => format!("type {other}"),
    };
    let rows = vec![
        Row::text("service_type", service),
        Row::bytes("max_message_size", ep.max_message_size),
        Row::bytes("max_rdma_size", ep.max_rdma_size),
        Row::names("qos", ep.qos.iter_names()),
        Row::names("recv_completion_flags", ep.recv_completion_flags.iter_names()),
        Row::names("request_completion_flags", ep.request_completion_flags.iter_names()),
        count!(ep.max_recv_dtos, "receives"),
        count!(ep.max_request_dtos, "sends, RDMA operations and binds"),
        count!(ep.max_recv_iov, "segments per receive"),
        count!(ep.max_request_iov, "segments per send"),
        count!(ep.max_rdma_read_in, "RDMA reads"),
        count!(ep.max_rdma_read_out, "RDMA reads"),
        count!(ep.srq_soft_hw, "buffers (0: no watermark)"),
        count!(ep.max_rdma_read_iov, "segments per RDMA read (0: as a send)"),
        count!(ep.max_rdma_write_iov, "segments per RDMA write (0: as a send)"),
        Row::named("ep_transport_specific", &ep.transport_specific),
        Row::named("ep_provider_specific", &ep.provider_specific),
    ];
    Section { key: "default_ep", title: "Ep by default", rows }
}

fn ownership(ownership: IovOwnership) -> &'static str {
    match ownership {
        IovOwnership::Consumer => "consumer",
        IovOwnership::ProviderNoModify => "provider until completion, must not be changed",
        IovOwnership::ProviderModify => "provider until completion, may be changed",
    }
}

fn creator(creator: EpCreator) -> &'static str {
    match creator {
        EpCreator::Never => "consumer only",
        EpCreator::OnRequest => "consumer, or provider on request",
        EpCreator::Always => "provider only",
    }
}

fn zones(support: PzSupport) -> &'static str {
    match support {
        PzSupport::Unique => "one open instance",
        PzSupport::Shareable => "shared between instances",
    }
}

/// The pairs of event streams that need separate dispatchers.
fn unmerged(matrix: &StreamMerging) -> Vec<String> {
    let name = |index: usize| {
        let (name, _) = StreamMerging::STREAMS[index].iter_names().next().unwrap_or_default();
        name.to_owned()
    };
    let mut pairs = Vec::new();
    for row in 0..6 {
        for column in row + 1..6 {
            if !matrix.0[row][column] {
                pairs.push(format!("{} with {}", name(row), name(column)));
            }
        }
    }
    pairs
}
