//! Conversion of attributes from and to the structs of C.

use std::ffi::{CStr, CString, c_char};
use std::mem;
use std::ptr::null_mut;

use real::attr::{
    EpAttributes, EpCreator, IaAttributes, IovOwnership, NamedAttr, ProviderAttributes, PzSupport,
    StreamMerging,
};
use real::error::Result;
use real::flags::MemoryTypes;
use real::{Address, CompletionFlags, Qos};

use super::address;
use super::convert::{count, to_count};
use super::result::call;
use crate::abi::*;
use crate::version;

/// The attributes of an adapter and its provider, by dat_ia_query.
pub(crate) fn of_adapter(handle: DAT_IA_HANDLE) -> Result<(IaAttributes, ProviderAttributes)> {
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    let mut ia: DAT_IA_ATTR = unsafe { mem::zeroed() };
    // SAFETY: as above.
    let mut provider: DAT_PROVIDER_ATTR = unsafe { mem::zeroed() };
    call!(table.ia_query_func(
        handle,
        null_mut(),
        DAT_IA_FIELD_ALL,
        &raw mut ia,
        DAT_PROVIDER_FIELD_ALL,
        &raw mut provider,
    ))?;
    Ok(of(&ia, &provider))
}

/// Converts the result of a query.
pub(crate) fn of(
    ia: &DAT_IA_ATTR,
    provider: &DAT_PROVIDER_ATTR,
) -> (IaAttributes, ProviderAttributes) {
    (interface(ia), self::provider(provider, ia))
}

fn text(from: &[c_char]) -> String {
    let bytes: Vec<u8> = from.iter().map(|it| *it as u8).collect();
    let text = CStr::from_bytes_until_nul(&bytes).expect("names are NUL-terminated");
    text.to_string_lossy().into_owned()
}

fn named(count: DAT_COUNT, list: *const DAT_NAMED_ATTR) -> Vec<NamedAttr> {
    if count == 0 {
        return Vec::new();
    }
    let count = usize::try_from(count).expect("a count is not negative");
    // SAFETY: the library promises a list of `count` elements.
    let list = unsafe { std::slice::from_raw_parts(list, count) };
    let text = |from| {
        // SAFETY: the library promises NUL-terminated strings.
        unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
    };
    list.iter().map(|it| NamedAttr::new(text(it.name), text(it.value))).collect()
}

fn interface(from: &DAT_IA_ATTR) -> IaAttributes {
    let address = address::read_adapter(from.ia_address_ptr);
    IaAttributes {
        adapter_name: text(&from.adapter_name),
        vendor_name: text(&from.vendor_name),
        hardware_version: (from.hardware_version_major, from.hardware_version_minor),
        firmware_version: (from.firmware_version_major, from.firmware_version_minor),
        address: address.unwrap_or(Address::UNSPECIFIED),
        max_eps: count(from.max_eps),
        max_dto_per_ep: count(from.max_dto_per_ep),
        max_rdma_read_per_ep_in: count(from.max_rdma_read_per_ep_in),
        max_rdma_read_per_ep_out: count(from.max_rdma_read_per_ep_out),
        max_evds: count(from.max_evds),
        max_evd_qlen: count(from.max_evd_qlen),
        max_iov_segments_per_dto: count(from.max_iov_segments_per_dto),
        max_lmrs: count(from.max_lmrs),
        max_lmr_block_size: version::length(from.max_lmr_block_size),
        max_lmr_virtual_address: from.max_lmr_virtual_address,
        max_pzs: count(from.max_pzs),
        max_message_size: version::length(from.max_message_size),
        max_rdma_size: version::length(from.max_rdma_size),
        max_rmrs: count(from.max_rmrs),
        max_rmr_target_address: from.max_rmr_target_address,
        max_srqs: count(from.max_srqs),
        max_ep_per_srq: count(from.max_ep_per_srq),
        max_recv_per_srq: count(from.max_recv_per_srq),
        max_iov_segments_per_rdma_read: count(from.max_iov_segments_per_rdma_read),
        max_iov_segments_per_rdma_write: count(from.max_iov_segments_per_rdma_write),
        max_rdma_read_in: count(from.max_rdma_read_in),
        max_rdma_read_out: count(from.max_rdma_read_out),
        max_rdma_read_per_ep_in_guaranteed: from.max_rdma_read_per_ep_in_guaranteed != DAT_FALSE,
        max_rdma_read_per_ep_out_guaranteed: from.max_rdma_read_per_ep_out_guaranteed != DAT_FALSE,
        zero_based_supported: version::zero_based(from),
        transport: named(from.num_transport_attr, from.transport_attr),
        vendor: named(from.num_vendor_attr, from.vendor_attr),
    }
}

