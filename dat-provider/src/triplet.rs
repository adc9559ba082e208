//! Pieces of registered memory, as posts name them.

/// A piece of local memory (`DAT_LMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LmrTriplet {
    /// Its virtual address.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The context of the local memory region that contains it.
    pub context: u32,
}

/// A piece of the peer's memory (`DAT_RMR_TRIPLET`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RmrTriplet {
    /// Its virtual address in the peer.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The context that the peer gave out for it.
    pub context: u32,
}

impl RmrTriplet {
    /// Number of bytes of [`to_bytes`](Self::to_bytes).
    pub const BYTES: usize = 20;

    /// The triplet as bytes in network order, for a message or private data that
    /// advertises memory to a peer: address, length, context.
    ///
    /// ```
    /// # use dat_provider::triplet::RmrTriplet;
    /// let remote = RmrTriplet { address: 0x7f00_0000_1000, length: 4096, context: 7 };
    /// let message = remote.to_bytes();
    /// assert_eq!(RmrTriplet::from_bytes(&message), Some(remote));
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.address.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_be_bytes());
        bytes[16..].copy_from_slice(&self.context.to_be_bytes());
        bytes
    }

    /// The triplet at the beginning of a message, as [`to_bytes`](Self::to_bytes) wrote it. `None` if the
    /// message is shorter.
    #[must_use]
    pub fn from_bytes(message: &[u8]) -> Option<Self> {
        let (address, rest) = message.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (context, _) = rest.split_first_chunk()?;
        Some(Self {
            address: u64::from_be_bytes(*address),
            length: u64::from_be_bytes(*length),
            context: u32::from_be_bytes(*context),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_network_order_and_a_short_message_is_refused() {
        let remote = RmrTriplet { address: 1, length: 2, context: 3 };
        let bytes = remote.to_bytes();
        assert_eq!([bytes[7], bytes[15], bytes[19]], [1, 2, 3]);
        assert_eq!(RmrTriplet::from_bytes(&bytes[..19]), None);
        assert_eq!(RmrTriplet::from_bytes(&[bytes.as_slice(), b"more"].concat()), Some(remote));
    }
}
