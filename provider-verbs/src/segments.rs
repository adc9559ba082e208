//! Segments of the contract in the form of the device.

use dat_core::provider::Segment;

use crate::verbs::Sge;

/// As many as a post has at most.
const MOST: usize = 32;

/// Does something with the segments in the device's form, which stand on the stack.
#[inline(always)]
pub(crate) fn with<R>(segments: &[Segment], use_them: impl FnOnce(&[Sge]) -> R) -> R {
    let (one, many);
    // One segment, or none, is what most posts have.
    let list = if let [] | [_] = segments {
        one = [segments.first().map(convert).unwrap_or_default()];
        &one[..segments.len()]
    } else {
        many = convert_all(segments);
        &many[..segments.len().min(MOST)]
    };
    use_them(list)
}

#[inline(never)]
fn convert_all(segments: &[Segment]) -> [Sge; MOST] {
    let mut list = [Sge::default(); MOST];
    for (place, segment) in list.iter_mut().zip(segments) {
        *place = convert(segment);
    }
    list
}

/// The first segments, as far as that many bytes go.
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

/// A segment in the device's form. No segment is longer than the longest message, which the
/// device counts in 32 bits.
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
            let list: Vec<Segment> = (0..count).map(|at| segment(at * 10, at)).collect();
            with(&list, |converted| {
                let expected: Vec<Sge> = list.iter().map(convert).collect();
                assert_eq!(converted, expected);
            });
        }
    }

    #[test]
    fn no_more_than_the_bytes_are_named() {
        let list = [segment(0, 4), segment(10, 6), segment(20, 5)];
        let (cut, count) = first(&list, 7);
        assert_eq!(cut[..count], [segment(0, 4), segment(10, 3)]);
        assert_eq!(first(&list, 0).1, 0);
        assert_eq!(first(&list, 99).1, 3);
    }
}
