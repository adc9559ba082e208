//! Where frames are written.

use dat_provider::mem::Span;

use crate::frame::{AckHead, Frame, MessageHead};
use crate::link::Writer;

/// The writing half of a link, as the protocol uses it.
pub(crate) trait Transmit {
    /// Writes a frame. A frame of a request may be held for others that follow it soon.
    fn write(&mut self, frame: &Frame, payload: &[Span], request: Option<RequestFrame>) -> Sent;

    /// Writes a message of one span, while the link is free and cannot hold frames.
    fn write_message(&mut self, head: &MessageHead, payload: Span) -> Sent;

    /// Writes an acknowledgement, while the link is free.
    fn write_ack(&mut self, head: &AckHead) -> Sent;

    /// Sends the frames that it has copied.
    fn flush(&mut self) -> Sent;

    /// Returns true if it has copied bytes that it could not send, or was full.
    fn has_unsent(&self) -> bool;

    /// Returns true if it holds frames.
    fn is_holding(&self) -> bool;

    /// Returns true if nothing can be written any more.
    fn is_closed(&self) -> bool;

    /// For what does not write frames.
    fn writer(&mut self) -> &mut dyn Writer;
}

/// The request that a frame belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFrame {
    /// Its sequence number.
    pub(crate) number: u32,
    /// True if requests before it are in flight.
    pub(crate) has_earlier: bool,
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Sent {
    /// The link has taken it.
    Taken,
    /// The link is full or closed.
    NotTaken,
    /// Registered memory that it was to carry is not readable.
    Unreadable,
    /// No reader finds the end of the link: the program has closed its descriptor, or the system refuses to shut the link
    /// down. The connection ends without another call.
    Lost,
}

/// Registered memory that a frame was to carry is not readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;
