//! What differs in DAT 2.0 from DAT 1.2, and the calls that only DAT 2.0 has.

use crate::api::object::Handle as _;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::ptr::null_mut;

use real::error::{Result, ReturnType, Subtype};
use real::provider::Relationship;
use real::{
    ApiVersion, Comm, CompletionFlags, DtoCompletion, LmrTriplet, ObjectKind, Operation, RmrScope,
    RmrTriplet,
};

use crate::abi::*;
use crate::api::address::{self, Address};
use crate::api::cr::to_private_data;
use crate::api::library::{Shared, call, fill, library};
use crate::api::lmr::OutParameters;
use crate::api::result::check;
use crate::api::{Bind, Segments, event};

pub(crate) use crate::extension::*;

/// The environment variable with the path of the library.
pub(crate) const VARIABLE: &str = "DAT_LIBRARY_2_0";

/// The file name of the library.
pub(crate) const FILE: &str = "libdat2.so.2";

/// Fills the slots that only the table of DAT 2.0 has.
pub(crate) fn fill_more(shared: &Shared, table: &mut DAT_PROVIDER) {
    fill! { shared, table;
        csp_create_func = c"dat_csp_create",
        csp_query_func = c"dat_csp_query",
        csp_free_func = c"dat_csp_free",
        ep_common_connect_func = c"dat_ep_common_connect",
        rmr_create_for_ep_func = c"dat_rmr_create_for_ep",
        ep_post_send_with_invalidate_func = c"dat_ep_post_send_with_invalidate",
        ep_post_rdma_read_to_rmr_func = c"dat_ep_post_rdma_read_to_rmr",
        cno_fd_create_func = c"dat_cno_fd_create",
        cno_trigger_func = c"dat_cno_trigger",
    }
}

/// The API version to open a name with.
pub(crate) fn api_version(wanted: ApiVersion) -> (u32, u32) {
    if wanted == ApiVersion::V1_2 { (1, 2) } else { (DAT_VERSION_MAJOR, DAT_VERSION_MINOR) }
}

/// Decodes a return code.
pub(crate) fn decode(code: DAT_RETURN) -> Option<(ReturnType, Subtype)> {
    let return_type = ReturnType::from_value(code & DAT_TYPE_MASK)?;
    Some((return_type, Subtype::from_value(code & DAT_SUBTYPE_MASK)?))
}

/// The kinds of objects that only DAT 2.0 has.
pub(crate) const fn kind(kind: DAT_HANDLE_TYPE) -> Option<ObjectKind> {
    if kind == DAT_HANDLE_TYPE_CSP { Some(ObjectKind::Csp) } else { None }
}

/// Converts a length that the library returned.
pub(crate) const fn length(value: DAT_SEG_LENGTH) -> u64 {
    value as u64
}

/// Converts a length for a call; saturates.
pub(crate) fn to_length(value: u64) -> DAT_SEG_LENGTH {
    DAT_SEG_LENGTH::try_from(value).unwrap_or(DAT_SEG_LENGTH::MAX)
}

/// Converts a local segment for a call.
pub(crate) fn local(from: &LmrTriplet) -> DAT_LMR_TRIPLET {
    DAT_LMR_TRIPLET {
        virtual_address: from.address,
        segment_length: to_length(from.length),
        lmr_context: from.context,
    }
}

/// Converts a local segment that the library returned.
pub(crate) const fn from_local(from: &DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: length(from.segment_length),
        context: from.lmr_context,
    }
}

/// Converts a remote segment for a call.
pub(crate) fn remote(from: &RmrTriplet) -> DAT_RMR_TRIPLET {
    DAT_RMR_TRIPLET {
        virtual_address: from.address,
        segment_length: to_length(from.length),
        rmr_context: from.context,
    }
}

/// The cookie of a post.
pub(crate) const fn cookie(_operation: Operation, cookie: u64) -> DAT_CONTEXT {
    DAT_CONTEXT { as_64: cookie }
}

/// Converts a completion.
pub(crate) fn completion(from: &DAT_DTO_COMPLETION_EVENT_DATA) -> DtoCompletion {
    DtoCompletion {
        ep: event::id(from.ep_handle),
        // SAFETY: every bit pattern is a valid integer.
        cookie: unsafe { from.user_cookie.as_64 },
        length: length(from.transfered_length),
        operation: match from.operation {
            DAT_DTO_SEND => Operation::Send,
            DAT_DTO_RDMA_WRITE => Operation::RdmaWrite,
            DAT_DTO_RDMA_READ => Operation::RdmaRead,
            DAT_DTO_RECEIVE => Operation::Receive,
            DAT_DTO_RECEIVE_WITH_INVALIDATE => Operation::ReceiveWithInvalidate,
            other => extended_operation(other),
        },
        status: event::status(from.status),
        extra: from.rmr_context,
    }
}

