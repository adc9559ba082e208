//! The layout of the frames that two queue pairs exchange.
//!
//! A frame is a head of 24, 40 or 56 bytes, little-endian, and a payload of [`Frame::payload`]
//! bytes. Only this module knows the layout. [`decode()`] is a pure function: it never panics, and it
//! accepts exactly the heads that [`Frame::encode`] produces.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | kind |
//! | 1 | flags: 1 solicited, 2 last piece, 4 quiet |
//! | 2..4 | sequence number of the frame |
//! | 4..8 | done: number of requests of the receiver that the sender has executed, mod 2^32 |
//! | 8..12 | posted: number of receives that the sender has posted, mod 2^32 |
//! | 12..16 | word: immediate data, key to invalidate, magic, reply or reason |
//! | 16..24 | length in bytes, or the sequence number of a request |
//! | 24..40 | RDMA and atomics: context, 4 bytes (operation of an atomic), remote address; offers: number of extents, 4 zeros, epoch |
//! | 40..56 | atomics: two operands |

mod ack;
mod decode;
mod encode;
mod message;
#[cfg(all(test, not(loom)))]
mod tests;

pub use ack::AckHead;
pub use decode::decode;
pub use encode::Head;
pub use message::MessageHead;

use std::fmt;

use dat_provider::RefusalCause;
use dat_provider::status::DtoStatus;

/// The version of the protocol.
pub const VERSION: u8 = 1;
/// Maximum payload of a frame that begins a request, in bytes; longer transfers take several frames.
pub const MAX_PIECE: u64 = 64 << 10;
/// Maximum payload of a frame that does not begin a request, in bytes. A link may use less
/// ([`Writer::max_next_piece`](crate::link::Writer::max_next_piece)).
pub const MAX_NEXT_PIECE: u64 = 1 << 20;
/// Maximum length of a message, write or read, in bytes.
pub const MAX_TRANSFER: u64 = i32::MAX as u64;
/// Maximum number of extents of an offer; each takes [`EXTENT`] bytes of the payload.
pub const MAX_EXTENTS: u32 = 64;
/// Length of an extent in the payload of an offer, in bytes: its address and its length.
pub const EXTENT: u64 = 16;
/// Maximum payload of a frame of the handshake, in bytes.
pub const MAX_HANDSHAKE: u64 = 1000;
/// Maximum length of a head, in bytes.
pub const MAX_HEAD: usize = 56;

/// A frame without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its kind, and the fields of that kind.
    pub body: Body,
    /// Sequence number of the frame; links that keep the order ignore it.
    pub number: u16,
    /// Number of requests of the receiver that the sender has executed, modulo 2^32.
    pub done: u32,
    /// Number of receives that the sender has posted, modulo 2^32.
    pub posted: u32,
    /// The frame begins a message or an RDMA write, and nothing waits for its acknowledgement.
    pub quiet: bool,
}

/// An address in the memory of the receiver of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The key of the region or window.
    pub context: u32,
    /// The virtual address.
    pub address: u64,
}

/// The values that a message carries besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extra {
    /// Nothing: a plain message.
    #[default]
    None,
    /// The key of a window of the receiver, to invalidate.
    Invalidate(u32),
    /// Immediate data.
    Immediate(u32),
}

