//! The link, which carries frames to one peer, in order, and reports its end.
//!
//! A link has two halves, the [`Writer`] and the [`Reader`]. Both are used by the thread that posts, polls or makes
//! progress, which holds the lock of the queue pair. Neither half blocks.
//!
//! Payloads are [`Span`]s of registered memory, which are accessed only inside [`Writer::write`] and
//! [`Reader::read`]; a link keeps no span after the call.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dat_provider::SleepTarget;
use dat_provider::mem::Span;

use crate::direct::{Access, AccessResult, Gate, Offer};
use crate::doorbell::Doorbell;
use crate::frame::{AckHead, Frame, FrameError, MAX_PIECE, MessageHead};

/// The result of [`Writer::write`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum WriteResult {
    /// The link has taken the whole frame and sent it.
    Taken,
    /// The link has taken the whole frame, and copied the bytes that it could not send yet. Call
    /// [`Writer::flush`] when the descriptor reports space, even if no other frame follows.
    Buffered,
    /// The link has taken the whole frame and copied it. It sends the copy with the next frame that
    /// [`Writer::write`] takes, or in [`Writer::flush`]. Only [`Writer::hold`] returns this.
    Held,
    /// The link is full and has taken nothing. Write the frame again once [`Writer::flush`] returns
    /// false.
    Full,
    /// The program has made memory of the payload inaccessible. The link has taken nothing, or has sent a part of the
    /// frame. In the second case it returns this for every later frame, so it can only be shut down.
    Unreadable,
}

/// The cause of a link's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer shut its side down after a complete frame.
    Closed,
    /// The peer is gone: the link was reset, or closed in the middle of a frame.
    Gone,
    /// The peer can no longer be reached; the value is the errno.
    Lost(i32),
    /// The peer broke the protocol.
    Malformed(FrameError),
    /// The sink of [`Reader::read`] refused a frame.
    Refused,
    /// The program has made memory inaccessible, and no byte was moved. Only a stream returns this, and the halves
    /// of its link handle it.
    Inaccessible,
    /// The system has refused to wake the peer or to send to it, and then to shut the link down: neither side notices
    /// the end until the link is dropped. The value is the errno of the first refusal.
    Stuck(i32),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the connection"),
            Self::Gone => f.write_str("the peer's process is gone"),
            Self::Lost(errno) => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "the peer can no longer be reached: {error}")
            }
            Self::Malformed(why) => write!(f, "the peer broke the protocol: {why}"),
            Self::Refused => {
                f.write_str("the peer sent a frame that the connection does not allow")
            }
            Self::Inaccessible => f.write_str("registered memory is not accessible any more"),
            Self::Stuck(errno) => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "the system refuses to send to the peer: {error}")
            }
        }
    }
}

/// The writing half of a link.
pub trait Writer: Send {
    /// Writes a frame after all previous ones. The spans have [`Frame::payload`] bytes in total.
    ///
    /// # Errors
    /// The cause of the link's end. Frames that the peer sent before can still be read.
    fn write(&mut self, frame: &Frame, payload: &[Span]) -> Result<WriteResult, End>;