/// Whether the adapter supports zero-based addresses.
pub(crate) const fn zero_based(from: &DAT_IA_ATTR) -> bool {
    from.zb_supported != DAT_FALSE
}

/// Whether the API has sends with invalidate.
pub(crate) const HAS_INVALIDATE: bool = true;

/// Whether the adapter has the InfiniBand extensions.
pub(crate) const fn has_extensions(from: &DAT_IA_ATTR) -> bool {
    from.extension_supported == DAT_EXTENSION_IB
}

/// Whether the provider supports remote regions for one endpoint.
pub(crate) const fn has_scope_of_endpoints(from: &DAT_PROVIDER_ATTR) -> bool {
    matches!(from.rmr_scope_supported, DAT_RMR_SCOPE_EP | DAT_RMR_SCOPE_ANY)
}

/// Rejects a request.
pub(crate) fn reject(cr: DAT_CR_HANDLE, private_data: &[u8]) -> Result<()> {
    let (size, data) = to_private_data(private_data);
    call!(table.cr_reject_func(cr, size, data))
}

/// Registers memory.
pub(crate) fn lmr_create(
    ia: DAT_IA_HANDLE,
    mem_type: DAT_MEM_TYPE,
    description: DAT_REGION_DESCRIPTION,
    length: DAT_VLEN,
    pz: DAT_PZ_HANDLE,
    privileges: DAT_MEM_PRIV_FLAGS,
    places: &mut OutParameters,
) -> Result<()> {
    call!(table.lmr_create_func(
        ia,
        mem_type,
        description,
        length,
        pz,
        privileges,
        DAT_VA_TYPE_VA,
        &raw mut places.handle,
        &raw mut places.lmr_context,
        &raw mut places.rmr_context,
        &raw mut places.registered_length,
        &raw mut places.registered_address,
    ))
}

/// Creates a remote region for one endpoint.
pub(crate) fn rmr_create_for_ep(pz: DAT_PZ_HANDLE) -> Result<DAT_RMR_HANDLE> {
    let mut rmr = null_mut();
    call!(table.rmr_create_for_ep_func(pz, &raw mut rmr))?;
    Ok(rmr)
}

/// Binds a remote region.
pub(crate) fn rmr_bind(
    rmr: DAT_RMR_HANDLE,
    ep: DAT_EP_HANDLE,
    bind: &Bind<'_>,
    context: &mut DAT_RMR_CONTEXT,
) -> Result<()> {
    let triplet = local(&bind.triplet);
    call!(table.rmr_bind_func(
        rmr,
        bind.lmr.handle(),
        &raw const triplet,
        bind.privileges.bits(),
        DAT_VA_TYPE_VA,
        ep,
        DAT_CONTEXT { as_64: bind.cookie },
        bind.flags.bits(),
        &raw mut *context,
    ))
}

/// Converts the scope of a remote region.
pub(crate) fn scope(from: &DAT_RMR_PARAM) -> RmrScope {
    match from.rmr_scope {
        DAT_RMR_SCOPE_EP => RmrScope::Ep,
        DAT_RMR_SCOPE_PZ => RmrScope::Pz,
        other => panic!("{other} is not the scope of a region"),
    }
}