fn provider(from: &DAT_PROVIDER_ATTR, ia: &DAT_IA_ATTR) -> ProviderAttributes {
    let provider_name = text(&from.provider_name);
    // C has no attribute for what only providers without a device can do.
    let over_device = provider_name == "DAT verbs";
    let provider_specific = named(from.num_provider_specific_attr, from.provider_specific_attr);
    let offers = |name: &str| {
        let is_it = |it: &NamedAttr| it.name == name && it.value == "TRUE";
        version::has_extensions(ia) && provider_specific.iter().any(is_it)
    };
    ProviderAttributes {
        provider_name,
        provider_version: (from.provider_version_major, from.provider_version_minor),
        lmr_mem_types: memory_types(from.lmr_mem_types_supported),
        iov_ownership: match from.iov_ownership_on_return {
            DAT_IOV_CONSUMER => IovOwnership::Consumer,
            DAT_IOV_PROVIDER_NOMOD => IovOwnership::ProviderNoModify,
            DAT_IOV_PROVIDER_MOD => IovOwnership::ProviderModify,
            other => panic!("{other} is not a DAT_IOV_OWNERSHIP"),
        },
        qos_supported: Qos::from_bits_retain(from.dat_qos_supported),
        completion_flags_supported: CompletionFlags::from_bits_retain(
            from.completion_flags_supported,
        ),
        max_private_data_size: count(from.max_private_data_size),
        supports_multipath: from.supports_multipath != DAT_FALSE,
        ep_creator: match from.ep_creator {
            DAT_PSP_CREATES_EP_NEVER => EpCreator::Never,
            DAT_PSP_CREATES_EP_IFASKED => EpCreator::OnRequest,
            DAT_PSP_CREATES_EP_ALWAYS => EpCreator::Always,
            other => panic!("{other} is not a DAT_EP_CREATOR_FOR_PSP"),
        },
        pz_support: match from.pz_support {
            DAT_PZ_UNIQUE => PzSupport::Unique,
            DAT_PZ_SHAREABLE => PzSupport::Shareable,
            other => panic!("{other} is not a DAT_PZ_SUPPORT"),
        },
        optimal_buffer_alignment: from.optimal_buffer_alignment,
        evd_stream_merging: StreamMerging(
            from.evd_stream_merging_supported.map(|row| row.map(|it| it != DAT_FALSE)),
        ),
        srq_supported: from.srq_supported != DAT_FALSE,
        srq_watermarks_supported: from.srq_watermarks_supported != 0,
        srq_ep_pz_difference_supported: from.srq_ep_pz_difference_supported != DAT_FALSE,
        lmr_sync_required: from.lmr_sync_req != DAT_FALSE,
        rmr_supported: ia.max_rmrs > 0,
        rmr_scope_ep_supported: version::has_scope_of_endpoints(from),
        invalidate_supported: version::HAS_INVALIDATE,
        invalidate_scope_pz_supported: version::HAS_INVALIDATE && !over_device,
        read_to_rmr_supported: version::HAS_INVALIDATE && !over_device,
        atomics_supported: offers("DAT_IB_FETCH_AND_ADD") && offers("DAT_IB_CMP_AND_SWAP"),
        datagrams_supported: offers("DAT_IB_UD"),
        immediate_data_supported: offers("DAT_IB_IMMED_DATA"),
        provider_specific,
    }
}

/// The kinds of memory whose numbers C has the union of; that of virtual memory is 0.
fn memory_types(union: DAT_MEM_TYPE) -> MemoryTypes {
    let has = |number: DAT_MEM_TYPE, kind| {
        if union & number != 0 { kind } else { MemoryTypes::empty() }
    };
    assert_eq!(union & !(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL), 0);
    MemoryTypes::VIRTUAL
        | has(DAT_MEM_TYPE_LMR, MemoryTypes::LMR)
        | has(DAT_MEM_TYPE_SHARED_VIRTUAL, MemoryTypes::SHARED_VIRTUAL)
}

