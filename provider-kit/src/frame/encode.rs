//! Encoding of heads.

use std::ops::Deref;

use super::{Body, ConnectReply, Extra, Frame, MAX_HEAD, Reason, Refusal, Remote, VERSION};

/// The values of the first byte of a head.
pub(super) mod kind {
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const CHALLENGE: u8 = 2;
    pub(crate) const PROOF: u8 = 3;
    pub(crate) const ANSWER: u8 = 4;
    pub(crate) const READY: u8 = 5;
    pub(crate) const SEND: u8 = 16;
    pub(crate) const SEND_INVALIDATE: u8 = 17;
    pub(crate) const WRITE: u8 = 18;
    pub(crate) const WRITE_IMMEDIATE: u8 = 19;
    pub(crate) const READ: u8 = 20;
    pub(crate) const ATOMIC: u8 = 21;
    pub(crate) const DATA: u8 = 22;
    pub(crate) const MORE: u8 = 23;
    pub(crate) const RTS: u8 = 24;
    pub(crate) const CTS: u8 = 25;
    pub(crate) const ACK: u8 = 26;
    pub(crate) const END: u8 = 27;
    pub(crate) const OFFER: u8 = 28;
    pub(crate) const SEND_IMMEDIATE: u8 = 29;
    pub(crate) const NO_RECEIVE: u8 = 30;
    pub(crate) const WITHDRAW: u8 = 31;
}

pub(super) const SOLICITED: u8 = 1;
pub(super) const LAST: u8 = 2;
pub(super) const QUIET: u8 = 4;
/// The upper three bytes of the word of a `HELLO`; the lowest one is the version.
pub(super) const MAGIC: u32 = u32::from_le_bytes([0, b'D', b'A', b'T']);
pub(super) const FETCH_ADD: u32 = 1;
pub(super) const COMPARE_SWAP: u32 = 2;

pub(super) const GRACEFUL: u32 = 0;
pub(super) const ABRUPT: u32 = 1;
pub(super) const BROKEN: u32 = 2;

pub(super) const ACCEPTED: u32 = 0;
pub(super) const REJECTED: u32 = 1;
pub(super) const REFUSED: u32 = 2;

/// The head of a frame, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    bytes: [u8; MAX_HEAD],
    length: usize,
}

impl Deref for Head {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Head {
    /// The fields come as words, because the processor would wait for stores of single fields before it
    /// loads the word that they share.
    #[inline]
    fn new(words: [u64; MAX_HEAD / 8], length: usize) -> Self {
        let mut bytes = [0; MAX_HEAD];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self { bytes, length }
    }

    /// The bytes of the head as words in the order of memory, with zeros behind them.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; MAX_HEAD / 8] {
        std::array::from_fn(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&self.bytes[at * 8..at * 8 + 8]);
            u64::from_ne_bytes(word)
        })
    }
}

/// The fields of a head that depend on the kind.
#[derive(Default)]
struct Fields {
    kind: u8,
    flags: u8,
    word: u32,
    length: u64,
    remote: Option<(Remote, u32)>,
    operands: Option<(u64, u64)>,
}

pub(super) const fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}

impl Refusal {
    pub(super) const fn value(self) -> u32 {
        match self {
            Self::NoListener => 0,
            Self::Version => 1,
            Self::Secret => 2,
            Self::Malformed => 3,
        }
    }
}

