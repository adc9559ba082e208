//! Segments of posts, and the regions that they name.

use std::mem::MaybeUninit;
use std::slice;

use dat_core::error::Result;
use dat_core::flags::MemoryTypes;
use dat_core::{LmrParam, LmrTriplet, RmrParam, RmrTriplet};

use super::Narrow;
use crate::abi::*;
use crate::argument::{self, Array};
use crate::handle::{Region, of_number};

/// Maximum number of segments of a post; the core allows no more.
pub(crate) const SEGMENTS: usize = 32;

/// Storage for the segments of a post.
pub(crate) struct Segments([MaybeUninit<LmrTriplet>; SEGMENTS]);

impl Segments {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; SEGMENTS])
    }

    /// Converts the C segments, at most as many as fit.
    #[inline]
    fn fill(&mut self, from: Array<'_, DAT_LMR_TRIPLET>) -> &[LmrTriplet] {
        let count = from.len().min(SEGMENTS);
        for (slot, from) in self.0.iter_mut().zip(from.iter()) {
            slot.write(local_from_c(from));
        }
        // SAFETY: the first `count` elements were just written.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), count) }
    }
}

/// Converts a local segment.
#[inline]
pub(crate) fn local_from_c(from: DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: from.segment_length.widen(),
        context: from.lmr_context,
    }
}

/// Converts the segments that C posts, as its second and third argument, into storage of the
/// caller: they are too large to be returned.
///
/// # Safety
/// The address is that of `count` readable segments.
#[inline(always)]
pub(crate) unsafe fn segments(
    count: DAT_COUNT,
    iov: *const DAT_LMR_TRIPLET,
    buffer: &mut Segments,
) -> Result<&[LmrTriplet]> {
    // The usual case.
    if count == 1 && argument::is_address(iov.addr()) {
        // SAFETY: the address was checked, and the caller guarantees a readable segment.
        let only = unsafe { iov.read_unaligned() };
        return Ok(slice::from_ref(buffer.0[0].write(local_from_c(only))));
    }
    // SAFETY: the caller guarantees `count` readable segments.
    unsafe { several_segments(count, iov, buffer) }
}

/// As [`segments`], for any number of them.
///
/// # Safety
/// As for [`segments`].
#[cold]
#[inline(never)]
unsafe fn several_segments(
    count: DAT_COUNT,
    iov: *const DAT_LMR_TRIPLET,
    buffer: &mut Segments,
) -> Result<&[LmrTriplet]> {
    let count = argument::count(count, 2)?;
    // SAFETY: the caller guarantees `count` readable segments.
    let iov = unsafe { argument::array(iov, count.into(), SEGMENTS as u64, (2, 3)) }?;
    Ok(buffer.fill(iov))
}

/// Converts a remote segment that C passes as one of its arguments.
///
/// # Safety
/// The address is that of a readable segment, or is rejected.
#[inline]
pub(crate) unsafe fn remote(from: *const DAT_RMR_TRIPLET, argument: u32) -> Result<RmrTriplet> {
    // SAFETY: the caller guarantees a readable segment, unless the check rejects the address.
    let from = unsafe { argument::given(from, argument) }?;
    Ok(RmrTriplet {
        address: by_version! { { from.target_address } { from.virtual_address } },
        length: from.segment_length.widen(),
        context: from.rmr_context,
    })
}

/// The C number of the kind of memory of a region.
fn memory_type(memory_type: MemoryTypes) -> DAT_MEM_TYPE {
    match memory_type {
        MemoryTypes::LMR => DAT_MEM_TYPE_LMR,
        MemoryTypes::SHARED_VIRTUAL => DAT_MEM_TYPE_SHARED_VIRTUAL,
        _ => DAT_MEM_TYPE_VIRTUAL,
    }
}

/// The parameters of a local memory region.
pub(crate) fn lmr_param_to_c(
    ia_handle: DAT_IA_HANDLE,
    region: Region,
    param: &LmrParam,
) -> DAT_LMR_PARAM {
    value! { DAT_LMR_PARAM {
        ia_handle,
        mem_type: memory_type(param.memory_type),
        region_desc: region.description,
        length: region.length,
        pz_handle: of_number(param.pz.id()),
        mem_priv: param.privileges.bits(),
        v2 { va_type: DAT_VA_TYPE_VA, }
        lmr_context: param.lmr_context,
        rmr_context: param.rmr_context,
        registered_size: param.registered_size,
        registered_address: param.registered_address,
    } }
}

/// The parameters of a remote memory region.
pub(crate) fn rmr_param_to_c(ia_handle: DAT_IA_HANDLE, param: &RmrParam) -> DAT_RMR_PARAM {
    let triplet = param.lmr_triplet.unwrap_or_default();
    value! { DAT_RMR_PARAM {
        ia_handle,
        pz_handle: of_number(param.pz.id()),
        lmr_triplet: value! { DAT_LMR_TRIPLET {
            virtual_address: triplet.address,
            segment_length: Narrow::narrow(triplet.length),
            lmr_context: triplet.context,
            v1 { pad: 0, }
        } },
        mem_priv: param.privileges.bits(),
        rmr_context: param.rmr_context,
        v2 {
            rmr_scope: match param.scope {
                dat_core::RmrScope::Ep => DAT_RMR_SCOPE_EP,
                dat_core::RmrScope::Pz => DAT_RMR_SCOPE_PZ,
            },
            va_type: DAT_VA_TYPE_VA,
        }
    } }
}
