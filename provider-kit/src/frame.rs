//! The frames that two queue pairs exchange: their layout, and nothing of their meaning.
//!
//! A frame is a head of 24, 40 or 56 bytes, little-endian, and a payload of [`Frame::payload`]
//! bytes. This module is the only one that knows the layout. [`decode`] is a function of bytes
//! without state: it never panics, and it accepts exactly what [`Frame::encode`] makes.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | kind |
//! | 1 | flags: 1 solicited, 2 last piece |
//! | 2..4 | number of the frame |
//! | 4..8 | done: requests of the receiver of this frame that its sender has executed, mod 2^32 |
//! | 8..12 | posted: receives that the sender of this frame ever posted, mod 2^32 |
//! | 12..16 | word: immediate data, key to invalidate, magic, verdict, reason |
//! | 16..24 | length in bytes, or the number of a request |
//! | 24..40 | RDMA and atomics: context, 4 bytes (operation of an atomic), remote address |
//! | 40..56 | atomics: two operands |

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::Head;

use std::fmt;

use dat_provider::status::DtoStatus;

/// The version of the layout and of the exchange.
pub const VERSION: u8 = 1;
/// The most bytes of payload that one frame carries.
pub const MAX_PIECE: u64 = 64 << 10;
/// The longest message, write or read, in bytes.
pub const MAX_TRANSFER: u64 = i32::MAX as u64;
/// The longest payload of a frame of the handshake, in bytes.
pub const MAX_HANDSHAKE: u64 = 1000;
/// The longest head, in bytes.
pub const MAX_HEAD: usize = 56;

/// A frame without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub body: Body,
    /// A number of the frame; links that keep order ignore it.
    pub number: u16,
    /// How many requests of the receiver of this frame its sender has executed, modulo 2^32.
    pub done: u32,
    /// How many receives its sender has ever posted, modulo 2^32.
    pub posted: u32,
}

/// A place in the memory of the frame's receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The key of the region or window.
    pub context: u32,
    /// The virtual address.
    pub address: u64,
}

/// The kind of a frame, with what only that kind has. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The active side introduces itself; the payload is of the handshake.
    Hello {
        /// The version that it speaks; payload and meaning of others are unknown.
        version: u8,
        /// Length of the payload, at most [`MAX_HANDSHAKE`].
        length: u64,
    },
    /// The passive side requests a proof of the secret.
    Challenge {
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The active side proves that it has the secret.
    Proof {
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The passive side answers.
    Answer {
        /// What the answer is.
        verdict: Verdict,
        /// As for [`Body::Hello`].
        length: u64,
    },
    /// The active side is established.
    Ready,
    /// A message, or its first [`MAX_PIECE`] bytes.
    Send {
        /// Length of the message.
        length: u64,
        /// Whether it notifies a waiter for solicited completions.
        solicited: bool,
        /// The key that it invalidates.
        invalidate: Option<u32>,
    },
    /// An RDMA write, or its first [`MAX_PIECE`] bytes.
    Write {
        /// Length of the write.
        length: u64,
        /// The destination.
        remote: Remote,
    },
    /// An RDMA write that completes a receive, or its first [`MAX_PIECE`] bytes.
    WriteImmediate {
        /// Length of the write.
        length: u64,
        /// The destination.
        remote: Remote,
        /// The value that the receive's completion carries.
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
        /// The number added.
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
    /// A piece of the answer to the oldest read or atomic that is not answered.
    Data {
        /// Length of the piece, at most [`MAX_PIECE`].
        length: u64,
        /// Whether it is the last piece of the answer.
        last: bool,
    },
    /// The next piece of a message or write that was begun.
    More {
        /// Length of the piece, from 1 to [`MAX_PIECE`].
        length: u64,
        /// Whether it is the last piece.
        last: bool,
    },
    /// Announces a message that needs a receive of a shared queue first.
    Rts {
        /// Length of the message.
        length: u64,
    },
    /// The announced message may be sent.
    Cts,
    /// Nothing but `done` and `posted`.
    Ack,
    /// The sender of this frame ends the connection; nothing of it follows.
    End {
        /// Why.
        reason: Reason,
    },
}

/// The answer to a request for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The consumer accepted.
    Accepted,
    /// The consumer rejected.
    Rejected,
    /// The provider refused, as if nothing listened.
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

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A consumer disconnected gracefully.
    Graceful,
    /// A consumer disconnected abruptly.
    Abrupt,
    /// A request could not be executed.
    Broken {
        /// The number of the request, modulo 2^32, in the order of the receiver's posts.
        request: u32,
        /// The status with which it completes; neither a success nor unknown.
        status: DtoStatus,
    },
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// No frame has that kind.
    Kind(u8),
    /// A flag or a field that the kind does not have is set.
    Field(u8),
    /// The length is beyond the limits of the kind.
    Length(u8),
    /// The first frame is not of this protocol.
    Magic,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "there is no frame of kind {kind}"),
            Self::Field(kind) => write!(f, "a field of a frame of kind {kind} has a wrong value"),
            Self::Length(kind) => write!(f, "the length of a frame of kind {kind} is out of range"),
            Self::Magic => f.write_str("the peer speaks another protocol"),
        }
    }
}

impl Frame {
    /// A frame with this body and zeros elsewhere.
    #[must_use]
    pub const fn new(body: Body) -> Self {
        Self { body, number: 0, done: 0, posted: 0 }
    }

    /// Number of payload bytes that follow the head.
    #[must_use]
    pub const fn payload(&self) -> u64 {
        match self.body {
            Body::Hello { length, .. }
            | Body::Challenge { length }
            | Body::Proof { length }
            | Body::Answer { length, .. }
            | Body::Data { length, .. }
            | Body::More { length, .. } => length,
            Body::Send { length, .. }
            | Body::Write { length, .. }
            | Body::WriteImmediate { length, .. } => {
                if length < MAX_PIECE {
                    length
                } else {
                    MAX_PIECE
                }
            }
            _ => 0,
        }
    }
}