/// Creates a common service point.
pub(crate) fn csp_create(
    ia: DAT_IA_HANDLE,
    comm: Comm,
    address: SocketAddr,
    evd: DAT_EVD_HANDLE,
) -> Result<DAT_CSP_HANDLE> {
    let mut csp = null_mut();
    let mut comm = DAT_COMM { domain: comm.domain, r#type: comm.kind, protocol: comm.protocol };
    let mut address = Address::new(address);
    call!(table.csp_create_func(ia, &raw mut comm, address.pointer(), evd, &raw mut csp))?;
    Ok(csp)
}

/// Queries a common service point: adapter, communicator, address and dispatcher.
pub(crate) fn csp_query(
    csp: DAT_CSP_HANDLE,
) -> Result<(DAT_IA_HANDLE, Comm, SocketAddr, DAT_EVD_HANDLE)> {
    // SAFETY: the struct holds pointers and integers, for which all zero bits are valid.
    let mut param: DAT_CSP_PARAM = unsafe { mem::zeroed() };
    call!(table.csp_query_func(csp, DAT_CSP_FIELD_ALL, &raw mut param))?;
    // SAFETY: the library promises a communicator there.
    let comm = unsafe { param.comm.read() };
    let comm = Comm { domain: comm.domain, kind: comm.r#type, protocol: comm.protocol };
    let address = address::read(param.address_ptr).expect("every service point has one");
    Ok((param.ia_handle, comm, address, param.evd_handle))
}

/// Frees a common service point.
pub(crate) fn csp_free(csp: DAT_CSP_HANDLE) -> Result<()> {
    call!(table.csp_free_func(csp))
}

/// Connects to a common service point.
pub(crate) fn common_connect(
    ep: DAT_EP_HANDLE,
    remote: SocketAddr,
    timeout: DAT_TIMEOUT,
    private_data: &[u8],
) -> Result<()> {
    let mut remote = Address::new(remote);
    let (size, data) = to_private_data(private_data);
    call!(table.ep_common_connect_func(ep, remote.pointer(), timeout, size, data))
}

/// Posts a send with invalidate.
pub(crate) fn send_with_invalidate(
    ep: DAT_EP_HANDLE,
    iov: &mut Segments,
    cookie: u64,
    flags: CompletionFlags,
    context: u32,
) -> Result<()> {
    let cookie = DAT_CONTEXT { as_64: cookie };
    let (number, list, flags) = (iov.number(), iov.pointer(), flags.bits());
    let invalidate = DAT_TRUE;
    call!(
        table.ep_post_send_with_invalidate_func(
            ep, number, list, cookie, flags, invalidate, context
        )
    )
}

/// Posts an RDMA read to a remote context.
pub(crate) fn read_to_rmr(
    ep: DAT_EP_HANDLE,
    local: &RmrTriplet,
    cookie: u64,
    from: &RmrTriplet,
    flags: CompletionFlags,
) -> Result<()> {
    let cookie = DAT_CONTEXT { as_64: cookie };
    let (to, from) = (remote(local), remote(from));
    call!(table.ep_post_rdma_read_to_rmr_func(
        ep,
        &raw const to,
        cookie,
        &raw const from,
        flags.bits(),
    ))
}

/// Creates a notification object with a descriptor.
pub(crate) fn cno_fd_create(ia: DAT_IA_HANDLE) -> Result<(DAT_CNO_HANDLE, RawFd)> {
    let (mut cno, mut fd) = (null_mut(), -1);
    call!(table.cno_fd_create_func(ia, &raw mut fd, &raw mut cno))?;
    Ok((cno, fd))
}

/// The descriptor of a notification object.
pub(crate) fn cno_fd(cno: DAT_CNO_HANDLE) -> Result<RawFd> {
    // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
    let mut param: DAT_CNO_PARAM = unsafe { mem::zeroed() };
    let all = DAT_CNO_FIELD_IA_HANDLE | DAT_CNO_FIELD_PROXY_TYPE | DAT_CNO_FIELD_PROXY;
    call!(table.cno_query_func(cno, all, &raw mut param))?;
    if param.proxy_type != DAT_PROXY_TYPE_FD {
        return Err(crate::api::result::missing("Cno::fd"));
    }
    // SAFETY: the type says which member of the union is set.
    Ok(unsafe { param.proxy.fd })
}

/// Takes a trigger of a notification object.
pub(crate) fn cno_trigger(cno: DAT_CNO_HANDLE) -> Result<DAT_EVD_HANDLE> {
    let mut evd = null_mut();
    call!(table.cno_trigger_func(cno, &raw mut evd))?;
    Ok(evd)
}

/// Whether two adapters are related.
pub(crate) fn providers_related(one: &str, other: &str) -> Result<Relationship> {
    type Related =
        unsafe extern "C" fn(DAT_NAME_PTR, DAT_NAME_PTR, *mut DAT_HA_RELATIONSHIP) -> DAT_RETURN;
    let related: Related = library().shared.find(c"dat_registry_providers_related");
    let text = |name: &str| std::ffi::CString::new(name).expect("names contain no NUL");
    let (one, other) = (text(one), text(other));
    let mut relationship = 0;
    // SAFETY: both names are NUL-terminated, and the out-parameter outlives the call.
    let code = unsafe {
        related(one.as_ptr().cast_mut(), other.as_ptr().cast_mut(), &raw mut relationship)
    };
    check(code, "registry_providers_related")?;
    Ok(match relationship {
        DAT_HA_FALSE => Relationship::Unrelated,
        DAT_HA_TRUE => Relationship::Related,
        DAT_HA_UNKNOWN => Relationship::Unknown,
        DAT_HA_CONFLICTING => Relationship::Conflicting,
        other => panic!("{other} is not a DAT_HA_RELATIONSHIP"),
    })
}
