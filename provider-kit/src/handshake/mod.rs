//! The handshake of a connection: the frames before the first message.
//!
//! The active side sends `HELLO`. A passive side with a secret replies with `CHALLENGE`, which the
//! active side answers with `PROOF`; only then does the consumer see the request. `ANSWER` accepts,
//! rejects or refuses; `READY` confirms. Both sides are state machines without
//! I/O: the owner of the link passes frames to them and carries out each [`Step`].
//!
//! `CHALLENGE` proves that the passive side knows the secret, `PROOF` that the active side does:
//! HMAC-SHA-256 over the role, both nonces and the whole `HELLO`. The secret is never sent.
//! The frames after the handshake are neither encrypted nor authenticated.

mod active;
mod passive;
mod secret;
#[cfg(all(test, not(loom)))]
mod tests;

pub use active::Active;
pub use passive::Passive;
pub(crate) use secret::nonce;
pub use secret::{Nonce, Secret};

use crate::frame::{Body, ConnectReply, Frame, Refusal};

/// Maximum length of private data, in bytes.
pub const MAX_PRIVATE_DATA: usize = 512;

/// The parameters of one side that the handshake sends to the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionParameters {
    /// Number of receives posted so far, modulo 2^32.
    pub posted: u32,
    /// True if it uses a shared receive queue.
    pub is_shared: bool,
    /// True if the connection is an unreliable one.
    pub is_unreliable: bool,
    /// Maximum number of reads and atomics of the peer in flight.
    pub reads: u32,
    /// The port where it receives datagrams; `None` for a connection.
    pub datagrams: Option<DatagramPort>,
    /// The consumer's data, at most [`MAX_PRIVATE_DATA`] bytes.
    pub private_data: Vec<u8>,
}

/// The port where a side receives datagrams, at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramPort {
    /// The port.
    pub port: u16,
    /// The key that datagrams must carry (Q_Key).
    pub key: u64,
}

impl DatagramPort {
    /// Appends it to a payload.
    fn write(self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.port.to_le_bytes());
        payload.extend_from_slice(&self.key.to_le_bytes());
    }

    /// Splits it off the payload, if the flags say that there is one. A port is not 0.
    fn read(flags: u32, payload: &mut &[u8]) -> Option<Option<Self>> {
        if flags & DATAGRAMS == 0 {
            return Some(None);
        }
        let port = u16::from_le_bytes(take(payload)?);
        let key = u64::from_le_bytes(take(payload)?);
        (port != 0).then_some(Some(Self { port, key }))
    }
}

/// The request of the active side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The connection qualifier to connect to.
    pub qualifier: u64,
    /// The port of the active side.
    pub port: u64,
    /// The parameters of the active side.
    pub side: ConnectionParameters,
}

/// A frame with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The frame.
    pub frame: Frame,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The next action of the owner of the link after a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this, then wait for the next frame.
    Send(Message),
    /// Passive: report the request to the listener.
    Incoming(Hello),
    /// Passive: send this and close.
    Refuse(Message),
    /// Active: send the `READY` message; the connection is established with this peer.
    Established(Message, ConnectionParameters),
    /// Active: the consumer of the peer rejected the request, with private data.
    Rejected(Vec<u8>),
    /// Active: the provider of the peer refused the request, or violated the protocol.
    Refused(Refusal),
}

const SHARED: u32 = 1;
const AUTHENTICATED: u32 = 2;
/// The request, or its acceptance, is for datagrams: a [`DatagramPort`] precedes the private data.
const DATAGRAMS: u32 = 4;
/// The connection is an unreliable one.
const UNRELIABLE: u32 = 8;
/// Length of a [`DatagramPort`], in bytes.
const PORT: usize = 2 + 8;
/// Maximum lengths of a `HELLO` and of an `ANSWER` before the private data, in bytes.
const HELLO: usize = 8 + 8 + 4 + 4 + secret::NONCE + PORT;
const ANSWER: usize = 4 + 4 + PORT;

impl Message {
    fn new(body: impl FnOnce(u64) -> Body, posted: u32, payload: Vec<u8>) -> Self {
        let frame = Frame { posted, ..Frame::new(body(payload.len() as u64)) };
        Self { frame, payload }
    }

    /// The refusal of a request.
    #[must_use]
    pub fn refusal(why: Refusal) -> Self {
        Self::answer(ConnectReply::Refused(why), 0, Vec::new())
    }

    /// The rejection of a request by the consumer.
    #[must_use]
    pub fn rejection(private_data: &[u8]) -> Self {
        Self::answer(ConnectReply::Rejected, 0, private_data.to_vec())
    }

    /// The acceptance of a request.
    #[must_use]
    pub fn acceptance(side: &ConnectionParameters) -> Self {
        let mut payload = Vec::with_capacity(ANSWER + side.private_data.len());
        payload.extend_from_slice(&side.flags().to_le_bytes());
        payload.extend_from_slice(&side.reads.to_le_bytes());
        side.datagrams.into_iter().for_each(|port| port.write(&mut payload));
        payload.extend_from_slice(&side.private_data);
        Self::answer(ConnectReply::Accepted, side.posted, payload)
    }

    fn answer(reply: ConnectReply, posted: u32, payload: Vec<u8>) -> Self {
        Self::new(|length| Body::Answer { reply, length }, posted, payload)
    }
}

impl ConnectionParameters {
    fn flags(&self) -> u32 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.is_shared, SHARED)
            | flag(self.datagrams.is_some(), DATAGRAMS)
            | flag(self.is_unreliable, UNRELIABLE)
    }
}

/// Splits the first `N` bytes off.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// The remaining bytes as private data, unless they are too long.
fn private(bytes: &[u8]) -> Option<Vec<u8>> {
    (bytes.len() <= MAX_PRIVATE_DATA).then(|| bytes.to_vec())
}
