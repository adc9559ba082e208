//! Errors: why a call failed, and what to do about it.

use std::ffi::CStr;
use std::fmt;

use nix::errno::Errno;

use crate::sys;

/// The result of a call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A call of librdmacm or libibverbs that failed, or that this crate refused because the call
/// would be undefined in C.
///
/// Its text names the call, the object, the system's reason and, if there is any, advice.
///
/// ```
/// use rdma_verbs::{Error, ErrorObject};
///
/// let error = Error::new("rdma_connect", 111 /* ECONNREFUSED */).on(ErrorObject::Identifier(7));
/// assert!(error.to_string().starts_with("rdma_connect on identifier 7: "));
/// assert_eq!(
///     error.advice(),
///     Some("no program listens on that port, or it rejected the request"),
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The name of the C function; `dlopen` if the libraries cannot be opened.
    pub call: &'static str,
    /// The errno, always positive. A negative value is a code `EAI_…` of rdma_getaddrinfo(3).
    pub errno: i32,
    /// The object on which the call was made.
    pub object: ErrorObject,
}

/// The object on which a failed call was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorObject {
    /// No object, or one that the call would have created.
    #[default]
    None,
    /// An identifier of the connection manager, by the key that the program gave it.
    Identifier(u64),
    /// A queue pair, by its number.
    QueuePair(u32),
    /// A port of the device, by its number.
    Port(u8),
    /// A memory region, by its local key.
    MemoryRegion(u32),
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Identifier(key) => write!(f, " on identifier {key}"),
            Self::QueuePair(number) => write!(f, " on queue pair {number}"),
            Self::Port(number) => write!(f, " on port {number}"),
            Self::MemoryRegion(key) => write!(f, " on memory region {key:#x}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}{}", self.call, self.object, Reason(*self), AdviceText(*self))
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Creates the error of a call from its errno.
    #[must_use]
    pub const fn new(call: &'static str, errno: i32) -> Self {
        Self { call, errno, object: ErrorObject::None }
    }

    /// Names the object of the call.
    #[must_use]
    pub const fn on(self, object: ErrorObject) -> Self {
        Self { object, ..self }
    }

    /// The error of a call that sets errno; must be called directly after it.
    pub(crate) fn last(call: &'static str) -> Self {
        Self::new(call, Errno::last_raw())
    }

    /// The error for libraries that could not be opened; the message contains the linker's text.
    pub(crate) fn not_loaded() -> Self {
        Self::new("dlopen", libc::ELIBACC)
    }

    /// Converts the result of a call that returns 0, an errno, or -1 with errno set; must be called
    /// directly after it.
    #[inline(always)]
    pub(crate) fn check(call: &'static str, returned: i32) -> Result<()> {
        if returned == 0 { Ok(()) } else { Err(Self::returned(call, returned)) }
    }

    /// The error of a failed post of a [`Poster`](crate::verbs::Poster), from the value that it
    /// returned. Must be called directly after the post, because it may read errno.
    #[must_use]
    pub fn from_post(call: &'static str, returned: i32) -> Self {
        Self::returned(call, returned)
    }

    #[cold]
    fn returned(call: &'static str, returned: i32) -> Self {
        match returned {
            -1 => Self::last(call),
            code => Self::new(call, code.saturating_abs()),
        }
    }

    /// Returns true if a non-blocking call had nothing to take (`EAGAIN`).
    #[must_use]
    pub const fn would_block(&self) -> bool {
        self.errno == libc::EAGAIN
    }

    /// Advice on what to do about it, if there is any.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        Some(match (self.call, self.errno) {
            ("dlopen", _) => "install rdma-core: the packages librdmacm and libibverbs",
            ("rdma_getaddrinfo", libc::EAI_NONAME) => "check the name and the service",
            ("rdma_connect", libc::ECONNREFUSED) => {
                "no program listens on that port, or it rejected the request"
            }
            ("rdma_bind_addr" | "rdma_listen" | "rdma_create_ep", libc::EADDRINUSE) => {
                "another identifier has the port: choose another one, or 0 for any"
            }
            (
                "rdma_bind_addr" | "rdma_resolve_addr" | "rdma_create_ep",
                libc::EADDRNOTAVAIL | libc::ENODEV,
            ) => "use the address of a network interface with an RDMA device (rdma link show)",
            ("rdma_resolve_addr", libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::EHOSTDOWN) => {
                "the address does not answer: check the route and the neighbour's state"
            }
            ("rdma_resolve_route", libc::ETIMEDOUT) => {
                "the subnet manager does not answer: check that one runs (sminfo) and the link"
            }
            ("rdma_resolve_route", libc::EINVAL) => {
                "no address was resolved before, or the subnet manager knows no path to the peer"
            }
            ("rdma_resolve_addr" | "rdma_resolve_route", libc::ENETUNREACH) => {
                "this machine has no route to the address: add one (ip route)"
            }
            ("rdma_resolve_addr" | "rdma_resolve_route", libc::ENETDOWN) => {
                "the network interface of this machine is down: bring it up (ip link)"
            }
            ("rdma_connect", libc::ETIMEDOUT) => {
                "the peer neither accepted nor refused the request: check that its machine and the \
                 network are up"
            }
            ("allocate" | "copy", libc::ENOMEM) => "free memory, or request less",
            ("rdma_create_qp", libc::EINVAL) => {
                "the identifier must be bound to a device, have no queue pair yet, and the \
                 domain must be of that device"
            }
            ("rdma_destroy_qp", libc::EBUSY) => {
                "drop the handles of the queue pair and of its completion queues first"
            }
            ("rdma_destroy_srq", libc::EBUSY) => {
                "destroy the identifier's queue pair and drop the handles of the queue first"
            }
            ("ibv_dereg_mr", libc::EBUSY) => {
                "the region is in use: take the completions of its posts and drop its windows first"
            }
            ("ibv_reg_mr" | "ibv_create_cq" | "ibv_create_qp" | "rdma_create_qp", libc::ENOMEM) => {
                "raise the limit of locked memory (ulimit -l), or request less"
            }
            ("ibv_post_send" | "ibv_post_recv" | "ibv_post_srq_recv", libc::ENOMEM) => {
                "the queue is full: take completions first"
            }
            ("ibv_post_send", libc::ENOTCONN) => {
                "connect the queue pair first: it must be in the state ready to send"
            }
            ("ibv_post_recv", libc::ENOTCONN) => "move the queue pair out of the state reset first",
            ("ibv_get_device_list" | "rdma_create_event_channel", libc::ENOSYS | libc::ENODEV) => {
                "load the kernel's RDMA modules: modprobe rdma_ucm ib_uverbs"
            }
            ("ibv_query_gid_ex" | "ibv_query_gid_table", libc::EOPNOTSUPP | libc::ENOSYS) => {
                "libibverbs or the kernel is too old: install rdma-core 32 or newer"
            }
            (
                "ibv_create_cq_ex"
                | "ibv_query_rt_values_ex"
                | "ibv_modify_cq"
                | "ibv_alloc_td"
                | "ibv_alloc_parent_domain"
                | "ibv_advise_mr",
                libc::EOPNOTSUPP | libc::ENOSYS,
            ) => "the device, its driver or this version of libibverbs does not support this",
            (_, libc::EOPNOTSUPP | libc::ENOSYS) => {
                "the device or its driver does not support this"
            }
            (_, libc::EACCES | libc::EPERM) => {
                "check the permissions of /dev/infiniband, and of the memory"
            }
            _ => return None,
        })
    }
}

