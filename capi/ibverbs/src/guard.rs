//! How calls return to C: 0, an errno, -1 or null. No panic leaves a call.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use dat_soft_verbs::Error;

/// Why a call fails: an errno of its manual page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(pub c_int);

/// The result of a call.
pub type Result<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        crate::log::failed(&error);
        Self(error.errno)
    }
}

/// Invalid arguments.
pub const INVALID: Failure = Failure(libc::EINVAL);

/// The result of a call that no device in software supports.
pub const UNSUPPORTED: Failure = Failure(libc::EOPNOTSUPP);

/// Stores `errno` for the calling thread.
pub fn set_errno(errno: c_int) {
    // SAFETY: the function returns the address of the errno of this thread.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: only this thread accesses it.
    unsafe { *location = errno };
}

/// The failure of a call of C that has stored its errno.
#[must_use]
pub fn last() -> Failure {
    Failure(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// The object that a call of C has returned, unless it is null.
pub fn made<T>(object: *mut T) -> Result<*mut T> {
    if object.is_null() { Err(last()) } else { Ok(object) }
}

/// Runs a call. A panic is an error of this library: it is reported on standard error and fails with `EIO`.
#[inline(always)]
pub fn run<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Failure(libc::EIO)))
}

/// Runs a call that returns 0 or an errno. Its errno is stored, too.
#[inline(always)]
pub fn status(call: impl FnOnce() -> Result<()>) -> c_int {
    match run(call) {
        Ok(()) => 0,
        Err(Failure(errno)) => {
            set_errno(errno);
            errno
        }
    }
}

/// Runs a call that returns a number, or -1 with errno.
pub fn number(call: impl FnOnce() -> Result<c_int>) -> c_int {
    run(call).unwrap_or_else(|Failure(errno)| {
        set_errno(errno);
        -1
    })
}

/// Runs a call that returns 0, or -1 with errno.
pub fn zero(call: impl FnOnce() -> Result<()>) -> c_int {
    number(|| call().map(|()| 0))
}

/// Runs a call that returns an object, or null with errno.
pub fn object<T>(call: impl FnOnce() -> Result<*mut T>) -> *mut T {
    run(call).unwrap_or_else(|Failure(errno)| {
        set_errno(errno);
        null_mut()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno() -> c_int {
        std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }

    #[test]
    fn a_failure_returns_what_the_manual_page_says_and_stores_errno() {
        set_errno(0);
        assert_eq!(status(|| Err(INVALID)), libc::EINVAL);
        assert_eq!(errno(), libc::EINVAL);
        assert_eq!(number(|| Err(UNSUPPORTED)), -1);
        assert_eq!(errno(), libc::EOPNOTSUPP);
        assert!(object::<u8>(|| Err(Failure(libc::ENOMEM))).is_null());
        assert_eq!(errno(), libc::ENOMEM);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(status(|| panic!("of the test")), libc::EIO);
    }
}
