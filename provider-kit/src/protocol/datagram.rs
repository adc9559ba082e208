//! The layout of a datagram. Each is one packet: a head of 12 or 16 bytes, little-endian, the message, and up to 10 bytes
//! that request an acknowledgement.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0..3 | the protocol: `DUD` |
//! | 3 | flags: 1 solicited, 2 with immediate data, 4 requests an acknowledgement |
//! | 4..12 | the key of the receiving queue pair (Q_Key) |
//! | 12..16 | immediate data, if the flag says so |
//! | .. | the message |
//! | last 10 | if the flag says so: the port for the acknowledgement (2 bytes), the flow and the position (4 each) |
//!
//! An acknowledgement has 24 bytes: the protocol `DUA` and a zero, the key, the flow, the position, and the free bytes of
//! the socket (4 each).
//!
//! Packets come from anyone, so [`open`] accepts exactly what [`Head`], [`AckRequest`] and at most [`MAX_DATAGRAM`] bytes
//! make.

/// Length of a head without immediate data, in bytes.
pub(crate) const HEAD: usize = 12;
/// Length of immediate data, in bytes.
pub(crate) const IMMEDIATE: usize = 4;

/// Length of the request of an acknowledgement, in bytes.
pub(crate) const REQUEST: usize = 10;
/// Length of an acknowledgement, in bytes.
pub(crate) const ACK: usize = 24;

/// Maximum length of the message of a datagram, in bytes. A packet that is longer than the largest of a network travels in
/// fragments, which the system of the receiver puts together.
pub const MAX_DATAGRAM: usize = 16 << 10;

const PROTOCOL: [u8; 3] = *b"DUD";
const SOLICITED: u8 = 1;
const HAS_IMMEDIATE: u8 = 2;
const REQUESTS_ACK: u8 = 4;

const ACK_PROTOCOL: [u8; 4] = *b"DUA\0";

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

/// What a datagram requests of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckRequest {
    /// The port of the sender that receives the acknowledgement.
    pub(crate) port: u16,
    /// The number of the flow at the sender.
    pub(crate) flow: u32,
    /// The position of the packet in the flow.
    pub(crate) position: u32,
}

impl AckRequest {
    /// Writes the request behind the datagram of this length that `packet` begins with. Returns the new length.
    pub(crate) fn append(self, packet: &mut [u8], length: usize) -> usize {
        packet[3] |= REQUESTS_ACK;
        let (port, rest) = packet[length..length + REQUEST].split_at_mut(2);
        port.copy_from_slice(&self.port.to_le_bytes());
        rest[..4].copy_from_slice(&self.flow.to_le_bytes());
        rest[4..].copy_from_slice(&self.position.to_le_bytes());
        length + REQUEST
    }

    /// Undoes [`append`](Self::append): the datagram requests nothing.
    pub(crate) fn remove(packet: &mut [u8]) {
        packet[3] &= !REQUESTS_ACK;
    }

    fn read(bytes: &[u8; REQUEST]) -> Self {
        let [p0, p1, f0, f1, f2, f3, position @ ..] = *bytes;
        Self {
            port: u16::from_le_bytes([p0, p1]),
            flow: u32::from_le_bytes([f0, f1, f2, f3]),
            position: u32::from_le_bytes(position),
        }
    }
}

/// An acknowledgement: the receiver has taken a packet from its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The key of the receiver.
    pub(crate) key: u64,
    pub(crate) flow: u32,
    pub(crate) position: u32,
    /// Free bytes of its socket.
    pub(crate) space: u32,
}

impl Ack {
    pub(crate) fn write(&self) -> [u8; ACK] {
        let mut packet = [0; ACK];
        packet[..4].copy_from_slice(&ACK_PROTOCOL);
        packet[4..12].copy_from_slice(&self.key.to_le_bytes());
        let words = [self.flow, self.position, self.space];
        for (bytes, word) in packet[12..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        packet
    }

    /// Nothing if the packet is not an acknowledgement.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let (protocol, rest) = packet.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (flow, rest) = rest.split_first_chunk()?;
        let (position, rest) = rest.split_first_chunk()?;
        let space: [u8; 4] = rest.try_into().ok()?;
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        (*protocol == ACK_PROTOCOL).then(|| Self {
            key: u64::from_le_bytes(*key),
            flow: word(flow),
            position: word(position),
            space: word(&space),
        })
    }
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram<'a> {
    pub(crate) head: Head,
    pub(crate) message: &'a [u8],
    pub(crate) request: Option<AckRequest>,
}