/// The kind of a frame, with the fields of that kind. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The active side requests a connection; the payload belongs to the handshake.
    Hello {
        /// Its protocol version; the payload of other versions is unknown.
        version: u8,
        /// Length of the payload, at most [`MAX_HANDSHAKE`].
        length: u64,
    },
    /// The passive side requests a proof that the active side knows the secret.
    Challenge {
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The active side proves that it knows the secret.
    Proof {
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The passive side accepts, rejects or refuses.
    Answer {
        /// The answer.
        reply: ConnectReply,
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The active side confirms that the connection is established.
    Ready,
    /// A message, or its [first piece](crate::link::Writer::max_first_piece).
    Send {
        /// Length of the message.
        length: u64,
        /// True if its receive notifies waiters for solicited completions.
        solicited: bool,
        /// The values that it carries besides its bytes.
        extra: Extra,
    },
    /// An RDMA write, or its [first piece](crate::link::Writer::max_first_piece).
    Write {
        /// Length of the write.
        length: u64,
        /// The destination.
        remote: Remote,
    },
    /// An RDMA write that completes a receive, or its [first piece](crate::link::Writer::max_first_piece).
    WriteImmediate {
        /// Length of the write.
        length: u64,
        /// The destination.
        remote: Remote,
        /// The immediate data of the completion.
        immediate: u32,
        /// As for [`Body::Send`].
        solicited: bool,
    },
    /// An RDMA read; [`Body::Data`] answers it.
    Read {
        /// Number of bytes to read.
        length: u64,
        /// The source.
        remote: Remote,
    },
    /// Adds to eight bytes; [`Body::Data`] with eight bytes answers it.
    FetchAdd {
        /// The eight bytes.
        remote: Remote,
        /// The addend.
        add: u64,
    },
    /// Replaces eight bytes if they hold a value; [`Body::Data`] with eight bytes answers it.
    CompareSwap {
        /// The eight bytes.
        remote: Remote,
        /// The expected value.
        compare: u64,
        /// The new value.
        swap: u64,
    },
    /// A piece of the answer to the oldest unanswered read or atomic.
    Data {
        /// Length of the piece, at most [`MAX_NEXT_PIECE`].
        length: u64,
        /// True if it is the last piece of the answer.
        last: bool,
    },
    /// The next piece of the current message or write.
    More {
        /// Length of the piece, from 1 to [`MAX_NEXT_PIECE`].
        length: u64,
        /// True if it is the last piece.
        last: bool,
    },
    /// Rendezvous: announces a message for a peer with a shared receive queue.
    Rts {
        /// Length of the message.
        length: u64,
    },
    /// Rendezvous: the peer has a buffer for the announced message, or did not fetch the offered one.
    Cts,
    /// The oldest message that the peer has not executed waits for a receive of its shared receive queue.
    NoReceive,
    /// A message for which the peer has reported no receive waits no more: the peer refuses it, unless it has executed
    /// it by then.
    Withdraw {
        /// Sequence number of the message, modulo 2^32.
        request: u32,
    },
    /// Offers a message that the receiver fetches from the memory of the sender. The payload lists the
    /// extents of the message. No request follows before the peer has executed it or sent `CTS`.
    Offer {
        /// Length of the message.
        length: u64,
        /// As for [`Body::Send`].
        solicited: bool,
        /// Number of extents, from 1 to [`MAX_EXTENTS`].
        extents: u32,
        /// The epoch of the sender's memory in which they are valid.
        epoch: u64,
    },
    /// Carries only `done` and `posted`.
    Ack,
    /// The sender ends the connection; this is its last frame.
    End {
        /// Why.
        reason: Reason,
    },
}

/// The answer to a request for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectReply {
    /// The consumer accepted.
    Accepted,
    /// The consumer rejected.
    Rejected,
    /// The provider refused, for example because nothing listens.
    Refused(Refusal),
}

/// Why a provider refuses a request for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing listens on the qualifier, or the request was dropped.
    NoListener,
    /// The peers speak different versions.
    Version,
    /// The secret is missing on one side or differs.
    Secret,
    /// The frames of the handshake contradict each other.
    Malformed,
}

impl From<Refusal> for RefusalCause {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::NoListener => Self::NoListener,
            Refusal::Version => Self::Version,
            Refusal::Secret => Self::Secret,
            Refusal::Malformed => Self::Protocol,
        }
    }
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A consumer disconnected gracefully.
    Graceful,
    /// A consumer disconnected abruptly.
    Abrupt,
    /// A request could not be executed.
    Broken {
        /// Sequence number of the request of the receiver, modulo 2^32.
        request: u32,
        /// The status with which it completes; neither `Success` nor unknown.
        status: DtoStatus,
    },
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Unknown kind.
    Kind(u8),
    /// A field has a value that this kind does not allow.
    Field(u8),
    /// The length is out of range for this kind.
    Length(u8),
    /// The first frame belongs to another protocol.
    Magic,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "unknown frame kind {kind}"),
            Self::Field(kind) => write!(f, "invalid field in a frame of kind {kind}"),
            Self::Length(kind) => write!(f, "length out of range in a frame of kind {kind}"),
            Self::Magic => f.write_str("the peer speaks another protocol"),
        }
    }
}

impl Frame {
    /// A frame with this body and zero counts.
    #[must_use]
    pub const fn new(body: Body) -> Self {
        Self { body, number: 0, done: 0, posted: 0, quiet: false }
    }

    /// Number of payload bytes that follow the head, if frames that begin a request carry up to [`MAX_PIECE`].
    #[must_use]
    pub const fn payload(&self) -> u64 {
        self.payload_within(MAX_PIECE)
    }

    /// Number of payload bytes that follow the head, over a link with this
    /// [`max_first_piece`](crate::link::Writer::max_first_piece).
    #[must_use]
    pub const fn payload_within(&self, max_first_piece: u64) -> u64 {
        match self.body {
            Body::Hello { length, .. }
            | Body::Challenge { length }
            | Body::Proof { length }
            | Body::Answer { length, .. }
            | Body::Data { length, .. }
            | Body::More { length, .. } => length,
            Body::Offer { extents, .. } => extents as u64 * EXTENT,
            Body::Send { length, .. }
            | Body::Write { length, .. }
            | Body::WriteImmediate { length, .. } => {
                if length < max_first_piece {
                    length
                } else {
                    max_first_piece
                }
            }
            _ => 0,
        }
    }
}
