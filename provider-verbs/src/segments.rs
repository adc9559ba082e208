//! Segments of the contract in the form of the device.

use dat_core::provider::Segment;

use crate::verbs::Sge;

/// As many as a post has at most.
const MOST: usize = 32;

/// Does something with the segments in the device's form, which stand on the stack.
#[inline]
pub(crate) fn with<R>(segments: &[Segment], use_them: impl FnOnce(&[Sge]) -> R) -> R {
    // One segment, or none, is what most posts have.
    if let [] | [_] = segments {
        let list = segments.first().map(convert).unwrap_or_default();
        return use_them(&[list][..segments.len()]);
    }
    let mut list = [Sge::default(); MOST];
    for (place, segment) in list.iter_mut().zip(segments) {
        *place = convert(segment);
    }
    use_them(&list[..segments.len().min(MOST)])
}

/// A segment in the device's form. No segment is longer than the longest message, which the
/// device counts in 32 bits.
#[inline]
pub(crate) fn convert(segment: &Segment) -> Sge {
    let length = u32::try_from(segment.length).unwrap_or(u32::MAX);
    Sge { addr: segment.address, length, lkey: segment.key }
}
