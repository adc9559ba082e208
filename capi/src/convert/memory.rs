//! Segments of posts, and the memory that they lie in.

use std::mem::MaybeUninit;
use std::slice;

use dat_core::error::Result;
use dat_core::flags::MemoryTypes;
use dat_core::{LmrTriplet, RmrTriplet};

use super::Narrow;
use crate::abi::*;
use crate::argument;

/// The most segments of a post that are gathered here; the core allows no more.
pub(crate) const SEGMENTS: usize = 32;

/// Room for the segments of a post.
pub(crate) struct Segments([MaybeUninit<LmrTriplet>; SEGMENTS]);

impl Segments {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; SEGMENTS])
    }

    /// The segments of C that there is room for, as the core has them.
    #[inline]
    fn fill(&mut self, from: &[DAT_LMR_TRIPLET]) -> &[LmrTriplet] {
        let count = from.len().min(SEGMENTS);
        for (place, from) in self.0.iter_mut().zip(from) {
            place.write(local_from_c(from));
        }
        // SAFETY: so many were just written.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), count) }
    }
}

/// The kind of memory that a region was made from.
pub(crate) fn memory_type(memory_type: MemoryTypes) -> DAT_MEM_TYPE {
    match memory_type {
        MemoryTypes::LMR => DAT_MEM_TYPE_LMR,
        MemoryTypes::SHARED_VIRTUAL => DAT_MEM_TYPE_SHARED_VIRTUAL,
        _ => DAT_MEM_TYPE_VIRTUAL,
    }
}

/// A local segment from C.
#[inline]
pub(crate) fn local_from_c(from: &DAT_LMR_TRIPLET) -> LmrTriplet {
    LmrTriplet {
        address: from.virtual_address,
        length: from.segment_length.widen(),
        context: from.lmr_context,
    }
}

/// Gathers the segments that C posts, as the second and third of its arguments, where the caller
/// has room: they are too much to be passed around.
///
/// # Safety
/// The address is that of so many segments.
#[inline(always)]
pub(crate) unsafe fn segments(
    count: DAT_COUNT,
    iov: *const DAT_LMR_TRIPLET,
    room: &mut Segments,
) -> Result<&[LmrTriplet]> {
    // What most posts have.
    if count == 1 && argument::is_address_of::<DAT_LMR_TRIPLET>(iov.addr()) {
        // SAFETY: as the caller promises.
        let only = unsafe { &*iov };
        return Ok(slice::from_ref(room.0[0].write(local_from_c(only))));
    }
    // SAFETY: as the caller promises.
    unsafe { any_segments(count, iov, room) }
}

/// As [`segments`], for any number of them.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn any_segments(
    count: DAT_COUNT,
    iov: *const DAT_LMR_TRIPLET,
    room: &mut Segments,
) -> Result<&[LmrTriplet]> {
    let count = argument::count(count, 2)?;
    // SAFETY: as the caller promises.
    let iov = unsafe { argument::array(iov, count.into(), SEGMENTS as u64, (2, 3)) }?;
    Ok(room.fill(iov))
}

/// A remote segment from C, as one of its arguments.
///
/// # Safety
/// The address is that of a segment.
#[inline]
pub(crate) unsafe fn remote(from: *const DAT_RMR_TRIPLET, argument: u32) -> Result<RmrTriplet> {
    // SAFETY: as the caller promises.
    let from = unsafe { argument::given(from, argument) }?;
    Ok(crate::dialect::remote_from_c(from))
}
