//! The link: what moves frames to one peer, in order, and reports when it ends.
//!
//! A link has two halves that are used under two locks. The [`Writer`] is used by the thread that
//! posts, polls or makes progress and holds the `out` lock of the queue pair; the [`Reader`] by the
//! one that holds its `in` lock. Neither half blocks.
//!
//! Registered memory is named by [`Span`]s and is touched only inside [`Writer::write`] and
//! [`Reader::read`]; a link keeps no span after the call.

use std::fmt;
use std::os::fd::BorrowedFd;

use dat_provider::mem::Span;

use crate::frame::{Frame, Malformed};

/// What became of a frame that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// The link has all of it; what the peer's side cannot take yet is copied.
    Taken,
    /// The link is full and took nothing of it. Write it again once [`Writer::flush`] says
    /// that nothing waits.
    Full,
}

/// Why a link carries nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer wrote its last byte, between two frames.
    Closed,
    /// The peer is gone: reset, or closed inside a frame.
    Gone,
    /// There is no way to the peer any more; the errno.
    Lost(i32),
    /// The peer broke the protocol.
    Malformed(Malformed),
    /// The local side stopped it: [`Reader::read`] after a sink refused a frame.
    Refused,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the connection"),
            Self::Gone => f.write_str("the peer's process is gone"),
            Self::Lost(errno) => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "the way to the peer is lost: {error}")
            }
            Self::Malformed(why) => write!(f, "the peer broke the protocol: {why}"),
            Self::Refused => {
                f.write_str("the peer sent a frame that the connection does not allow")
            }
        }
    }
}

/// The half of a link that writes.
pub trait Writer: Send {
    /// Writes a frame, behind all that was written before. The spans have
    /// [`Frame::payload`] bytes in total.
    ///
    /// # Errors
    /// Why the link has ended. What the peer sent before may still be read.
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<Written, End>;

    /// Writes what waits, as far as there is room. Returns whether anything still waits.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn flush(&mut self) -> Result<bool, End>;

    /// Tells the peer that nothing more comes, once nothing waits. Frames can still be read.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn shut_down(&mut self) -> Result<(), End>;
}

/// How much [`Reader::read`] takes in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of frames.
    pub frames: u32,
    /// Bytes of heads and payloads. A frame that was begun may exceed it by one read.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { frames: 64, bytes: 256 << 10 }
    }
}

/// What a call of [`Reader::read`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All that had arrived was read; whether that was anything.
    Drained(bool),
    /// The budget was used up: more may be there. A descriptor may not become readable for it.
    More,
}

/// The half of a link that reads.
pub trait Reader: Send {
    /// Reads what has arrived and hands it to the sink.
    ///
    /// # Errors
    /// Why the link has ended; all frames before the end were handed over. Every later call
    /// returns the same.
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End>;

    /// Reads what has arrived and drops it, also after [`Reader::read`] returned an error. A link
    /// that is closed with bytes unread may lose what was written last.
    ///
    /// # Errors
    /// The peer writes nothing more.
    fn discard(&mut self) -> Result<(), End>;

    /// The descriptor that becomes readable (level-triggered) when something arrives, if the link
    /// has one. It becomes writable when [`Writer::flush`] can write, unless
    /// [`Reader::is_readable_for_room`].
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Whether a thread waits for the descriptor: at first, one does. While none does, the link is
    /// asked often, and its peer need not make the descriptor readable. Returns whether
    /// something has arrived of which the descriptor may not tell.
    fn arm(&mut self, _is_armed: bool) -> bool {
        false
    }

    /// Whether the descriptor becomes readable, and not writable, when [`Writer::flush`] can write.
    fn is_readable_for_room(&self) -> bool {
        false
    }
}

/// The sink refuses the frame: the link ends with [`End::Refused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Where a [`Reader`] delivers.
pub trait FrameSink {
    /// A frame begins; its payload follows.
    ///
    /// # Errors
    /// The connection's state does not allow this frame.
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused>;

    /// Appends the places for the payload of the current frame from `offset` bytes into it, up to
    /// its end. It is called each time that payload can be read, so that memory which was
    /// deregistered meanwhile is not written. The link drops bytes that get no place.
    fn destinations(&mut self, offset: u64, places: &mut Destinations);

    /// The payload of the current frame is complete.
    ///
    /// # Errors
    /// As [`FrameSink::begin`].
    fn end(&mut self) -> Result<(), Refused>;
}

/// Destinations for a payload, in order.
pub type Destinations = Vec<Span>;
