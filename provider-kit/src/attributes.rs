//! The attributes of a software adapter.

use dat_provider::attr::{EpAttributes, IaAttributes, NamedAttr, ProviderAttributes};
use dat_provider::flags::{CompletionFlags, MemoryTypes, Qos};
use dat_provider::{AdapterAttributes, Address, Description};

use crate::parameters::Limits;

/// The version of the providers of this project, major and minor.
pub const VERSION: (u32, u32) =
    (number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")));

const fn number(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("Cargo checks the numbers of a version"),
    }
}

/// The attributes of an adapter and its provider.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The name that the adapter was opened with.
    pub name: String,
    /// The provider.
    pub provider: Description,
    /// The attributes that only this provider has, by name.
    pub specific: Vec<NamedAttr>,
}

impl Identity {
    /// The identity of an adapter of this name.
    #[must_use]
    pub fn new(name: &str, provider: Description, specific: Vec<NamedAttr>) -> Self {
        Self { name: name.to_owned(), provider, specific }
    }
}

/// The attributes of an adapter with these limits, which supports everything but datagrams; those the transport decides.
#[must_use]
pub fn attributes(identity: &Identity, address: Address, limits: &Limits) -> AdapterAttributes {
    AdapterAttributes {
        ia: interface(identity, address, limits),
        provider: provider(identity, limits),
        default_ep: default_ep(limits),
        // Completion queues are memory of the process.
        completion_scope: Some(0),
    }
}

fn interface(identity: &Identity, address: Address, limits: &Limits) -> IaAttributes {
    IaAttributes {
        adapter_name: identity.name.clone(),
        vendor_name: identity.provider.vendor.to_owned(),
        address,
        max_eps: limits.max_eps,
        max_dto_per_ep: limits.max_dto_per_ep,
        max_rdma_read_per_ep_in: limits.max_rdma_read_in,
        max_rdma_read_per_ep_out: limits.max_rdma_read_out,
        max_evds: limits.max_evds,
        max_evd_qlen: limits.max_evd_qlen,
        max_iov_segments_per_dto: limits.max_iov,
        max_lmrs: limits.max_lmrs,
        max_lmr_block_size: isize::MAX as u64,
        max_lmr_virtual_address: usize::MAX as u64,
        max_pzs: limits.max_pzs,
        max_message_size: u64::from(limits.max_message_size),
        max_rdma_size: u64::from(limits.max_rdma_size),
        max_rmrs: limits.max_rmrs,
        max_rmr_target_address: usize::MAX as u64,
        max_srqs: limits.max_srqs,
        max_ep_per_srq: limits.max_eps,
        max_recv_per_srq: limits.max_recv_per_srq,
        max_iov_segments_per_rdma_read: limits.max_iov,
        max_iov_segments_per_rdma_write: limits.max_iov,
        // Nothing is shared between endpoints, so each can have its own maximum.
        max_rdma_read_in: limits.max_rdma_read_in.saturating_mul(limits.max_eps),
        max_rdma_read_out: limits.max_rdma_read_out.saturating_mul(limits.max_eps),
        ..IaAttributes::default()
    }
}

fn provider(identity: &Identity, limits: &Limits) -> ProviderAttributes {
    ProviderAttributes {
        provider_name: identity.provider.vendor.to_owned(),
        provider_version: identity.provider.version,
        lmr_mem_types: MemoryTypes::all(),
        qos_supported: Qos::all(),
        completion_flags_supported: CompletionFlags::all() - CompletionFlags::LMR_INVALIDATE_FENCE,
        max_private_data_size: limits.max_private_data_size,
        srq_supported: true,
        srq_watermarks_supported: true,
        srq_ep_pz_difference_supported: true,
        rmr_supported: true,
        rmr_scope_ep_supported: true,
        invalidate_supported: true,
        invalidate_scope_pz_supported: true,
        read_to_rmr_supported: true,
        atomics_supported: true,
        immediate_data_supported: true,
        provider_specific: identity.specific.clone(),
        ..ProviderAttributes::default()
    }
}

fn default_ep(limits: &Limits) -> EpAttributes {
    let operations = limits.max_dto_per_ep.min(64);
    let segments = limits.max_iov.min(4);
    EpAttributes {
        max_message_size: u64::from(limits.max_message_size),
        max_rdma_size: u64::from(limits.max_rdma_size),
        max_recv_dtos: operations,
        max_request_dtos: operations,
        max_recv_iov: segments,
        max_request_iov: segments,
        max_rdma_read_in: limits.max_rdma_read_in,
        max_rdma_read_out: limits.max_rdma_read_out,
        ..EpAttributes::default()
    }
}
