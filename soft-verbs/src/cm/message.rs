//! The messages of two connection managers, as bytes.
//!
//! They follow the messages of the communication manager of InfiniBand (REQ, REP, REJ, RTU, DREQ, DREP), on a TCP
//! connection of their own. A message begins with a magic number, the version, its kind and the length of the rest.
//! All numbers are in little-endian order.

const MAGIC: [u8; 4] = *b"SVCM";
const VERSION: u8 = 1;
/// Length of what precedes the payload, in bytes.
pub(super) const HEADER: usize = 8;
/// The longest payload, in bytes: the fields of [`Terms`] and private data.
const MAX_PAYLOAD: usize = 512;
/// The longest private data that a message can carry, in bytes.
const MAX_PRIVATE_DATA: usize = 255;

/// Reasons of a rejection, as InfiniBand numbers them.
pub(super) mod reason {
    /// The side that connects has given up.
    pub(crate) const TIMED_OUT: u16 = 4;
    /// Nothing listens on the port.
    pub(crate) const NO_LISTENER: u16 = 8;
    /// The program rejected the request, or did not answer it.
    pub(crate) const CONSUMER: u16 = 28;
    /// The vendor's options are not accepted.
    pub(crate) const OPTIONS: u16 = 35;
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Requests a connection, or looks up a service of datagrams.
    Request(Terms),
    /// Accepts the request.
    Response(Terms),
    /// Rejects or abandons it.
    Reject(Rejection),
    /// The connection is established.
    Ready,
    /// The connection ends.
    Disconnect,
    /// The answer to [`Disconnect`](Self::Disconnect).
    Disconnected,
}

/// The terms that a side offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    /// The number of the port space.
    pub(super) space: u32,
    /// The type of its queue pair.
    pub(super) qp_type: u32,
    /// The number of its queue pair.
    pub(super) number: u32,
    /// The key of its queue pair (Q_Key); of datagrams only.
    pub(super) key: u32,
    /// The number of its first packet.
    pub(super) psn: u32,
    /// The address of its queue pair.
    pub(super) gid: [u8; 16],
    /// Number of reads and atomics of the peer that it serves at a time.
    pub(super) responder_resources: u8,
    /// Number of reads and atomics that it may have in flight.
    pub(super) initiator_depth: u8,
    /// True if it has flow control.
    pub(super) flow_control: u8,
    /// How often the peer shall repeat a packet.
    pub(super) retry_count: u8,
    /// How often the peer shall repeat a message for which there is no receive.
    pub(super) rnr_retry_count: u8,
    /// True if its queue pair has a shared receive queue.
    pub(super) is_shared: bool,
    /// The options of its vendor.
    pub(super) ece: Ece,
    /// The data of its program.
    pub(super) private_data: Vec<u8>,
}

/// A rejection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rejection {
    /// One of [`reason`].
    pub(super) reason: u16,
    /// The data of the program.
    pub(super) private_data: Vec<u8>,
}

/// Options of a vendor (enhanced connection establishment, `ibv_ece`). They are carried and have no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ece {
    /// The vendor.
    pub vendor_id: u32,
    /// Its options.
    pub options: u32,
}

/// Bytes that are no message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Message {
    /// The message as bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        match self {
            Self::Request(terms) | Self::Response(terms) => terms.write(&mut payload),
            Self::Reject(rejection) => {
                payload.extend_from_slice(&rejection.reason.to_le_bytes());
                payload.extend_from_slice(&rejection.private_data);
            }
            Self::Ready | Self::Disconnect | Self::Disconnected => {}
        }
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, self.kind()]);
        bytes.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Request(_) => 1,
            Self::Response(_) => 2,
            Self::Reject(_) => 3,
            Self::Ready => 4,
            Self::Disconnect => 5,
            Self::Disconnected => 6,
        }
    }

    /// Takes the first message out of what has arrived; `None` if it is not complete.
    pub(super) fn take(arrived: &mut Vec<u8>) -> Result<Option<Self>, Malformed> {
        let Some(header) = arrived.first_chunk::<HEADER>() else {
            let known = arrived.len().min(MAGIC.len());
            return if arrived[..known] == MAGIC[..known] { Ok(None) } else { Err(Malformed) };
        };
        let [m, a, g, i, version, kind, low, high] = *header;
        let length = usize::from(u16::from_le_bytes([low, high]));
        if [m, a, g, i] != MAGIC || version != VERSION || length > MAX_PAYLOAD {
            return Err(Malformed);
        }
        let Some(payload) = arrived.get(HEADER..HEADER + length) else { return Ok(None) };
        let message = Self::parse(kind, payload).ok_or(Malformed)?;
        arrived.drain(..HEADER + length);
        Ok(Some(message))
    }

    fn parse(kind: u8, mut payload: &[u8]) -> Option<Self> {
        let bytes = &mut payload;
        let message = match kind {
            1 => Self::Request(Terms::read(bytes)?),
            2 => Self::Response(Terms::read(bytes)?),
            3 => {
                let reason = u16::from_le_bytes(take(bytes)?);
                Self::Reject(Rejection { reason, private_data: private(bytes)? })
            }
            4 => Self::Ready,
            5 => Self::Disconnect,
            6 => Self::Disconnected,
            _ => return None,
        };
        bytes.is_empty().then_some(message)
    }
}