impl Body {
    #[inline]
    fn fields(self) -> Fields {
        let plain = |kind, length| Fields { kind, length, ..Fields::default() };
        match self {
            Self::Hello { version, length } => {
                Fields { word: MAGIC | u32::from(version), ..plain(kind::HELLO, length) }
            }
            Self::Challenge { length } => plain(kind::CHALLENGE, length),
            Self::Proof { length } => plain(kind::PROOF, length),
            Self::Answer { reply, length } => {
                let reply = match reply {
                    ConnectReply::Accepted => ACCEPTED,
                    ConnectReply::Rejected => REJECTED,
                    ConnectReply::Refused(why) => REFUSED | why.value() << 8,
                };
                Fields { word: reply, ..plain(kind::ANSWER, length) }
            }
            Self::Ready => plain(kind::READY, 0),
            Self::Send { length, solicited, extra } => {
                let (kind, word) = match extra {
                    Extra::None => (kind::SEND, 0),
                    Extra::Invalidate(key) => (kind::SEND_INVALIDATE, key),
                    Extra::Immediate(data) => (kind::SEND_IMMEDIATE, data),
                };
                Fields { flags: flag(solicited, SOLICITED), word, ..plain(kind, length) }
            }
            Self::Write { length, remote } => {
                Fields { remote: Some((remote, 0)), ..plain(kind::WRITE, length) }
            }
            Self::WriteImmediate { length, remote, immediate, solicited } => Fields {
                flags: flag(solicited, SOLICITED),
                word: immediate,
                remote: Some((remote, 0)),
                ..plain(kind::WRITE_IMMEDIATE, length)
            },
            Self::Read { length, remote } => {
                Fields { remote: Some((remote, 0)), ..plain(kind::READ, length) }
            }
            Self::FetchAdd { remote, add } => Fields {
                remote: Some((remote, FETCH_ADD)),
                operands: Some((add, 0)),
                ..plain(kind::ATOMIC, 8)
            },
            Self::CompareSwap { remote, compare, swap } => Fields {
                remote: Some((remote, COMPARE_SWAP)),
                operands: Some((compare, swap)),
                ..plain(kind::ATOMIC, 8)
            },
            Self::Data { length, last } => {
                Fields { flags: flag(last, LAST), ..plain(kind::DATA, length) }
            }
            Self::More { length, last } => {
                Fields { flags: flag(last, LAST), ..plain(kind::MORE, length) }
            }
            Self::Rts { length } => plain(kind::RTS, length),
            Self::Cts => plain(kind::CTS, 0),
            Self::NoReceive => plain(kind::NO_RECEIVE, 0),
            Self::Withdraw { request } => plain(kind::WITHDRAW, request.into()),
            Self::Offer { length, solicited, extents, epoch } => Fields {
                flags: flag(solicited, SOLICITED),
                remote: Some((Remote { context: extents, address: epoch }, 0)),
                ..plain(kind::OFFER, length)
            },
            Self::Ack => plain(kind::ACK, 0),
            Self::End { reason } => {
                let (word, length) = match reason {
                    Reason::Graceful => (GRACEFUL, 0),
                    Reason::Abrupt => (ABRUPT, 0),
                    Reason::Broken { request, status } => {
                        (BROKEN | status.value() << 8, u64::from(request))
                    }
                };
                Fields { word, ..plain(kind::END, length) }
            }
        }
    }
}

impl Frame {
    /// The bytes of the head.
    #[inline]
    #[must_use]
    pub fn encode(&self) -> Head {
        let fields = self.body.fields();
        let mut words = [0; MAX_HEAD / 8];
        let number = u32::from(self.number);
        let flags = u32::from(fields.flags | flag(self.quiet, QUIET));
        let first = u32::from(fields.kind) | flags << 8 | number << 16;
        words[0] = pair(first, self.done);
        words[1] = pair(self.posted, fields.word);
        words[2] = fields.length;
        let mut length = 24;
        if let Some((remote, operation)) = fields.remote {
            length = 40;
            words[3] = pair(remote.context, operation);
            words[4] = remote.address;
        }
        if let Some(operands) = fields.operands {
            length = 56;
            (words[5], words[6]) = operands;
        }
        Head::new(words, length)
    }

    /// A `HELLO` of this version.
    #[must_use]
    pub const fn hello(length: u64) -> Self {
        Self::new(Body::Hello { version: VERSION, length })
    }
}

/// A word of two fields, the first one at the lower address.
pub(super) const fn pair(first: u32, second: u32) -> u64 {
    first as u64 | (second as u64) << 32
}
