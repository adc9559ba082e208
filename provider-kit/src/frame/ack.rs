//! The head of an acknowledgement, which links can write and read without the other kinds of frames.

use super::encode::{kind, pair};
use super::{Body, Frame};

/// The head of a frame that carries only the counts of its sender. The fields are those of [`Frame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckHead {
    /// As [`Frame::done`].
    pub done: u32,
    /// As [`Frame::posted`].
    pub posted: u32,
}

impl AckHead {
    /// Length of the head in bytes.
    pub const LEN: usize = 24;

    /// The head as words in the order of memory.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; 3] {
        [pair(kind::ACK.into(), self.done), self.posted.into(), 0].map(u64::to_le)
    }

    /// Decodes the head. Returns nothing if the words are the head of another frame, or of none.
    #[inline]
    #[must_use]
    pub fn of(words: [u64; 3]) -> Option<Self> {
        let [first, posted, length] = words.map(u64::from_le);
        let is_ack = first as u16 == kind::ACK.into() && posted <= u32::MAX.into() && length == 0;
        is_ack.then_some(Self { done: (first >> 32) as u32, posted: posted as u32 })
    }

    /// The frame with this head.
    #[must_use]
    pub const fn frame(&self) -> Frame {
        Frame { done: self.done, posted: self.posted, ..Frame::new(Body::Ack) }
    }
}
