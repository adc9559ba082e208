//! The bytes of an input as a sequence of choices.

/// The rest of an input. At its end, each choice is zero.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// The whole input.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns true if nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `N` bytes, padded with zeros.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let part = self.bytes(N);
        let mut array = [0; N];
        array[..part.len()].copy_from_slice(part);
        array
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    /// The next two bytes, little-endian.
    pub fn half(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next four bytes, little-endian.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next eight bytes, little-endian.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// One of the values of a list that is not empty.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()]
    }

    /// The next bytes, as far as there are that many.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (part, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        part
    }

    /// Bytes whose number, below `limit`, comes before them.
    pub fn part(&mut self, limit: u16) -> &'a [u8] {
        let count = self.half() % limit;
        self.bytes(count.into())
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