/// What an endpoint has whose maker names no attributes: there is no call that tells, but one can
/// be made and asked.
pub(crate) fn default_endpoint(ia: DAT_IA_HANDLE) -> Result<EpAttributes> {
    let (mut pz, mut ep) = (null_mut(), null_mut());
    call!(table.pz_create_func(ia, &raw mut pz))?;
    let none = null_mut();
    call!(table.ep_create_func(ia, pz, none, none, none, null_mut(), &raw mut ep))?;
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    let mut param: DAT_EP_PARAM = unsafe { mem::zeroed() };
    call!(table.ep_query_func(ep, DAT_EP_FIELD_ALL, &raw mut param))?;
    let attributes = endpoint(&param.ep_attr);
    call!(table.ep_free_func(ep))?;
    call!(table.pz_free_func(pz))?;
    Ok(attributes)
}

/// Converts the attributes of an endpoint.
pub(crate) fn endpoint(from: &DAT_EP_ATTR) -> EpAttributes {
    EpAttributes {
        service_type: from.service_type,
        max_message_size: version::length(from.max_message_size),
        max_rdma_size: version::length(from.max_rdma_size),
        qos: Qos::from_bits_retain(from.qos),
        recv_completion_flags: CompletionFlags::from_bits_retain(from.recv_completion_flags),
        request_completion_flags: CompletionFlags::from_bits_retain(from.request_completion_flags),
        max_recv_dtos: count(from.max_recv_dtos),
        max_request_dtos: count(from.max_request_dtos),
        max_recv_iov: count(from.max_recv_iov),
        max_request_iov: count(from.max_request_iov),
        max_rdma_read_in: count(from.max_rdma_read_in),
        max_rdma_read_out: count(from.max_rdma_read_out),
        srq_soft_hw: count(from.srq_soft_hw),
        max_rdma_read_iov: count(from.max_rdma_read_iov),
        max_rdma_write_iov: count(from.max_rdma_write_iov),
        transport_specific: named(from.ep_transport_specific_count, from.ep_transport_specific),
        provider_specific: named(from.ep_provider_specific_count, from.ep_provider_specific),
    }
}

/// Attributes for a call, with the lists and strings that they point to.
pub(crate) struct EndpointAttributes {
    attributes: DAT_EP_ATTR,
    _lists: [Vec<DAT_NAMED_ATTR>; 2],
    _texts: Vec<CString>,
}

impl EndpointAttributes {
    pub(crate) fn new(from: &EpAttributes) -> Self {
        let mut texts = Vec::new();
        let mut list = |attributes: &[NamedAttr]| -> Vec<DAT_NAMED_ATTR> {
            let mut text = |text: &str| {
                let text = CString::new(text).expect("attributes of cases contain no NUL");
                let address = text.as_ptr();
                texts.push(text);
                address
            };
            let attributes = attributes.iter();
            attributes
                .map(|it| DAT_NAMED_ATTR { name: text(&it.name), value: text(&it.value) })
                .collect()
        };
        let mut lists = [list(&from.transport_specific), list(&from.provider_specific)];
        let [transport, provider] = &mut lists;
        let attributes = DAT_EP_ATTR {
            service_type: from.service_type,
            max_message_size: version::to_length(from.max_message_size),
            max_rdma_size: version::to_length(from.max_rdma_size),
            qos: from.qos.bits(),
            recv_completion_flags: from.recv_completion_flags.bits(),
            request_completion_flags: from.request_completion_flags.bits(),
            max_recv_dtos: to_count(from.max_recv_dtos),
            max_request_dtos: to_count(from.max_request_dtos),
            max_recv_iov: to_count(from.max_recv_iov),
            max_request_iov: to_count(from.max_request_iov),
            max_rdma_read_in: to_count(from.max_rdma_read_in),
            max_rdma_read_out: to_count(from.max_rdma_read_out),
            srq_soft_hw: to_count(from.srq_soft_hw),
            max_rdma_read_iov: to_count(from.max_rdma_read_iov),
            max_rdma_write_iov: to_count(from.max_rdma_write_iov),
            ep_transport_specific_count: number(transport),
            ep_transport_specific: transport.as_mut_ptr(),
            ep_provider_specific_count: number(provider),
            ep_provider_specific: provider.as_mut_ptr(),
        };
        Self { attributes, _lists: lists, _texts: texts }
    }

    pub(crate) const fn get(&self) -> &DAT_EP_ATTR {
        &self.attributes
    }
}

fn number(list: &[DAT_NAMED_ATTR]) -> DAT_COUNT {
    DAT_COUNT::try_from(list.len()).expect("few attributes")
}
