//! Attributes of adapters and providers.

use std::mem;

use dat_core::attr::{EpCreator, IaAttributes, IovOwnership, ProviderAttributes, PzSupport};
use dat_core::flags::MemoryTypes;

use super::address::adapter_to_c;
use super::{Narrow, boolean, count, name};
use crate::abi::*;
use crate::codes;
use crate::handle::CStorage;
use crate::structs;

/// Converts fields that both structures have by a function.
macro_rules! copy {
    ($from:ident => $to:ident by $convert:ident: $($field:ident),+) => {
        $($to.$field = $convert($from.$field);)+
    };
}

/// Converts the attributes of an adapter; addresses and lists belong to the object.
pub(crate) fn adapter_to_attributes(from: &IaAttributes, kept: &mut CStorage) -> DAT_IA_ATTR {
    // SAFETY: the struct has only numbers and addresses, for which zero is valid.
    let mut to: DAT_IA_ATTR = unsafe { mem::zeroed() };
    to.adapter_name = name(&from.adapter_name);
    to.vendor_name = name(&from.vendor_name);
    (to.hardware_version_major, to.hardware_version_minor) = from.hardware_version;
    (to.firmware_version_major, to.firmware_version_minor) = from.firmware_version;
    to.ia_address_ptr = kept.local_address.set(adapter_to_c(from.address)).cast();
    copy!(from => to by count: max_eps, max_dto_per_ep, max_rdma_read_per_ep_in, max_rdma_read_per_ep_out);
    copy!(from => to by count: max_evds, max_evd_qlen, max_iov_segments_per_dto, max_lmrs, max_pzs, max_rmrs);
    copy!(from => to by count: max_srqs, max_ep_per_srq, max_recv_per_srq, max_rdma_read_in, max_rdma_read_out);
    copy!(from => to by count: max_iov_segments_per_rdma_read, max_iov_segments_per_rdma_write);
    copy!(from => to by boolean: max_rdma_read_per_ep_in_guaranteed, max_rdma_read_per_ep_out_guaranteed);
    to.max_lmr_block_size = Narrow::narrow(from.max_lmr_block_size);
    to.max_lmr_virtual_address = from.max_lmr_virtual_address;
    to.max_message_size = Narrow::narrow(from.max_message_size);
    to.max_rdma_size = Narrow::narrow(from.max_rdma_size);
    to.max_rmr_target_address = from.max_rmr_target_address;
    let [transport, vendor, _] = &mut kept.attributes;
    (to.num_transport_attr, to.transport_attr) = transport.show(&from.transport);
    (to.num_vendor_attr, to.vendor_attr) = vendor.show(&from.vendor);
    structs::more_of_adapter(from, &mut to);
    to
}

/// Converts the attributes of a provider; the list belongs to the object.
pub(crate) fn provider_to_attributes(
    from: &ProviderAttributes,
    kept: &mut CStorage,
) -> DAT_PROVIDER_ATTR {
    // SAFETY: the struct has only numbers and addresses, for which zero is valid.
    let mut to: DAT_PROVIDER_ATTR = unsafe { mem::zeroed() };
    to.provider_name = name(&from.provider_name);
    (to.provider_version_major, to.provider_version_minor) = from.provider_version;
    (to.dapl_version_major, to.dapl_version_minor) = codes::VERSION;
    to.lmr_mem_types_supported = memory_types(from.lmr_mem_types);
    to.iov_ownership_on_return = match from.iov_ownership {
        IovOwnership::Consumer => DAT_IOV_CONSUMER,
        IovOwnership::ProviderNoModify => DAT_IOV_PROVIDER_NOMOD,
        IovOwnership::ProviderModify => DAT_IOV_PROVIDER_MOD,
    };
    to.dat_qos_supported = from.qos_supported.bits();
    to.completion_flags_supported = from.completion_flags_supported.bits();
    to.is_thread_safe = DAT_TRUE;
    to.max_private_data_size = count(from.max_private_data_size);
    to.supports_multipath = boolean(from.supports_multipath);
    to.ep_creator = match from.ep_creator {
        EpCreator::Never => DAT_PSP_CREATES_EP_NEVER,
        EpCreator::OnRequest => DAT_PSP_CREATES_EP_IFASKED,
        EpCreator::Always => DAT_PSP_CREATES_EP_ALWAYS,
    };
    to.pz_support = match from.pz_support {
        PzSupport::Unique => DAT_PZ_UNIQUE,
        PzSupport::Shareable => DAT_PZ_SHAREABLE,
    };
    to.optimal_buffer_alignment = from.optimal_buffer_alignment;
    to.evd_stream_merging_supported = from.evd_stream_merging.0.map(|row| row.map(boolean));
    to.srq_supported = boolean(from.srq_supported);
    to.srq_watermarks_supported =
        if from.srq_watermarks_supported { receives::WATERMARKS } else { 0 };
    to.srq_ep_pz_difference_supported = boolean(from.srq_ep_pz_difference_supported);
    to.srq_info_supported = receives::SRQ_INFO;
    to.ep_recv_info_supported = receives::EP_INFO;
    to.lmr_sync_req = boolean(from.lmr_sync_required);
    to.dto_async_return_guaranteed = DAT_FALSE;
    to.rdma_write_for_rdma_read_req = DAT_FALSE;
    let [_, _, provider] = &mut kept.attributes;
    (to.num_provider_specific_attr, to.provider_specific_attr) =
        provider.show(&structs::named_of_provider(from));
    structs::more_of_provider(from, &mut to);
    to
}

/// The kinds of memory for C: the union of their numbers (dat_ia_query(3DAT)). The number of
/// virtual memory, which every provider registers, is 0.
fn memory_types(types: MemoryTypes) -> DAT_MEM_TYPE {
    let number = |kind, number| if types.contains(kind) { number } else { DAT_MEM_TYPE_VIRTUAL };
    number(MemoryTypes::LMR, DAT_MEM_TYPE_LMR)
        | number(MemoryTypes::SHARED_VIRTUAL, DAT_MEM_TYPE_SHARED_VIRTUAL)
}

/// The support of the calls about receives. The headers have no names for these bits; the values are
/// those of Solaris.
mod receives {
    use crate::abi::DAT_COUNT;

    /// dat_srq_set_lw, and both watermarks of dat_ep_set_watermark.
    pub(super) const WATERMARKS: DAT_COUNT = 0x001 | 0x010 | 0x100;
    /// `available_dto_count` and `outstanding_dto_count` of dat_srq_query.
    pub(super) const SRQ_INFO: DAT_COUNT = 0x01 | 0x10;
    /// `nbufs_allocated` and `bufs_alloc_span` of dat_ep_recv_query.
    pub(super) const EP_INFO: DAT_COUNT = 0x01 | 0x10;
}
