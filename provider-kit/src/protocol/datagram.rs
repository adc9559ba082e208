//! The layout of a datagram. Each is one packet: a head of 12 bytes, little-endian, and the message.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0..3 | the protocol: `DUD` |
//! | 3 | flags: 1 solicited |
//! | 4..12 | the key of the receiving queue pair (Q_Key) |
//!
//! Packets come from anyone, so [`open`] accepts exactly what [`head`] and at most [`MAX_DATAGRAM`] bytes make.

/// Length of the head, in bytes.
pub(crate) const HEAD: usize = 12;

/// Maximum length of the message of a datagram, in bytes. A packet that is longer than the largest of a network travels in
/// fragments, which the system of the receiver puts together.
pub const MAX_DATAGRAM: usize = 16 << 10;

const PROTOCOL: [u8; 3] = *b"DUD";
const SOLICITED: u8 = 1;

/// The head of a datagram for a queue pair with this key. `solicited` notifies waiters for solicited completions.
pub(crate) fn head(key: u64, solicited: bool) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..3].copy_from_slice(&PROTOCOL);
    head[3] = if solicited { SOLICITED } else { 0 };
    head[4..].copy_from_slice(&key.to_le_bytes());
    head
}

/// A packet that is none of this protocol, is too long, or has another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

/// Checks a packet for a queue pair with this key. Returns whether it is solicited, and the message.
///
/// # Errors
/// [`Foreign`] if it must be dropped.
pub(crate) fn open(packet: &[u8], key: u64) -> Result<(bool, &[u8]), Foreign> {
    let (head, message) = packet.split_first_chunk::<HEAD>().ok_or(Foreign)?;
    let solicited = head[3] == SOLICITED;
    if *head != self::head(key, solicited) || message.len() > MAX_DATAGRAM {
        return Err(Foreign);
    }
    Ok((solicited, message))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: u64 = 0x0123_4567_89ab_cdef;

    fn packet(key: u64, solicited: bool, length: usize) -> Vec<u8> {
        let mut packet = head(key, solicited).to_vec();
        packet.resize(HEAD + length, 7);
        packet
    }

    #[test]
    fn a_datagram_is_opened_with_the_key_of_its_receiver() {
        for solicited in [false, true] {
            for length in [0, 1, MAX_DATAGRAM] {
                let packet = packet(KEY, solicited, length);
                assert_eq!(open(&packet, KEY), Ok((solicited, &vec![7; length][..])));
                assert_eq!(open(&packet, KEY ^ 1 << 63), Err(Foreign));
                assert_eq!(open(&packet, !KEY), Err(Foreign));
            }
        }
    }

    #[test]
    fn a_packet_with_another_head_or_length_is_foreign() {
        for length in 0..HEAD {
            assert_eq!(open(&packet(KEY, false, 9)[..length], KEY), Err(Foreign));
        }
        assert_eq!(open(&packet(KEY, false, MAX_DATAGRAM + 1), KEY), Err(Foreign));
        for byte in 0..HEAD {
            for bit in 0..8 {
                let mut packet = packet(KEY, false, 9);
                packet[byte] ^= 1 << bit;
                let is_flag = (byte, bit) == (3, 0);
                assert_eq!(open(&packet, KEY).is_ok(), is_flag, "byte {byte}, bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_opened_or_foreign(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((solicited, message)) = open(&packet, KEY) {
                let mut again = head(KEY, solicited).to_vec();
                again.extend_from_slice(message);
                prop_assert_eq!(again, packet);
            }
        }
    }
}
