//! A queue of bytes.

use dat_core::provider::mem::Span;
use dat_provider_kit::bytes;
use dat_provider_kit::link::End;

/// Bytes that are written at the end and read at the beginning.
#[derive(Default)]
pub(crate) struct Bytes {
    all: Vec<u8>,
    /// Number of bytes that were read of them.
    taken: usize,
}

impl Bytes {
    pub(crate) fn len(&self) -> usize {
        self.all.len() - self.taken
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where to append bytes, and nothing else.
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        if self.taken > 0 && self.taken * 2 >= self.all.len() {
            self.all.drain(..self.taken);
            self.taken = 0;
        }
        &mut self.all
    }

    /// The first bytes, up to a number.
    pub(crate) fn first(&self, most: usize) -> &[u8] {
        &self.all[self.taken..][..most.min(self.len())]
    }

    /// Drops the first bytes.
    pub(crate) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Appends the first bytes of spans, or nothing if one of them cannot be read.
    pub(crate) fn gather(&mut self, from: &[Span], count: usize) -> Result<(), End> {
        let into = self.end();
        let before = into.len();
        into.resize(before + count, 0);
        bytes::gather_into(from, &mut into[before..]).map(drop).map_err(|_| {
            into.truncate(before);
            End::Inaccessible
        })
    }

    /// Takes the first bytes into spans. Returns their number.
    pub(crate) fn scatter(&mut self, into: &[Span]) -> Result<usize, End> {
        let part = self.first(bytes::total(into));
        let count = bytes::scatter(part, into).map_err(|_| End::Inaccessible)?;
        self.take(count);
        Ok(count)
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_once_and_in_order() {
        let mut queue = Bytes::default();
        let (mut written, mut read) = (0_u8..=255, Vec::new());
        while read.len() < 256 {
            queue.end().extend(written.by_ref().take(7));
            let part = queue.first(5).to_vec();
            queue.take(part.len());
            read.extend(part);
        }
        assert!(read.into_iter().eq(0..=255) && queue.is_empty());
    }
}