impl Terms {
    fn write(&self, to: &mut Vec<u8>) {
        let numbers = [
            self.space,
            self.qp_type,
            self.number,
            self.key,
            self.psn,
            self.ece.vendor_id,
            self.ece.options,
        ];
        numbers.iter().for_each(|number| to.extend_from_slice(&number.to_le_bytes()));
        to.extend_from_slice(&self.gid);
        to.extend_from_slice(&[
            self.responder_resources,
            self.initiator_depth,
            self.flow_control,
            self.retry_count,
            self.rnr_retry_count,
            u8::from(self.is_shared),
        ]);
        to.extend_from_slice(&self.private_data);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let mut number = || take(from).map(u32::from_le_bytes);
        let [space, qp_type, queue_pair, key, psn] =
            [number()?, number()?, number()?, number()?, number()?];
        let ece = Ece { vendor_id: number()?, options: number()? };
        let gid = take(from)?;
        let [responder_resources, initiator_depth, flow_control, retry, rnr_retry, shared] =
            take(from)?;
        Some(Self {
            space,
            qp_type,
            number: queue_pair & 0xff_ffff,
            key,
            psn: psn & 0xff_ffff,
            gid,
            responder_resources,
            initiator_depth,
            flow_control,
            retry_count: retry & 7,
            rnr_retry_count: rnr_retry & 7,
            is_shared: shared != 0,
            ece,
            private_data: private(from)?,
        })
    }
}

/// Splits the first `N` bytes off.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Takes the remaining bytes as private data, unless they are too long.
fn private(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let all = std::mem::take(bytes);
    (all.len() <= MAX_PRIVATE_DATA).then(|| all.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let terms = Terms {
            space: 0x106,
            qp_type: 2,
            number: 0x0012_3456,
            key: 7,
            psn: 0xff_ffff,
            gid: [9; 16],
            responder_resources: 1,
            initiator_depth: 2,
            flow_control: 3,
            retry_count: 4,
            rnr_retry_count: 5,
            is_shared: true,
            ece: Ece { vendor_id: 8, options: 9 },
            private_data: b"hello".to_vec(),
        };
        let rejection = Rejection { reason: 28, private_data: vec![1; MAX_PRIVATE_DATA] };
        vec![
            Message::Request(terms.clone()),
            Message::Response(terms),
            Message::Reject(rejection),
            Message::Ready,
            Message::Disconnect,
            Message::Disconnected,
        ]
    }

    #[test]
    fn messages_arrive_as_they_were_sent_in_any_pieces() {
        let stream: Vec<u8> = all().iter().flat_map(Message::to_bytes).collect();
        for piece in [1, 3, 64, stream.len()] {
            let (mut arrived, mut messages) = (Vec::new(), Vec::new());
            for bytes in stream.chunks(piece) {
                arrived.extend_from_slice(bytes);
                while let Some(message) = Message::take(&mut arrived).expect("well formed") {
                    messages.push(message);
                }
            }
            assert_eq!(messages, all(), "in pieces of {piece}");
            assert!(arrived.is_empty());
        }
    }

    #[test]
    fn other_bytes_are_refused_at_once() {
        for wrong in [&b"GET / HTTP/1.1\r\n"[..], b"X", b"SVCM\x02\x04\0\0", b"SVCM\x01\x07\0\0"] {
            assert_eq!(Message::take(&mut wrong.to_vec()), Err(Malformed), "{wrong:?}");
        }
        let too_long = [&MAGIC[..], &[VERSION, 3], &u16::MAX.to_le_bytes()].concat();
        assert_eq!(Message::take(&mut too_long.clone()), Err(Malformed));
        let surplus = [&MAGIC[..], &[VERSION, 4, 1, 0, 5]].concat();
        assert_eq!(Message::take(&mut surplus.clone()), Err(Malformed));
        let long = Rejection { reason: 1, private_data: vec![0; MAX_PRIVATE_DATA + 1] };
        assert_eq!(Message::take(&mut Message::Reject(long).to_bytes()), Err(Malformed));
    }

    #[test]
    fn no_bytes_of_a_peer_cause_a_panic() {
        let request = all()[0].to_bytes();
        for at in 0..request.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = request.clone();
                changed[at] = value;
                let _ = Message::take(&mut changed);
                let _ = Message::take(&mut request[..at].to_vec());
            }
        }
    }
}
