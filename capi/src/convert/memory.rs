//! Segments of posts.

use arrayvec::ArrayVec;
use dat_core::error::Result;
use dat_core::{LmrTriplet, RmrTriplet};

use super::Narrow;
use crate::abi::{DAT_COUNT, DAT_LMR_TRIPLET, DAT_RMR_TRIPLET};
use crate::argument;

/// The most segments of a post that are gathered here; the core allows no more.
pub(crate) const SEGMENTS: usize = 32;

/// The segments of a post.
pub(crate) type Segments = ArrayVec<LmrTriplet, SEGMENTS>;

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
#[inline]
pub(crate) unsafe fn segments<'a>(
    count: DAT_COUNT,
    iov: *const DAT_LMR_TRIPLET,
    room: &'a mut Segments,
) -> Result<&'a [LmrTriplet]> {
    let count = argument::count(count, 2)?;
    // SAFETY: as the caller promises.
    let iov = unsafe { argument::array(iov, count.into(), SEGMENTS as u64, (2, 3)) }?;
    room.extend(iov.iter().map(local_from_c));
    Ok(room)
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