/// The system's text for an errno.
struct Reason(Error);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errno = self.0.errno;
        if let (libc::ELIBACC, Err(failure)) = (errno, sys::libraries()) {
            return write!(f, "{failure}");
        }
        if errno < 0 {
            // SAFETY: the function takes any code and returns a static text.
            let text = unsafe { libc::gai_strerror(errno) };
            // SAFETY: the text is not null and ends with a zero byte.
            return write!(f, "{}", unsafe { CStr::from_ptr(text) }.to_string_lossy());
        }
        write!(f, "{}", std::io::Error::from_raw_os_error(errno))
    }
}

/// `; do this`, or nothing.
struct AdviceText(Error);

impl fmt::Display for AdviceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.advice().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::new(Self::from_raw_os_error(error.errno.max(0)).kind(), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_values_are_read_in_all_three_forms() {
        assert_eq!(Error::check("call", 0), Ok(()));
        assert_eq!(Error::check("call", 12).unwrap_err().errno, 12);
        assert_eq!(Error::check("call", -22).unwrap_err().errno, 22);
        Errno::EFAULT.set();
        let error = Error::check("call", -1).unwrap_err();
        assert_eq!(error.errno, libc::EFAULT);
        assert!(error.to_string().starts_with("call: Bad address"), "{error}");
    }

    #[test]
    fn failures_of_the_way_to_a_peer_have_remedies_of_their_own() {
        for (call, errno, advice) in [
            ("rdma_resolve_addr", libc::ENODEV, "with an RDMA device"),
            ("rdma_resolve_addr", libc::EADDRNOTAVAIL, "the address of a network interface"),
            ("rdma_resolve_addr", libc::ENETUNREACH, "this machine has no route"),
            ("rdma_resolve_addr", libc::EHOSTUNREACH, "does not answer"),
            ("rdma_resolve_addr", libc::ETIMEDOUT, "does not answer"),
            ("rdma_resolve_route", libc::ETIMEDOUT, "the subnet manager does not answer"),
            ("rdma_resolve_route", libc::EINVAL, "no path to the peer"),
            ("rdma_connect", libc::ETIMEDOUT, "neither accepted nor refused"),
            ("rdma_connect", libc::ECONNREFUSED, "no program listens"),
        ] {
            let text = Error::new(call, errno).to_string();
            assert!(text.contains(advice), "{text}");
        }
    }

    #[test]
    fn the_text_names_call_object_reason_and_advice() {
        let error = Error::new("rdma_connect", libc::ECONNREFUSED).on(ErrorObject::Identifier(7));
        assert_eq!(
            error.to_string(),
            "rdma_connect on identifier 7: Connection refused (os error 111); no program listens \
             on that port, or it rejected the request"
        );
    }
}