    /// As [`Writer::write`], for a message whose bytes are one span. Not called in a child of `fork`. A link overrides
    /// it if it can write such frames faster than others.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn write_message(&mut self, head: &MessageHead, payload: Span) -> Result<WriteResult, End> {
        self.write(&head.frame(), &[payload])
    }

    /// As [`Writer::write`], for an acknowledgement. Not called in a child of `fork`. A link overrides it as
    /// [`Writer::write_message`].
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn write_ack(&mut self, head: &AckHead) -> Result<WriteResult, End> {
        self.write(&head.frame(), &[])
    }

    /// As [`Writer::write`], but the frame may wait for later frames, if at most `limit` bytes wait in all. By default,
    /// it does not wait.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn hold(&mut self, frame: &Frame, payload: &[Span], limit: usize) -> Result<WriteResult, End> {
        let _ = limit;
        self.write(frame, payload)
    }

    /// As [`Writer::write`], for the last frame of the link. The frame need not wake the peer, because
    /// [`Writer::shut_down`] follows once it is written, and the peer notices that.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn write_last(&mut self, frame: &Frame) -> Result<WriteResult, End> {
        self.write(frame, &[])
    }

    /// Maximum payload of the frames that begin a request, in bytes, at least [`MIN_OFFER`] and at most [`MAX_PIECE`]: a
    /// message that is too short for an offer has one frame. Both sides of a connection have the same; a request that is
    /// longer continues in further frames.
    fn max_first_piece(&self) -> u64 {
        MAX_PIECE
    }

    /// Maximum payload of the frames that do not begin a request, in bytes, at most
    /// [`MAX_NEXT_PIECE`](crate::frame::MAX_NEXT_PIECE).
    fn max_next_piece(&self) -> u64 {
        MAX_PIECE
    }

    /// Returns true if [`Writer::hold`] differs from [`Writer::write`], because several frames cost little more
    /// than one. By default, it does not.
    fn can_hold(&self) -> bool {
        false
    }

    /// Sends the copied bytes, as far as the link accepts them. Returns true if any are left.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn flush(&mut self) -> Result<bool, End>;

    /// Shuts this side down once all bytes are sent. Frames of the peer can still be read.
    ///
    /// # Errors
    /// As [`Writer::write`].
    fn shut_down(&mut self) -> Result<(), End>;

    /// Executes an RDMA operation without the peer before it returns. All previous requests have been executed. By
    /// default, this is not possible.
    fn access(&mut self, _access: &Access<'_>) -> AccessResult {
        AccessResult::NotDirectly
    }

    /// As [`Writer::access`], for several operations in order, up to the first one that the peer has to execute. Returns
    /// how many are executed. A link overrides it if several operations cost little more than one.
    fn access_all(&mut self, accesses: &[Access<'_>]) -> usize {
        accesses.iter().take_while(|one| self.access(one) == AccessResult::Done).count()
    }

    /// Returns true if messages of at least [`MIN_OFFER`] bytes may be offered. By default, they may not.
    fn can_offer(&self) -> bool {
        false
    }

    /// If a message of that length is to be offered now, returns the epoch in which the peer may fetch it from memory
    /// that is registered at the time of this call. `is_alone` is true if no other request is outstanding. By default,
    /// the peer cannot fetch messages.
    fn offer(&mut self, _length: u64, _is_alone: bool) -> Option<u64> {
        None
    }

    /// Fetches a message that the peer has offered. By default, this is not possible.
    fn fetch(&mut self, _offer: &Offer<'_>) -> AccessResult {
        AccessResult::NotDirectly
    }

    /// The gate through which the peer may access the memory of this process with the rights of the queue pair of this
    /// number and protection domain. By default, there is none.
    fn gate(&mut self, _domain: u32, _queue_pair: u32) -> Option<Box<dyn Gate>> {
        None
    }

    /// The figures of the link for operators. It is called about once a second.
    fn report(&self) -> LinkReport {
        LinkReport::of("link")
    }
}

/// The figures of a link for operators; see [`Writer::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// The kind of the link.
    pub transport: &'static str,
    /// Number of bytes that were written, with the heads of the frames and what the link adds to them, and those that
    /// were written to the memory of the peer directly, or that it was offered; `None` if the link does not count them.
    pub written: Option<u64>,
    /// Number of bytes that were read, counted as those written; `None` if this half of the link does not know it, so that
    /// [`Reader::bytes_read`] is asked.
    pub read: Option<u64>,
    /// Number of bytes that were read from the memory of the peer directly.
    pub pulled: u64,
    /// True if the peer has not read everything that was written, as far as the link knows.
    pub is_unread: bool,
    /// The process of the peer, if it is on this machine and the link knows it.
    pub peer_process: Option<i32>,
}

impl LinkReport {
    /// The report of a link that has only its kind.
    #[must_use]
    pub const fn of(transport: &'static str) -> Self {
        Self {
            transport,
            written: None,
            read: None,
            pulled: 0,
            is_unread: false,
            peer_process: None,
        }
    }
}

/// Shorter messages are not offered, on any link: two copies are faster than a call of the kernel.
pub const MIN_OFFER: u64 = 8 << 10;

/// The limits of one call of [`Reader::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of frames.
    pub frames: u32,
    /// Number of bytes of heads and payloads. The last read may exceed it.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { frames: 64, bytes: 256 << 10 }
    }
}

/// The result of [`Reader::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All data that had arrived was read; true if there was any.
    Drained(bool),
    /// The budget is used up. More data may have arrived, for which the descriptor may not become
    /// readable.
    More,
}

/// The event that the reader of a link awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Armed {
    /// Nothing: it polls the link.
    Nothing,
    /// The [doorbell](Reader::doorbell).
    Doorbell,
    /// The descriptor.
    Descriptor,
    /// A change of the word of [`Reader::begin_sleep`].
    Word,
}

