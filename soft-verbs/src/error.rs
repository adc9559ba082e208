//! The errors of all calls.

use std::borrow::Cow;
use std::fmt;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// The failure of a call: the errno that verbs return, and a text that says what was tried, on what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The errno, as the manual page of the call names it.
    pub errno: i32,
    text: Cow<'static, str>,
}

impl Error {
    /// The answer of a channel that has no event and does not block.
    pub const NO_EVENT: Self = Self::plain(libc::EAGAIN, "there is no event");

    /// An error with that errno and text.
    #[must_use]
    pub fn new(errno: i32, text: impl Into<Cow<'static, str>>) -> Self {
        Self { errno, text: text.into() }
    }

    /// An error without memory of its own, for calls of the data path.
    pub(crate) const fn plain(errno: i32, text: &'static str) -> Self {
        Self { errno, text: Cow::Borrowed(text) }
    }

    /// An argument that is not valid, or a call that the state does not allow.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(libc::EINVAL, text)
    }

    /// The error of a call that needs something that this device does not have.
    pub(crate) fn unsupported(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(libc::EOPNOTSUPP, text)
    }

    /// The object is used by others, so it cannot be destroyed.
    pub(crate) const fn busy(text: &'static str) -> Self {
        Self::plain(libc::EBUSY, text)
    }

    /// An error of a system call.
    pub(crate) fn system(what: &str, error: rustix::io::Errno) -> Self {
        Self::new(error.raw_os_error(), format!("cannot {what}: {error}"))
    }

    /// The text: what was tried, on what, and what to do.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::from_raw_os_error(error.errno)
    }
}

/// The errors of the engine, with the errno that it reports or that belongs to its kind.
impl From<dat_provider::error::Error> for Error {
    #[cold]
    fn from(error: dat_provider::error::Error) -> Self {
        use dat_provider::error::{ReturnType, Subtype};
        let is_full = error.subtype() == Subtype::ResourceCredits;
        let errno = error.raw_os_error().unwrap_or(match error.return_type() {
            ReturnType::InsufficientResources => libc::ENOMEM,
            ReturnType::ModelNotSupported => libc::EOPNOTSUPP,
            ReturnType::ConnQualInUse => libc::EADDRINUSE,
            ReturnType::ConnQualUnavailable => libc::EADDRNOTAVAIL,
            _ => libc::EINVAL,
        });
        if is_full {
            return Self::plain(errno, "the work queue is full; poll completions first");
        }
        Self::new(errno, error.to_string())
    }
}
