//! Requests of the peer: those whose payload is arriving, and those that await their answer.

use dat_provider::triplet::RmrTriplet;

use super::receive_queue::TakenReceive;
use crate::frame::Frame;

/// An answer that the peer waits for.
pub(super) struct PendingAnswer {
    /// The sequence number of the request.
    pub(super) number: u32,
    pub(super) data: AnswerData,
}

/// The data of an answer.
pub(super) enum AnswerData {
    /// A memory range, and the number of its bytes that were written to the link.
    Read(RmrTriplet, u64),
    /// The value that an atomic operation found.
    Word([u8; 8]),
}

/// A message or RDMA write whose payload is arriving.
pub(super) struct InboundRequest {
    pub(super) kind: InboundKind,
    /// Length in bytes.
    pub(super) length: u64,
    /// Bytes in the frames before the current one.
    pub(super) received: u64,
    /// Whether its memory was deregistered, or became inaccessible, while it arrived.
    pub(super) has_lost_memory: bool,
}

/// Where the payload of an inbound request goes.
pub(super) enum InboundKind {
    Message {
        receive: TakenReceive,
        solicited: bool,
        invalidate: Option<u32>,
    },
    Write {
        target: RmrTriplet,
        /// Immediate data, and whether the completion is solicited.
        immediate: Option<(u32, bool)>,
    },
}

/// An eager message that arrived when its shared receive queue had no buffer.
pub(super) struct Unexpected {
    pub(super) data: Vec<u8>,
    pub(super) solicited: bool,
    pub(super) invalidate: Option<u32>,
}

/// The destination of the payload of the current frame. Lengths are in bytes.
pub(super) enum CurrentFrame {
    /// No payload.
    Empty,
    /// A message in one frame, for the oldest receive of the queue pair. The receive is taken at the end
    /// of the frame.
    Message {
        length: u64,
        solicited: bool,
        /// As in [`InboundRequest`].
        has_lost_memory: bool,
    },
    /// A piece of this length of the inbound request.
    Request(u64),
    /// A piece of this length of the oldest outstanding answer; whether it is the last piece.
    Answer(u64, bool),
    /// A frame of the handshake.
    Handshake(Frame, Vec<u8>),
    /// The extents of an offered message, and their epoch.
    Offer(Vec<u8>, u64),
    /// A message without a receive.
    Unexpected(Unexpected),
}
