//! The segments of a request or receive. Few of them take no memory of their own.

use std::ops::Deref;

use dat_provider::Segment;

/// Most requests have no more.
const FEW: usize = 4;

/// Segments.
#[derive(Default)]
pub(super) struct Segments {
    few: [Segment; FEW],
    count: usize,
    /// All of them, where they are more than few.
    many: Box<[Segment]>,
}

impl From<&[Segment]> for Segments {
    fn from(all: &[Segment]) -> Self {
        let mut segments = Self { count: all.len(), ..Self::default() };
        match segments.few.get_mut(..all.len()) {
            Some(few) => few.copy_from_slice(all),
            None => segments.many = all.into(),
        }
        segments
    }
}

impl Deref for Segments {
    type Target = [Segment];

    fn deref(&self) -> &[Segment] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}
