//! The identifiers of posts (`wr_id`).

/// The identifier of a post: the entry of its work queue and its number there, or the slot of a
/// buffer in a shared receive queue.
pub(super) struct Identifier {
    pub(super) index: u16,
    pub(super) generation: u16,
    pub(super) number: u32,
}

/// The index that denotes shared receive queues.
pub(super) const SHARED: u16 = u16::MAX;

/// The part of an identifier besides the number.
#[inline(always)]
pub(super) const fn key(identifier: u64) -> u32 {
    identifier as u32
}

/// The post number in an identifier.
pub(crate) const fn number_of(identifier: u64) -> u32 {
    Identifier::unpack(identifier).number
}

/// Returns true if an identifier belongs to a buffer of a shared receive queue.
pub(super) fn is_shared(identifier: u64) -> bool {
    Identifier::unpack(identifier).shared_place().is_some()
}

/// The identifier of a buffer of a shared receive queue.
pub(crate) fn shared_identifier(place: u32) -> u64 {
    Identifier { index: SHARED, generation: 0, number: place }.pack()
}

impl Identifier {
    pub(super) fn pack(&self) -> u64 {
        // This layout needs the fewest instructions to unpack.
        u64::from(self.number) << 32 | u64::from(self.generation) << 16 | u64::from(self.index)
    }

    #[inline(always)]
    pub(super) const fn unpack(value: u64) -> Self {
        Self { index: value as u16, generation: (value >> 16) as u16, number: (value >> 32) as u32 }
    }

    /// The identifier of a post, given that of its work queue's post number 0.
    #[inline(always)]
    pub(super) const fn numbered(place: u64, number: u32) -> u64 {
        place | (number as u64) << 32
    }

    /// The slot of a buffer of a shared receive queue.
    pub(super) fn shared_place(&self) -> Option<u32> {
        (self.index == SHARED).then_some(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_reverses_packing() {
        let id = Identifier::unpack(
            Identifier { index: 513, generation: 65535, number: u32::MAX }.pack(),
        );
        assert_eq!((id.index, id.generation, id.number), (513, 65535, u32::MAX));
        assert_eq!(id.shared_place(), None);
        assert_eq!(Identifier::unpack(shared_identifier(9)).shared_place(), Some(9));
    }
}
