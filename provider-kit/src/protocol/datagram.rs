//! The layout of a datagram. Each is one packet: a head of 12 or 16 bytes, little-endian, and the message.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0..3 | the protocol: `DUD` |
//! | 3 | flags: 1 solicited, 2 with immediate data |
//! | 4..12 | the key of the receiving queue pair (Q_Key) |
//! | 12..16 | immediate data, if the flag says so |
//!
//! Packets come from anyone, so [`open`] accepts exactly what [`Head`] and at most [`MAX_DATAGRAM`] bytes make.

/// Length of a head without immediate data, in bytes.
pub(crate) const HEAD: usize = 12;
/// Length of immediate data, in bytes.
pub(crate) const IMMEDIATE: usize = 4;

/// Maximum length of the message of a datagram, in bytes. A packet that is longer than the largest of a network travels in
/// fragments, which the system of the receiver puts together.
pub const MAX_DATAGRAM: usize = 16 << 10;

const PROTOCOL: [u8; 3] = *b"DUD";
const SOLICITED: u8 = 1;
const HAS_IMMEDIATE: u8 = 2;

/// The fields of a datagram besides its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its receive notifies waiters for solicited completions.
    pub(crate) solicited: bool,
    pub(crate) immediate: Option<u32>,
}

impl Head {
    /// Length in bytes.
    pub(crate) const fn len(self) -> usize {
        if self.immediate.is_some() { HEAD + IMMEDIATE } else { HEAD }
    }

    /// Writes the head of a datagram for a queue pair with this key to the start of the packet.
    pub(crate) fn write(self, key: u64, packet: &mut [u8]) {
        let solicited = if self.solicited { SOLICITED } else { 0 };
        let flags = solicited | if self.immediate.is_some() { HAS_IMMEDIATE } else { 0 };
        packet[..3].copy_from_slice(&PROTOCOL);
        packet[3] = flags;
        packet[4..HEAD].copy_from_slice(&key.to_le_bytes());
        if let Some(immediate) = self.immediate {
            packet[HEAD..HEAD + IMMEDIATE].copy_from_slice(&immediate.to_le_bytes());
        }
    }
}

/// A packet that is none of this protocol, is too long, or has another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

/// Checks a packet for a queue pair with this key. Returns its head and the message.
///
/// # Errors
/// [`Foreign`] if it must be dropped.
pub(crate) fn open(packet: &[u8], key: u64) -> Result<(Head, &[u8]), Foreign> {
    let (first, rest) = packet.split_first_chunk::<HEAD>().ok_or(Foreign)?;
    let flags = first[3];
    let (immediate, message) = if flags & HAS_IMMEDIATE == 0 {
        (None, rest)
    } else {
        let (immediate, message) = rest.split_first_chunk::<IMMEDIATE>().ok_or(Foreign)?;
        (Some(u32::from_le_bytes(*immediate)), message)
    };
    let head = Head { solicited: flags & SOLICITED != 0, immediate };
    let mut expected = [0; HEAD + IMMEDIATE];
    head.write(key, &mut expected);
    if first[..] != expected[..HEAD] || message.len() > MAX_DATAGRAM {
        return Err(Foreign);
    }
    Ok((head, message))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: u64 = 0x0123_4567_89ab_cdef;

    fn packet_of(head: Head, key: u64, length: usize) -> Vec<u8> {
        let mut packet = vec![7; head.len() + length];
        head.write(key, &mut packet);
        packet
    }

    fn packet(key: u64, solicited: bool, length: usize) -> Vec<u8> {
        packet_of(Head { solicited, immediate: None }, key, length)
    }

    #[test]
    fn a_datagram_is_opened_with_the_key_of_its_receiver() {
        for solicited in [false, true] {
            for immediate in [None, Some(0), Some(u32::MAX)] {
                for length in [0, 1, MAX_DATAGRAM] {
                    let head = Head { solicited, immediate };
                    let packet = packet_of(head, KEY, length);
                    assert_eq!(open(&packet, KEY), Ok((head, &vec![7; length][..])));
                    assert_eq!(open(&packet, KEY ^ 1 << 63), Err(Foreign));
                    assert_eq!(open(&packet, !KEY), Err(Foreign));
                }
            }
        }
    }

    #[test]
    fn a_packet_with_another_head_or_length_is_foreign() {
        for length in 0..HEAD {
            assert_eq!(open(&packet(KEY, false, 9)[..length], KEY), Err(Foreign));
        }
        assert_eq!(open(&packet(KEY, false, MAX_DATAGRAM + 1), KEY), Err(Foreign));
        let immediate = Head { solicited: false, immediate: Some(1) };
        assert_eq!(open(&packet_of(immediate, KEY, MAX_DATAGRAM + 1), KEY), Err(Foreign));
        assert_eq!(open(&packet_of(immediate, KEY, 0)[..HEAD + 3], KEY), Err(Foreign));
        for byte in 0..HEAD {
            for bit in 0..8 {
                let mut packet = packet(KEY, false, 9);
                packet[byte] ^= 1 << bit;
                let is_flag = byte == 3 && bit < 2;
                assert_eq!(open(&packet, KEY).is_ok(), is_flag, "byte {byte}, bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_opened_or_foreign(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((head, message)) = open(&packet, KEY) {
                let mut again = packet_of(head, KEY, message.len());
                again[head.len()..].copy_from_slice(message);
                prop_assert_eq!(again, packet);
            }
        }
    }
}
