//! The failure that broke a connection.

use std::fmt;

use crate::Completion;
use crate::status::{DtoStatus, Operation};

/// The first operation that failed since an endpoint began to connect. Later ones are usually
/// flushed because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation.
    pub operation: Operation,
    /// The cookie of the post.
    pub cookie: u64,
    /// How it ended.
    pub status: DtoStatus,
    /// The transport's own name for the error, and numbers of the device. Empty if it reports only the
    /// status.
    pub cause: String,
}

impl Failure {
    /// The failure that a completion reports, with the transport's description of it. `None` for a
    /// success and for a flushed operation.
    #[must_use]
    pub fn from_completion(
        completion: &Completion,
        cause: impl FnOnce() -> String,
    ) -> Option<Self> {
        let &Completion { operation, cookie, status, .. } = completion;
        let failed = !matches!(status, DtoStatus::Success | DtoStatus::Flushed);
        failed.then(|| Self { operation, cookie, status, cause: cause() })
    }

    /// Returns true if both are failures of the same post, as far as this can be determined.
    #[must_use]
    pub fn is_same_operation(&self, other: &Self) -> bool {
        (self.operation, self.cookie, self.status) == (other.operation, other.cookie, other.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, cookie, status, cause } = self;
        write!(f, "{operation} with cookie {cookie:#x}: {status}: {}", status.meaning())?;
        if !cause.is_empty() {
            write!(f, " The transport reports: {cause}.")?;
        }
        write!(f, " {}", status.advice())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_tried_how_it_ended_and_what_to_do() {
        let (operation, status) = (Operation::RdmaWrite, DtoStatus::RemoteAccess);
        let mut failure = Failure { operation, cookie: 7, status, cause: String::new() };
        let plain = failure.to_string();
        assert!(plain.starts_with("RDMA write with cookie 0x7: DAT_DTO_ERR_REMOTE_ACCESS: "));
        assert!(plain.ends_with(status.advice()) && !plain.contains("transport"), "{plain}");
        failure.cause = "error 10".to_owned();
        assert!(failure.to_string().contains(". The transport reports: error 10. "), "{failure}");
    }
}
