//! Calls that differ in DAT 2.0 from DAT 1.2, and those that only DAT 2.0 has.

use std::ffi::CString;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::ptr::null_mut;

use real::error::Result;
use real::provider::Relationship;
use real::{Comm, CompletionFlags, LmrTriplet, Privileges, RmrTriplet};

use super::conversion::{local, remote};
use crate::abi::*;
use crate::address::{self, SocketAddress};
use crate::convert::to_private_data;
use crate::library::library;
use crate::registration::OutParameters;
use crate::result::{call, check, missing};
use crate::segments::Segments;

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
    results: &mut OutParameters,
) -> Result<()> {
    call!(table.lmr_create_func(
        ia,
        mem_type,
        description,
        length,
        pz,
        privileges,
        DAT_VA_TYPE_VA,
        &raw mut results.handle,
        &raw mut results.lmr_context,
        &raw mut results.rmr_context,
        &raw mut results.registered_length,
        &raw mut results.registered_address,
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
    lmr: DAT_LMR_HANDLE,
    triplet: &LmrTriplet,
    privileges: Privileges,
    ep: DAT_EP_HANDLE,
    cookie: u64,
    flags: CompletionFlags,
) -> Result<DAT_RMR_CONTEXT> {
    let (triplet, mut context) = (local(triplet), 0);
    call!(table.rmr_bind_func(
        rmr,
        lmr,
        &raw const triplet,
        privileges.bits(),
        DAT_VA_TYPE_VA,
        ep,
        DAT_CONTEXT { as_64: cookie },
        flags.bits(),
        &raw mut context,
    ))?;
    Ok(context)
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
    let mut address = SocketAddress::new(address);
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
    let mut remote = SocketAddress::new(remote);
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
        return Err(missing("Cno::fd"));
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

/// The relationship of two adapters.
pub(crate) fn providers_related(one: &str, other: &str) -> Result<Relationship> {
    type Related =
        unsafe extern "C" fn(DAT_NAME_PTR, DAT_NAME_PTR, *mut DAT_HA_RELATIONSHIP) -> DAT_RETURN;
    let related: Related = library().shared.find(c"dat_registry_providers_related");
    let text = |name: &str| CString::new(name).expect("names contain no NUL");
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
