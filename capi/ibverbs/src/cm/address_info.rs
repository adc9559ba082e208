//! Name resolution (rdma_getaddrinfo(3)).

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use libc::{addrinfo, sockaddr, sockaddr_storage, socklen_t};
use rdma_verbs::sys::rdma_cma::{
    RAI_NUMERICHOST, RAI_PASSIVE, RDMA_PS_TCP, RDMA_PS_UDP, rdma_addrinfo,
};
use rdma_verbs::sys::verbs::{IBV_QPT_RC, IBV_QPT_UD};

use super::address;
use crate::guard::{self, given, invalid, refused};
use crate::object::Zero;

/// The family of InfiniBand's own addresses.
const AF_IB: c_int = 27;

// SAFETY: numbers and pointers.
unsafe impl Zero for rdma_addrinfo {}

/// Resolves a node and a service, or the addresses of the hints. Returns 0, an error code of gai_strerror(3), or -1 with
/// errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: Option<&rdma_addrinfo>,
    result: &mut MaybeUninit<*mut rdma_addrinfo>,
) -> c_int {
    guard::number(|| {
        if node.is_null() && service.is_null() && hints.is_none() {
            return Err(invalid("cannot resolve an address: give a node, a service or hints"));
        }
        let list = if node.is_null() && service.is_null() {
            // SAFETY: the caller guarantees the addresses of the hints.
            unsafe { from_hints(given(hints, "the hints")?) }
        } else {
            // SAFETY: the caller guarantees strings.
            match unsafe { resolve(node, service, hints) } {
                Ok(list) => list,
                Err(libc::EAI_SYSTEM) => return Err(guard::last()),
                Err(code) => return Ok(code),
            }
        };
        if list.is_null() {
            return Err(refused(libc::ENODATA, "cannot resolve an address: the system knows none"));
        }
        result.write(list);
        Ok(0)
    })
}

/// A result with the addresses of the hints.
unsafe fn from_hints(hints: &rdma_addrinfo) -> *mut rdma_addrinfo {
    let mut info = rdma_addrinfo::zero();
    info.ai_flags = hints.ai_flags;
    info.ai_family = hints.ai_family;
    info.ai_qp_type = hints.ai_qp_type;
    info.ai_port_space = hints.ai_port_space;
    // SAFETY: the caller guarantees the addresses of the hints.
    unsafe { set_source(&mut info, hints.ai_src_addr, hints.ai_src_len) };
    if hints.ai_dst_len != 0 {
        // SAFETY: as above.
        info.ai_dst_addr = unsafe { copy(hints.ai_dst_addr, hints.ai_dst_len) };
        info.ai_dst_len = if info.ai_dst_addr.is_null() { 0 } else { hints.ai_dst_len };
    }
    Box::into_raw(Box::new(info))
}

unsafe fn set_source(info: &mut rdma_addrinfo, from: *const sockaddr, length: socklen_t) {
    if length != 0 {
        // SAFETY: the caller guarantees the address.
        info.ai_src_addr = unsafe { copy(from, length) };
        info.ai_src_len = if info.ai_src_addr.is_null() { 0 } else { length };
    }
}

/// A copy of an address, in the space of the longest.
unsafe fn copy(from: *const sockaddr, length: socklen_t) -> *mut sockaddr {
    // SAFETY: the caller guarantees null or an address.
    let Ok(Some(known)) = (unsafe { address::from_c(from) }) else { return null_mut() };
    // SAFETY: all zeros is a valid address: the family is unspecified.
    let mut space: Box<sockaddr_storage> = Box::new(unsafe { std::mem::zeroed() });
    if address::write(&mut space, Some(known)) > length {
        return null_mut();
    }
    Box::into_raw(space).cast()
}

