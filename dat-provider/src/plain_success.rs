//! The fast path of a dequeue: the layout of a plain success, and how one is taken.
//!
//! It spares the providers of this project the cost of [`poll`](CompletionPoller::poll) and a copy, and is not a part
//! of the contract: it changes with the C libraries. A poller that does not implement
//! [`take_success`](CompletionPoller::take_success) leaves every completion to `poll`; one that does takes the
//! oldest completion if it is a plain success, and writes to the argument only then.

use crate::Completion;
#[cfg(doc)]
use crate::CompletionPoller;
use crate::status::{DtoStatus, Operation};

/// A plain success, which most completions are: a send, an RDMA write, an RDMA read or a receive of
/// less than 4 GiB that succeeded, with no `extra` value. It has the memory layout of
/// `DAT_DTO_COMPLETION_EVENT_DATA` of DAT 2.0, and every bit pattern is valid, so it can be written
/// directly into the buffer of a C consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PlainSuccess {
    /// As in [`Completion`].
    pub tag: u64,
    /// As in [`Completion`].
    pub cookie: u64,
    /// The status, which is 0, and the length in bytes.
    pub outcome: u64,
    /// The operation, and the `extra` value, which is 0.
    pub operation: u64,
}

/// Packs two 32-bit numbers in memory order, so that they are written in one store.
#[inline(always)]
const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        first as u64 | (second as u64) << 32
    } else {
        (first as u64) << 32 | second as u64
    }
}

/// The first and the second number of a pair.
const fn parts(pair: u64) -> (u32, u32) {
    let (low, high) = (pair as u32, (pair >> 32) as u32);
    if cfg!(target_endian = "little") { (low, high) } else { (high, low) }
}

impl PlainSuccess {
    /// Returns true if a success of this operation and length, with no `extra` value, fits into this type.
    #[inline(always)]
    #[must_use]
    pub const fn fits(operation: Operation, length: u64) -> bool {
        operation as u32 <= Operation::Receive as u32 && length <= u32::MAX as u64
    }

    /// Overwrites the value. The caller has checked with [`fits`](Self::fits) that the completion
    /// fits. Tag, cookie, length in bytes and operation number are those of the [`Completion`].
    #[inline(always)]
    pub fn set(&mut self, tag: u64, cookie: u64, length: u32, operation: u32) {
        *self = Self { tag, cookie, outcome: pair(0, length), operation: pair(operation, 0) };
    }
}

impl From<PlainSuccess> for Completion {
    #[inline(always)]
    fn from(success: PlainSuccess) -> Self {
        const KNOWN: [Operation; 4] =
            [Operation::Send, Operation::RdmaWrite, Operation::RdmaRead, Operation::Receive];
        let ((_, length), (operation, _)) = (parts(success.outcome), parts(success.operation));
        Self {
            tag: success.tag,
            cookie: success.cookie,
            length: length.into(),
            operation: KNOWN[operation as usize % KNOWN.len()],
            status: DtoStatus::Success,
            extra: 0,
        }
    }
}

/// The result of [`CompletionPoller::take_success`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeResult {
    /// No completion.
    Nothing,
    /// A plain success, which was taken.
    Success,
    /// There may be a completion, but none was taken: call [`CompletionPoller::poll`].
    Other,
}
