//! A safe layer over libibverbs.
//!
//! Each object keeps what it was made from alive, and its drop destroys it. A call that fails
//! gives its name and the errno that was set, taken at once ([`Failure`]). Objects may be used
//! by any thread at any time, as the library promises.
//!
//! Two things stay `unsafe`: registering memory, whose owner must keep it, and posting, whose
//! segments the library may read at once.

mod address_handle;
mod completion;
mod device;
mod memory;
mod post;
mod queue_pair;
mod shared_receive;

pub(crate) use address_handle::AddressHandle;
pub(crate) use completion::{CompletionChannel, CompletionQueue};
pub(crate) use device::{AsyncEvent, Context, devices, firmware};
pub(crate) use memory::{Lent, MemoryRegion, MemoryWindow, ProtectionDomain, WindowKind};
pub(crate) use post::{Plain, Post, What};
pub(crate) use queue_pair::{QueuePair, QueuePairInit, QueuePairKind, WindowBind};
pub(crate) use shared_receive::SharedReceiveQueue;

pub(crate) use crate::sys::verbs::{ibv_sge as Sge, ibv_wc as WorkCompletion};

use std::fmt;

use nix::errno::Errno;

/// A call of a library that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) call: &'static str,
    /// The errno that it gave.
    pub(crate) errno: i32,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// The failure of a call that tells by errno; to be made right after it.
    pub(crate) fn last(call: &'static str) -> Self {
        Self { call, errno: Errno::last_raw() }
    }

    /// The outcome of a call that returns 0, an errno, or -1 with errno set. What was returned
    /// must be looked at before anything else is called.
    #[inline(always)]
    pub(crate) fn check(call: &'static str, returned: i32) -> Result<()> {
        if returned == 0 { Ok(()) } else { Err(Self::returned(call, returned)) }
    }

    #[cold]
    fn returned(call: &'static str, returned: i32) -> Self {
        match returned {
            -1 => Self::last(call),
            code => Self { call, errno: code.saturating_abs() },
        }
    }

    /// Whether a receive was refused that has no segment, as libsiw does: such a one takes a
    /// message of no byte all the same when it has an empty segment. Others read that as 2 GiB.
    #[cold]
    fn is_of_nothing(self, segments: &[Sge]) -> bool {
        segments.is_empty() && self.errno == libc::EINVAL
    }
}

/// A segment of no byte.
const NOTHING: Sge = Sge { addr: 0, length: 0, lkey: 0 };

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, std::io::Error::from_raw_os_error(self.errno))
    }
}

/// The libraries, for objects that exist only because the libraries are there.
macro_rules! library {
    ($table:ident) => {
        match crate::sys::libraries() {
            Ok(libraries) => &libraries.$table,
            Err(_) => unreachable!("an object of a library that was never opened"),
        }
    };
}
pub(crate) use library;

/// A field of an object of the library's that is alive, which the library may write in another
/// thread meanwhile: the read is volatile, and gives the value before or after.
macro_rules! field {
    ($object:expr, $($field:ident).+) => {{
        // SAFETY: the object is alive, so the place lies in it.
        let place = unsafe { &raw const (*$object).$($field).+ };
        // SAFETY: as above; what is read is a value of the type at any time.
        unsafe { place.read_volatile() }
    }};
}
pub(crate) use field;

/// Keys that objects are known by in events: an integer where C has a pointer.
pub(crate) fn key_to_pointer(key: u64) -> *mut std::ffi::c_void {
    std::ptr::without_provenance_mut(key as usize)
}

/// The key in such a place.
pub(crate) fn pointer_to_key(pointer: *mut std::ffi::c_void) -> u64 {
    pointer.addr() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_in_all_three_forms() {
        assert_eq!(Failure::check("call", 0), Ok(()));
        assert_eq!(Failure::check("call", 12).unwrap_err().errno, 12);
        assert_eq!(Failure::check("call", -22).unwrap_err().errno, 22);
        Errno::EFAULT.set();
        let failure = Failure::check("call", -1).unwrap_err();
        assert_eq!(failure.errno, libc::EFAULT);
        assert!(failure.to_string().starts_with("call: Bad address"), "{failure}");
    }
}
