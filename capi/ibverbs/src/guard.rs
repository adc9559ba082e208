//! How calls return to C: 0, an errno, -1 or null. No panic leaves a call.

use std::borrow::Cow;
use std::ffi::c_int;
use std::fmt::Display;
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
        // A program that polls for events gets this answer all the time.
        if error != Error::NO_EVENT {
            dat_soft_verbs::explain(&error);
        }
        Self(error.errno)
    }
}

/// A failure that is explained. The text says what was tried, on what, and what to do.
#[cold]
pub fn refused(errno: c_int, text: impl Into<Cow<'static, str>>) -> Failure {
    Error::new(errno, text).into()
}

/// Invalid arguments, or a call that the state does not allow.
pub fn invalid(text: impl Into<Cow<'static, str>>) -> Failure {
    refused(libc::EINVAL, text)
}

/// The result of a call for what no device in software supports.
pub fn unsupported(text: impl Into<Cow<'static, str>>) -> Failure {
    refused(libc::EOPNOTSUPP, text)
}

/// An argument that the call needs.
pub fn given<T>(argument: Option<T>, what: &str) -> Result<T> {
    argument.ok_or_else(|| invalid(format!("{what} must be given, and not be null or unspecified")))
}

/// A number of the program in the type of the core.
#[inline(always)]
pub fn in_range<T: Copy + Display, U: TryFrom<T>>(number: T, what: &str) -> Result<U> {
    U::try_from(number).map_err(|_| out_of_range(number, what))
}

#[cold]
fn out_of_range(number: impl Display, what: &str) -> Failure {
    invalid(format!("{what} is {number}, which is out of range"))
}

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
        assert_eq!(status(|| Err(invalid("of the test"))), libc::EINVAL);
        assert_eq!(errno(), libc::EINVAL);
        assert_eq!(number(|| Err(unsupported("of the test"))), -1);
        assert_eq!(errno(), libc::EOPNOTSUPP);
        assert!(object::<u8>(|| Err(Failure(libc::ENOMEM))).is_null());
        assert_eq!(errno(), libc::ENOMEM);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(status(|| panic!("of the test")), libc::EIO);
    }

    #[test]
    fn refused_calls_are_explained() {
        let mut program = std::process::Command::new(std::env::current_exe().expect("a test"));
        program.args(["--exact", "guard::tests::refused_calls", "--ignored", "--nocapture"]);
        let ran = program.env("SOFT_VERBS_LOG", "1").output().expect("a process");
        let log = String::from_utf8_lossy(&ran.stderr);
        let lines: Vec<_> = log.lines().filter(|line| line.starts_with("soft-verbs: ")).collect();
        assert_eq!(
            lines,
            [
                "soft-verbs: cannot call rsocket: there are no sockets over RDMA; use plain ones",
                "soft-verbs: cannot create a queue pair of type 8: the device has the types RC (2), UC (3) and UD (4), \
                 and neither raw packets nor XRC",
                "soft-verbs: cannot import an object of another process: create it in this one",
                "soft-verbs: the address of the peer must be given, and not be null or unspecified",
                "soft-verbs: the size of a completion queue is -1, which is out of range",
            ]
        );
    }

    #[test]
    #[ignore = "runs in a process of its own, for the test above"]
    fn refused_calls() {
        assert_eq!(crate::cm::stream::soft_rsocket(), -1);
        assert_eq!(errno(), libc::ENOSYS);
        let raw_packets = 8;
        assert_eq!(crate::verbs::queue_pair::kind_of(raw_packets), Err(Failure(libc::EOPNOTSUPP)));
        assert!(crate::verbs::import::ibv_import_device(0).is_null());
        assert_eq!(given(None::<()>, "the address of the peer"), Err(Failure(libc::EINVAL)));
        assert_eq!(Failure::from(Error::NO_EVENT), Failure(libc::EAGAIN));
        let size = in_range::<_, u32>(-1, "the size of a completion queue");
        assert_eq!(size, Err(Failure(libc::EINVAL)));
    }
}
