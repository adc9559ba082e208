//! Completions of operations.

use crate::provider::Completion;
use crate::provider::Failure;
use crate::provider::plain_success::PlainSuccess;
use crate::status::{DtoStatus, Operation};

/// The number by which events name an endpoint ([`Ep::id`](crate::Ep::id), or the tag
/// that its creator gave it).
pub type EpId = u64;

/// A completed send, receive or RDMA operation (`DAT_DTO_COMPLETION_EVENT_DATA`).
///
/// ```
/// use dat_core::{DtoCompletion, DtoStatus, Operation};
///
/// let operation = Operation::Send;
/// let mut done = DtoCompletion { cookie: 3, length: 64, operation, ..Default::default() };
/// assert_eq!(done.result(), Ok(64));
/// done.status = DtoStatus::Flushed; // the connection has ended first
/// let failure = done.result().unwrap_err();
/// assert_eq!((failure.cookie, failure.operation), (3, Operation::Send));
/// ```
// In this order endpoint and cookie are not adjacent, unlike in the `PlainSuccess` just stored:
// otherwise the compiler would copy both with one load, and a processor cannot forward two stores
// to one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DtoCompletion {
    /// The endpoint that it was posted on, or that took it from a shared receive queue.
    pub ep: EpId,
    /// Number of bytes moved; meaningful only for a success.
    pub length: u64,
    /// The cookie of the post.
    pub cookie: u64,
    /// The operation that completed.
    pub operation: Operation,
    /// How it ended.
    pub status: DtoStatus,
    /// A value that depends on the operation; see [`invalidated`](Self::invalidated) and
    /// [`immediate`](Self::immediate).
    pub extra: u32,
}

impl DtoCompletion {
    /// The number of bytes moved, or the failure.
    ///
    /// # Errors
    /// The operation failed. [`Ep::failure`](crate::Ep::failure) has the transport's description
    /// of the first failure of the endpoint.
    pub fn result(&self) -> Result<u64, Failure> {
        let &Self { operation, cookie, status, .. } = self;
        match status {
            DtoStatus::Success => Ok(self.length),
            _ => Err(Failure { operation, cookie, status, cause: String::new() }),
        }
    }

    /// The context that a receive with invalidate has invalidated.
    #[must_use]
    pub fn invalidated(&self) -> Option<u32> {
        (self.operation == Operation::ReceiveWithInvalidate).then_some(self.extra)
    }

    /// The immediate data that a receive got.
    #[must_use]
    pub fn immediate(&self) -> Option<u32> {
        matches!(self.operation, Operation::ReceiveImmediate | Operation::ReceiveSendImmediate)
            .then_some(self.extra)
    }

    /// The completion in its short form, if it is a success that fits.
    pub(crate) fn plain_success(&self) -> Option<PlainSuccess> {
        let Self { ep, length, cookie, operation, status, extra } = *self;
        let is_plain = status == DtoStatus::Success && extra == 0;
        (is_plain && PlainSuccess::fits(operation, length)).then(|| {
            let mut success = PlainSuccess::default();
            success.set(ep, cookie, length as u32, operation as u32);
            success
        })
    }
}

/// A completed bind (`DAT_RMR_BIND_COMPLETION_EVENT_DATA`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RmrBindCompletion {
    /// The endpoint that the bind was posted on.
    pub ep: EpId,
    /// The number of the remote memory region.
    pub rmr: u64,
    /// The cookie of the bind.
    pub cookie: u64,
    /// How it ended.
    pub status: DtoStatus,
}

impl From<Completion> for DtoCompletion {
    /// Converts the completion of any operation except a bind.
    #[inline(always)]
    fn from(completion: Completion) -> Self {
        let Completion { tag: ep, cookie, length, extra, operation, status } = completion;
        Self { ep, cookie, length, operation, status, extra: extra as u32 }
    }
}

#[doc(hidden)]
impl From<PlainSuccess> for DtoCompletion {
    #[inline(always)]
    fn from(success: PlainSuccess) -> Self {
        Completion::from(success).into()
    }
}
