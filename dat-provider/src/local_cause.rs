//! Why this process or this machine cannot do something, as opposed to the peer.

use std::fmt;
use std::io;

use crate::error::{Error, ReturnType, Subtype};

/// A local failure, and the errno of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalCause {
    /// The attempted action, as the object of "cannot".
    pub what: &'static str,
    /// The errno.
    pub errno: i32,
}

impl LocalCause {
    /// The cause that the system gave.
    #[must_use]
    pub fn new(what: &'static str, error: &io::Error) -> Self {
        Self { what, errno: error.raw_os_error().unwrap_or(0) }
    }

    /// The advice.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self.errno {
            libc::EMFILE => {
                "close some of the descriptors of the process, or raise its limit (ulimit -n)"
            }
            libc::ENFILE => {
                "close descriptors in other programs, or raise the limit of the machine (sysctl fs.file-max)"
            }
            libc::EADDRNOTAVAIL | libc::EADDRINUSE => {
                "all local ports towards the peer are in use: close connections, wait a minute, or raise the number \
                 of ports (sysctl net.ipv4.ip_local_port_range)"
            }
            libc::ENOMEM | libc::ENOBUFS => {
                "free memory, or raise the limits of the process and its control group (ulimit -a, memory.max)"
            }
            libc::EPERM | libc::EACCES | libc::ENOSYS => {
                "a security profile, a firewall or a file permission of this machine forbids it: permit it"
            }
            libc::ENOSPC => {
                "the descriptors that are watched exceed the limit: raise it (sysctl fs.epoll.max_user_watches)"
            }
            libc::EFBIG => {
                "raise the limit of the size of files (ulimit -f unlimited), or use an adapter over TCP"
            }
            libc::ETOOMANYREFS => {
                "the descriptors that peers have not received exceed the limit: raise it (ulimit -n)"
            }
            libc::EAGAIN => "raise the limit of threads and processes (ulimit -u, pids.max)",
            _ => {
                "the reason is on this machine and not at the peer: look for the error in errno(3)"
            }
        }
    }

    /// The error of a call.
    #[must_use]
    pub fn error(self, subtype: Subtype) -> Error {
        Error::new(ReturnType::InsufficientResources, subtype)
            .because(format!("cannot {}", self.what))
            .errno(self.errno)
            .advise(self.advice())
    }
}

impl fmt::Display for LocalCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, errno } = self;
        let error = io::Error::from_raw_os_error(*errno);
        write!(f, "This side cannot {what}: {error}; {}.", self.advice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_errno_keeps_its_name() {
        for errno in 1..134 {
            let cause = LocalCause { what: "open a socket", errno };
            let name = io::Error::from_raw_os_error(errno).to_string();
            let error = cause.error(Subtype::ResourceDevice);
            for text in [cause.to_string(), error.to_string()] {
                assert!(text.contains(&name) && text.contains("open a socket"), "{text}");
            }
        }
    }
}
