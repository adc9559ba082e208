//! Memory regions (ibv_reg_mr(3), ibv_rereg_mr(3), ibv_advise_mr(3)).

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use dat_soft_verbs::{Access, Region};
use libc::size_t;
use rdma_verbs::sys::domain_ex::{
    IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
};
use rdma_verbs::sys::verbs::{ibv_mr, ibv_pd, ibv_sge};

use super::domain;
use super::post::segments;
use crate::guard::{self, Failure, Result, in_range, invalid, unsupported};
use crate::object::{self, fields_of};

/// The attributes that `ibv_rereg_mr` changes.
const CHANGE_TRANSLATION: c_int = 1;
const CHANGE_PD: c_int = 1 << 1;
const CHANGE_ACCESS: c_int = 1 << 2;

/// The results of `ibv_rereg_mr`: the old region is valid, or the region cannot be used.
const ERR_INPUT: c_int = -1;
const ERR_CMD: c_int = -4;

#[repr(C)]
struct Mr {
    c: ibv_mr,
    core: Arc<Region>,
}

fields_of!(ibv_mr as Mr: core: Arc<Region>);

fn access(flags: c_uint) -> Result<Access> {
    let known = Access::from_bits_truncate(flags);
    // Optional flags that are not known are ignored (ibv_reg_mr(3)).
    let unknown = flags & !known.bits() & !Access::OPTIONAL.bits();
    if unknown != 0 {
        let text = format!(
            "cannot register memory with the access flags {unknown:#x}: the device lacks them"
        );
        return Err(unsupported(text));
    }
    Ok(known)
}

/// Registers memory.
///
/// # Safety
/// The domain must be alive, and the memory mapped as long as it is registered.
unsafe fn register(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: size_t,
    iova: u64,
    flags: c_uint,
) -> Result<Mr> {
    let start = address.expose_provenance() as u64;
    // SAFETY: the caller guarantees a live domain.
    let domain = unsafe { domain::core(pd) };
    // SAFETY: the caller guarantees the memory.
    let core = unsafe { domain.register(start, length as u64, iova, access(flags)?) }?;
    // SAFETY: the caller guarantees a live domain.
    let context = unsafe { domain::context(pd) };
    let (lkey, rkey) = (core.local_key(), core.remote_key());
    Ok(Mr { c: ibv_mr { context, pd, addr: address, length, handle: 0, lkey, rkey }, core })
}

/// Registers memory, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr_iova2(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: size_t,
    iova: u64,
    access: c_uint,
) -> *mut ibv_mr {
    guard::object(|| {
        // SAFETY: the caller guarantees the same.
        let region = unsafe { register(pd, address, length, iova, access) }?;
        Ok(object::create(|_| Ok(region))?.cast())
    })
}

/// Registers memory, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: size_t,
    access: c_int,
) -> *mut ibv_mr {
    // SAFETY: the caller guarantees the same.
    unsafe { ibv_reg_mr_iova2(pd, address, length, address.addr() as u64, access as c_uint) }
}

/// Registers memory under other addresses, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr_iova(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: size_t,
    iova: u64,
    access: c_int,
) -> *mut ibv_mr {
    // SAFETY: the caller guarantees the same.
    unsafe { ibv_reg_mr_iova2(pd, address, length, iova, access as c_uint) }
}

/// Refused: there is no memory of devices.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_reg_dmabuf_mr(
    _pd: *mut ibv_pd,
    _offset: u64,
    _length: size_t,
    _iova: u64,
    _descriptor: c_int,
    _access: c_int,
) -> *mut ibv_mr {
    guard::object(|| Err(unsupported("cannot register a dmabuf: register memory of the process")))
}

/// Ends a registration: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live region.
        unsafe { core(mr) }.deregister()?;
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(mr.cast::<Mr>()) };
        Ok(())
    })
}

/// Registers a region again, with other memory, another domain or other accesses. Its keys stay, unless it has an iova
/// of its own. Returns 0, or one of the negative results of the manual page, with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_rereg_mr(
    mr: *mut ibv_mr,
    flags: c_int,
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: size_t,
    access: c_int,
) -> c_int {
    let changed = guard::run(|| {
        if flags == 0 || flags & !(CHANGE_TRANSLATION | CHANGE_PD | CHANGE_ACCESS) != 0 {
            return Err(invalid(format!(
                "cannot register a region again with the flags {flags:#x}"
            )));
        }
        // SAFETY: the caller guarantees a live region, which no other thread uses meanwhile.
        let old = unsafe { &mut *mr.cast::<Mr>() };
        let (mut new_address, mut new_length) = (old.c.addr, old.c.length);
        let mut iova = old.core.iova();
        if flags & CHANGE_TRANSLATION != 0 {
            if address.is_null() || length == 0 {
                return Err(invalid(format!(
                    "cannot register a region again: there are {length} bytes at {address:p}"
                )));
            }
            (new_address, new_length) = (address, length);
            iova = address.addr() as u64;
        }
        let new_pd = if flags & CHANGE_PD != 0 { pd } else { old.c.pd };
        let new_access =
            if flags & CHANGE_ACCESS != 0 { access as c_uint } else { old.core.access().bits() };
        let start = new_address.expose_provenance() as u64;
        let new_access = self::access(new_access)?;
        // SAFETY: the caller guarantees a live domain.
        let domain = unsafe { domain::core(new_pd) };
        let length = new_length as u64;
        // SAFETY: the caller guarantees the memory.
        let again = unsafe { domain.reregister(&old.core, start, length, iova, new_access) };
        old.core = again?;
        (old.c.addr, old.c.length, old.c.pd) = (new_address, new_length, new_pd);
        (old.c.lkey, old.c.rkey) = (old.core.local_key(), old.core.remote_key());
        // SAFETY: the caller guarantees a live domain.
        old.c.context = unsafe { domain::context(new_pd) };
        Ok(())
    });
    match changed {
        Ok(()) => 0,
        Err(Failure(errno)) => {
            guard::set_errno(errno);
            if errno == libc::EIO { ERR_CMD } else { ERR_INPUT }
        }
    }
}

/// The operation of `ibv_advise_mr`.
pub(crate) unsafe extern "C" fn advise(
    pd: *mut ibv_pd,
    advice: c_int,
    flags: u32,
    ranges: *mut ibv_sge,
    count: u32,
) -> c_int {
    guard::status(|| {
        if !matches!(advice, IBV_ADVISE_MR_ADVICE_PREFETCH..=IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
        {
            return Err(unsupported(format!("cannot advise the device with the advice {advice}")));
        }
        if flags & !IBV_ADVISE_MR_FLAG_FLUSH != 0 || count == 0 {
            return Err(invalid(format!(
                "cannot advise the device of {count} ranges with the flags {flags:#x}"
            )));
        }
        let count = in_range(count, "the number of ranges")?;
        // SAFETY: the caller guarantees the segments.
        let segments = unsafe { segments(ranges, count) }?;
        let is_written = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
        // SAFETY: the caller guarantees a live domain.
        Ok(unsafe { domain::core(pd) }.advise(segments, is_written)?)
    })
}
