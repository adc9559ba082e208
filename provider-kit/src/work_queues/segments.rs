//! The segments of a request or receive; up to four are stored without an allocation.

use std::ops::Deref;

use dat_provider::Segment;

/// Maximum number of segments that are stored inline.
const MAX_INLINE: usize = 4;

/// A list of segments.
#[derive(Default)]
pub(crate) struct Segments {
    inline: [Segment; MAX_INLINE],
    count: usize,
    /// All segments, if there are more than [`MAX_INLINE`].
    heap: Box<[Segment]>,
}

impl From<&[Segment]> for Segments {
    fn from(all: &[Segment]) -> Self {
        let mut segments = Self { count: all.len(), ..Self::default() };
        match segments.inline.get_mut(..all.len()) {
            Some(inline) => inline.copy_from_slice(all),
            None => segments.heap = all.into(),
        }
        segments
    }
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        self.inline.get(..self.count).unwrap_or(&self.heap)
    }
}
