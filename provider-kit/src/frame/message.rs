//! The head of a plain message, which links can write and read without the other kinds of frames.

use super::encode::{SOLICITED, flag, kind, pair};
use super::{Body, Extra, Frame, MAX_TRANSFER};

/// The head of a message without [`Extra`]. The fields are those of [`Frame`] and [`Body::Send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Length of the message in bytes.
    pub length: u64,
    /// True if its receive notifies waiters for solicited completions.
    pub solicited: bool,
    /// As [`Frame::done`].
    pub done: u32,
    /// As [`Frame::posted`].
    pub posted: u32,
}

impl MessageHead {
    /// Length of the head in bytes.
    pub const LEN: usize = 24;

    /// The head as words in the order of memory.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; 3] {
        let kind = u32::from(kind::SEND) | u32::from(flag(self.solicited, SOLICITED)) << 8;
        [pair(kind, self.done), self.posted.into(), self.length].map(u64::to_le)
    }

    /// Decodes the head. Returns nothing if the words are the head of another frame, or of none.
    #[inline]
    #[must_use]
    pub fn of(words: [u64; 3]) -> Option<Self> {
        let [first, posted, length] = words.map(u64::from_le);
        let (kind, flags) = (first as u8, (first >> 8) as u8);
        let is_message = kind == kind::SEND
            && flags & !SOLICITED == 0
            && posted <= u32::MAX.into()
            && length <= MAX_TRANSFER;
        is_message.then_some(Self {
            length,
            solicited: flags != 0,
            done: (first >> 32) as u32,
            posted: posted as u32,
        })
    }

    /// The frame with this head.
    #[must_use]
    pub const fn frame(&self) -> Frame {
        let &Self { length, solicited, done, posted } = self;
        let body = Body::Send { length, solicited, extra: Extra::None };
        Frame { done, posted, ..Frame::new(body) }
    }
}
