//! Conversion of segments to the device's form.

use dat_provider::Segment;

use crate::verbs::Sge;

/// Maximum number of segments of a post.
const MOST: usize = 32;

/// Calls `use_them` with the segments in the device's form, on the stack.
#[inline(always)]
pub(crate) fn with<R>(segments: &[Segment], use_them: impl FnOnce(&[Sge]) -> R) -> R {
    let (one, many);
    // Most posts have one segment, or none.
    let list = if let [] | [_] = segments {
        one = [segments.first().map(convert).unwrap_or_default()];
        &one[..segments.len()]
    } else {
        many = convert_all(segments);
        &many.0[..many.1]
    };
    use_them(list)
}

/// All except empty ones, and their number: some devices read an empty one as 2 GiB, and Linux's
/// soft-iWARP crashes the kernel on it.
#[inline(never)]
fn convert_all(segments: &[Segment]) -> ([Sge; MOST], usize) {
    let mut list = [Sge::default(); MOST];
    let mut count = 0;
    for (place, segment) in
        list.iter_mut().zip(segments.iter().filter(|segment| segment.length != 0))
    {
        *place = convert(segment);
        count += 1;
    }
    (list, count)
}

/// The first segments, up to that many bytes.
pub(crate) fn first(segments: &[Segment], mut bytes: u64) -> ([Segment; MOST], usize) {
    let mut list = [Segment::default(); MOST];
    let mut count = 0;
    for (place, segment) in list.iter_mut().zip(segments) {
        if bytes == 0 {
            break;
        }
        let length = segment.length.min(bytes);
        *place = Segment { length, ..*segment };
        bytes -= length;
        count += 1;
    }
    (list, count)
}

/// Converts a segment. A receive segment may be longer than the device's 32-bit length, but no
/// message can fill it.
#[inline]
pub(crate) fn convert(segment: &Segment) -> Sge {
    let length = u32::try_from(segment.length).unwrap_or(u32::MAX);
    Sge { addr: segment.address, length, lkey: segment.key }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(address: u64, length: u64) -> Segment {
        Segment { address, length, key: 7 }
    }

    #[test]
    fn all_segments_arrive_in_order() {
        for count in 0..=MOST as u64 {
            let list: Vec<Segment> = (0..count).map(|at| segment(at * 10, at + 1)).collect();
            with(&list, |converted| {
                let expected: Vec<Sge> = list.iter().map(convert).collect();
                assert_eq!(converted, expected);
            });
        }
    }

    #[test]
    fn empty_segments_are_omitted() {
        let list = [segment(0, 0), segment(10, 6), segment(20, 0), segment(30, 1)];
        with(&list, |converted| assert_eq!(converted, [convert(&list[1]), convert(&list[3])]));
        with(&list[..1], |converted| assert_eq!(converted, [convert(&list[0])]));
        with(&[list[0], list[2]], |converted| assert_eq!(converted, []));
    }

    #[test]
    fn the_first_segments_hold_exactly_the_bytes() {
        let list = [segment(0, 4), segment(10, 6), segment(20, 5)];
        let (cut, count) = first(&list, 7);
        assert_eq!(cut[..count], [segment(0, 4), segment(10, 3)]);
        assert_eq!(first(&list, 0).1, 0);
        assert_eq!(first(&list, 99).1, 3);
    }
}
