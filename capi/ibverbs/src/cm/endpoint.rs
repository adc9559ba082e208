//! Endpoints: identifiers from the results of rdma_getaddrinfo(3) (rdma_create_ep(3), rdma_get_request(3)).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use rdma_verbs::sys::rdma_cma::{RAI_PASSIVE, rdma_addrinfo, rdma_cm_id};
use rdma_verbs::sys::verbs::{ibv_pd, ibv_qp_init_attr};

use super::id::{Id, RequestInit, soft_rdma_destroy_id};
use super::{address, queue_pair};
use crate::guard::{self, Result, given};

/// Creates an identifier that is resolved or bound, with a queue pair if there are attributes; a listener keeps these for
/// its requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_create_ep(
    id: &mut MaybeUninit<*mut rdma_cm_id>,
    info: Option<&rdma_addrinfo>,
    domain: *mut ibv_pd,
    init: Option<&mut ibv_qp_init_attr>,
) -> c_int {
    guard::zero(|| {
        let info = given(info, "the result of rdma_getaddrinfo")?;
        let (space, qp_type) = (info.ai_port_space as u32, info.ai_qp_type as u32);
        // SAFETY: there is no channel.
        let new = unsafe { Id::create(null_mut(), null_mut(), space, Some(qp_type)) }?;
        // SAFETY: the caller guarantees the rest.
        if let Err(failure) = unsafe { complete(new, info, domain, init) } {
            // SAFETY: just created.
            unsafe { soft_rdma_destroy_ep(new) };
            return Err(failure);
        }
        id.write(new.pointer());
        Ok(())
    })
}

unsafe fn complete(
    new: Id<'_>,
    info: &rdma_addrinfo,
    domain: *mut ibv_pd,
    init: Option<&mut ibv_qp_init_attr>,
) -> Result<()> {
    // SAFETY: the caller guarantees the addresses of the result.
    let source = unsafe { address::from_c(info.ai_src_addr) }?;
    let core = new.core();
    if info.ai_flags & RAI_PASSIVE != 0 {
        core.bind(given(source, "the local address (ai_src_addr)")?)?;
        if let Some(init) = init {
            let qp_type = info.ai_qp_type as u32;
            let requests = RequestInit { domain, init: ibv_qp_init_attr { qp_type, ..*init } };
            new.extra().requests = Some(requests);
        }
        return new.refresh();
    }
    // SAFETY: as above.
    let destination = unsafe { address::from_c(info.ai_dst_addr) }?;
    core.resolve_address(source, given(destination, "the address of the peer (ai_dst_addr)")?)?;
    new.outcome()?;
    core.resolve_route()?;
    new.outcome()?;
    new.refresh()?;
    if let Some(init) = init {
        init.qp_type = info.ai_qp_type as u32;
        // SAFETY: the caller guarantees the domain, and the objects of the attributes.
        unsafe { queue_pair::create_plain(new, domain, init) }?;
    }
    if info.ai_connect_len > 0 && !info.ai_connect.is_null() {
        // SAFETY: the caller guarantees the data of the result.
        let data = unsafe {
            std::slice::from_raw_parts(info.ai_connect.cast::<u8>(), info.ai_connect_len)
        };
        new.extra().connect_data = data.to_vec();
    }
    Ok(())
}

/// Destroys an identifier with its queue pair and its shared receive queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_destroy_ep(id: Id<'_>) {
    // SAFETY: as the caller guarantees.
    unsafe { queue_pair::soft_rdma_destroy_qp(id) };
    // SAFETY: as above.
    unsafe { queue_pair::soft_rdma_destroy_srq(id) };
    // SAFETY: as above.
    unsafe { soft_rdma_destroy_id(id) };
}

/// Takes the next request of a listener, and waits for one. Its queue pair is created if the listener has attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_get_request(
    listener: Id<'_>,
    id: &mut MaybeUninit<*mut rdma_cm_id>,
) -> c_int {
    guard::zero(|| {
        let request = listener.take_request()?;
        let extra = listener.extra();
        let requests = extra.requests.as_ref();
        let requests = requests.map(|one| (one.domain, ibv_qp_init_attr { ..one.init }));
        drop(extra);
        if let Some((domain, mut init)) = requests {
            // SAFETY: the objects of the attributes live as long as the listener, as the manual page demands.
            if let Err(failure) = unsafe { queue_pair::create_plain(request, domain, &mut init) } {
                // SAFETY: only this call knows the request.
                unsafe { soft_rdma_destroy_id(request) };
                return Err(failure);
            }
        }
        id.write(request.pointer());
        Ok(())
    })
}