/// Resolves names. Each address is a result.
unsafe fn resolve(
    node: *const c_char,
    service: *const c_char,
    hints: Option<&rdma_addrinfo>,
) -> Result<*mut rdma_addrinfo, c_int> {
    // SAFETY: all zeros is valid: no hint.
    let mut wanted: addrinfo = unsafe { std::mem::zeroed() };
    wanted.ai_socktype = libc::SOCK_STREAM;
    if let Some(hints) = hints {
        let flag = |rai: c_int, ai: c_int| if hints.ai_flags & rai != 0 { ai } else { 0 };
        wanted.ai_flags =
            flag(RAI_PASSIVE, libc::AI_PASSIVE) | flag(RAI_NUMERICHOST, libc::AI_NUMERICHOST);
        // Addresses of InfiniBand have no names.
        if hints.ai_family != AF_IB {
            wanted.ai_family = hints.ai_family;
        }
        if is_datagram(hints) {
            wanted.ai_socktype = libc::SOCK_DGRAM;
        }
        // So a type that the port space does not have is refused.
        wanted.ai_protocol = match hints.ai_port_space as u32 {
            RDMA_PS_TCP => libc::IPPROTO_TCP,
            RDMA_PS_UDP => libc::IPPROTO_UDP,
            _ => 0,
        };
    }
    let mut found = null_mut();
    // SAFETY: the caller guarantees null or strings; the others are valid.
    let code = unsafe { libc::getaddrinfo(node, service, &raw const wanted, &raw mut found) };
    if code != 0 {
        return Err(code);
    }
    let mut results = Vec::new();
    let mut next = found;
    // SAFETY: the list of getaddrinfo ends with null.
    while let Some(one) = unsafe { next.as_ref() } {
        results.push(convert(one, hints));
        next = one.ai_next;
    }
    // SAFETY: it comes from getaddrinfo.
    unsafe { libc::freeaddrinfo(found) };
    let link = |next: *mut rdma_addrinfo, mut info: Box<rdma_addrinfo>| {
        info.ai_next = next;
        Box::into_raw(info)
    };
    Ok(results.into_iter().rev().fold(null_mut(), link))
}

/// Returns true if the hints request datagrams.
fn is_datagram(hints: &rdma_addrinfo) -> bool {
    match hints.ai_qp_type {
        0 => hints.ai_port_space == RDMA_PS_UDP as c_int,
        qp_type => qp_type == IBV_QPT_UD as c_int,
    }
}

fn convert(found: &addrinfo, hints: Option<&rdma_addrinfo>) -> Box<rdma_addrinfo> {
    let mut info = Box::new(rdma_addrinfo::zero());
    let is_datagram = hints.is_some_and(is_datagram);
    info.ai_family = found.ai_family;
    info.ai_qp_type = if is_datagram { IBV_QPT_UD } else { IBV_QPT_RC } as c_int;
    info.ai_port_space = if is_datagram { RDMA_PS_UDP } else { RDMA_PS_TCP } as c_int;
    // SAFETY: getaddrinfo returns addresses of their length.
    let address = unsafe { copy(found.ai_addr, found.ai_addrlen) };
    let mut is_passive = false;
    if let Some(hints) = hints {
        info.ai_flags = hints.ai_flags & RAI_PASSIVE;
        is_passive = hints.ai_flags & RAI_PASSIVE != 0;
        if hints.ai_qp_type != 0 {
            info.ai_qp_type = hints.ai_qp_type;
        }
        if hints.ai_port_space != 0 {
            info.ai_port_space = hints.ai_port_space;
        }
    }
    let length = if address.is_null() { 0 } else { found.ai_addrlen };
    if is_passive {
        (info.ai_src_addr, info.ai_src_len) = (address, length);
        return info;
    }
    (info.ai_dst_addr, info.ai_dst_len) = (address, length);
    if let Some(hints) = hints {
        // SAFETY: the caller of the call guarantees the address of the hints.
        unsafe { set_source(&mut info, hints.ai_src_addr, hints.ai_src_len) };
    }
    info
}

/// Frees a list of [`soft_rdma_getaddrinfo`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn soft_rdma_freeaddrinfo(list: *mut rdma_addrinfo) {
    let mut next = list;
    while !next.is_null() {
        // SAFETY: the caller guarantees a list of boxes.
        let info = unsafe { Box::from_raw(next) };
        for address in [info.ai_src_addr, info.ai_dst_addr] {
            if !address.is_null() {
                // SAFETY: it was made by `copy`.
                drop(unsafe { Box::from_raw(address.cast::<sockaddr_storage>()) });
            }
        }
        // The rest of a result is null: there are no names, routes or connection data.
        next = info.ai_next;
    }
}