/// The reading half of a link.
pub trait Reader: Send {
    /// Reads the frames that have arrived and passes them to the sink.
    ///
    /// # Errors
    /// The cause of the link's end, after all frames before it were passed on. Every later call returns the same.
    fn read(&mut self, sink: &mut dyn FrameSink, budget: Budget) -> Result<Progress, End>;

    /// The descriptor is readable, so the next read must take the data that made it readable. Pollers read without this
    /// call; the link need not access its descriptor in such a read if no frame has arrived.
    fn note_readable(&mut self) {}

    /// Reads and drops the data that has arrived, even after [`Reader::read`] returned an error. Closing a link with
    /// unread bytes may lose the bytes that were written last.
    ///
    /// # Errors
    /// The peer has shut its side down, or the link has ended.
    fn discard(&mut self) -> Result<(), End>;

    /// The descriptor of the link, if it has one. It is readable (level-triggered) while received data
    /// is unread, and writable when [`Writer::flush`] can send, unless
    /// [`Reader::is_readable_for_room`] says that it becomes readable instead.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// A waiter is about to sleep, and to read the link itself when it wakes up, if that is faster than a wake-up of
    /// the driver. Returns the object on which it sleeps: the same descriptor, or a word, which this call
    /// [arms](Armed::Word); and whether data may have arrived unannounced. By default, there is none.
    fn begin_sleep(&mut self) -> Option<(SleepTarget, bool)> {
        None
    }

    /// The check for a peer that vanishes without notice, if the link needs one. By default, it does not.
    fn liveness(&self) -> Option<Weak<dyn Liveness>> {
        None
    }

    /// The doorbell of the link, if it has one that the peer rings.
    fn doorbell(&self) -> Option<Arc<Doorbell>> {
        None
    }

    /// Announces the event that the reader awaits, which is not the word; initially the descriptor. The peer need not
    /// signal more than that. Returns true if data may have arrived unannounced.
    fn arm(&mut self, _armed: Armed) -> bool {
        false
    }

    /// Returns true if the descriptor becomes readable, and not writable, when [`Writer::flush`] can write.
    fn is_readable_for_room(&self) -> bool {
        false
    }

    /// The count of [`LinkReport::read`], of a link that keeps it in this half; `None` otherwise.
    fn bytes_read(&self) -> Option<u64> {
        None
    }
}

/// The check for a peer that vanishes without notice.
pub trait Liveness: Send + Sync {
    /// The time between two checks, which is the same for all links of an adapter.
    fn interval(&self) -> Duration;

    /// Ends the link if the peer is lost. Its halves find the end, and its descriptor becomes readable.
    fn check(&self);
}

/// The sink refuses a frame. The link ends with [`End::Refused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// The receiver of the frames that a [`Reader`] reads.
pub trait FrameSink {
    /// A message has arrived in one frame, and all of its bytes are in memory. Copies them to their destination.
    /// Returns false, without effect, if the frame must be passed on by [`begin`](Self::begin) and the methods after
    /// it.
    ///
    /// # Errors
    /// As [`FrameSink::begin`].
    fn message(&mut self, _head: &MessageHead, _payload: Span) -> Result<bool, Refused> {
        Ok(false)
    }

    /// An acknowledgement has arrived. Returns false as [`message`](Self::message) does.
    ///
    /// # Errors
    /// As [`FrameSink::begin`].
    fn ack(&mut self, _head: &AckHead) -> Result<bool, Refused> {
        Ok(false)
    }

    /// A frame begins; its payload follows.
    ///
    /// # Errors
    /// The state of the connection does not allow this frame.
    fn begin(&mut self, frame: &Frame) -> Result<(), Refused>;

    /// Appends the memory for the payload of the current frame, from `offset` to its end. The link calls this each time
    /// that payload can be read, so that memory that was deregistered in between is not written. It drops bytes without
    /// memory.
    fn destinations(&mut self, offset: u64, into: &mut Destinations);

    /// The memory that [`destinations`](Self::destinations) has appended is not writable: the program has made it
    /// inaccessible. The rest of the current payload may get no memory.
    fn lose_memory(&mut self) {}

    /// The payload of the current frame is complete.
    ///
    /// # Errors
    /// As [`FrameSink::begin`].
    fn end(&mut self) -> Result<(), Refused>;
}

/// The memory for a payload, in order.
pub type Destinations = Vec<Span>;