/// A packet that is none of this protocol, is too long, or has another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

/// Checks a packet for a queue pair with this key.
///
/// # Errors
/// [`Foreign`] if it must be dropped.
pub(crate) fn open(packet: &[u8], key: u64) -> Result<Datagram<'_>, Foreign> {
    let (first, mut message) = packet.split_first_chunk::<HEAD>().ok_or(Foreign)?;
    let (mut first, mut immediate, mut request) = (*first, None, None);
    if first[3] & REQUESTS_ACK != 0 {
        let (rest, bytes) = message.split_last_chunk().ok_or(Foreign)?;
        (message, request) = (rest, Some(AckRequest::read(bytes)));
        AckRequest::remove(&mut first);
    }
    if first[3] & HAS_IMMEDIATE != 0 {
        let (bytes, rest) = message.split_first_chunk::<IMMEDIATE>().ok_or(Foreign)?;
        (message, immediate) = (rest, Some(u32::from_le_bytes(*bytes)));
    }
    let head = Head { solicited: first[3] & SOLICITED != 0, immediate };
    let mut expected = [0; HEAD + IMMEDIATE];
    head.write(key, &mut expected);
    if first[..] != expected[..HEAD] || message.len() > MAX_DATAGRAM {
        return Err(Foreign);
    }
    Ok(Datagram { head, message, request })
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

    const ASKED: AckRequest = AckRequest { port: 0x1234, flow: 5, position: u32::MAX - 6 };

    /// The same packet with a request.
    fn requesting(mut packet: Vec<u8>) -> Vec<u8> {
        let length = packet.len();
        packet.resize(length + REQUEST, 0);
        assert_eq!(ASKED.append(&mut packet, length), packet.len());
        packet
    }

    #[test]
    fn a_datagram_is_opened_with_the_key_of_its_receiver() {
        for solicited in [false, true] {
            for immediate in [None, Some(0), Some(u32::MAX)] {
                for length in [0, 1, MAX_DATAGRAM] {
                    let head = Head { solicited, immediate };
                    let packet = packet_of(head, KEY, length);
                    let message = &vec![7; length][..];
                    let expected = Datagram { head, message, request: None };
                    assert_eq!(open(&packet, KEY), Ok(expected));
                    let expected = Datagram { request: Some(ASKED), ..expected };
                    assert_eq!(open(&requesting(packet.clone()), KEY), Ok(expected));
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
        assert_eq!(open(&requesting(packet(KEY, false, MAX_DATAGRAM + 1)), KEY), Err(Foreign));
        assert_eq!(open(&requesting(packet_of(immediate, KEY, 0))[1..], KEY), Err(Foreign));
        for byte in 0..HEAD {
            for bit in 0..8 {
                let mut packet = packet(KEY, false, 9);
                packet[byte] ^= 1 << bit;
                // Nine bytes have no space for the last flag.
                let is_flag = byte == 3 && bit < 2;
                assert_eq!(open(&packet, KEY).is_ok(), is_flag, "byte {byte}, bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_opened_or_foreign(packet in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Datagram { head, message, request }) = open(&packet, KEY) {
                let mut again = packet_of(head, KEY, message.len());
                again[head.len()..].copy_from_slice(message);
                if let Some(request) = request {
                    let length = again.len();
                    again.resize(length + REQUEST, 0);
                    request.append(&mut again, length);
                }
                prop_assert_eq!(again, packet);
            }
        }

        #[test]
        fn any_packet_is_an_acknowledgement_or_none(packet in proptest::collection::vec(any::<u8>(), 0..32)) {
            let mut packet = packet;
            for is_ack in [false, true] {
                if is_ack {
                    packet.resize(ACK, 7);
                    packet[..4].copy_from_slice(&ACK_PROTOCOL);
                }
                match Ack::read(&packet) {
                    Some(ack) => prop_assert_eq!(&ack.write()[..], &packet[..]),
                    None => prop_assert!(!is_ack),
                }
            }
        }
    }
}
