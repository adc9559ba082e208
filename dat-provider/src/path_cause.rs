//! Why no way leads to the peer, or no answer comes from it.

use std::fmt;
use std::io;

/// The step of an attempt that failed, with the errno that the system gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathCause {
    /// The address of the peer was not resolved to a network interface and a next hop.
    Address(i32),
    /// The address was resolved, and the way to it does not begin at the device of the adapter.
    OtherDevice,
    /// The address was resolved, and no route through the fabric was found.
    Route(i32),
    /// The request was sent, and no answer came.
    Answer(i32),
}

impl PathCause {
    /// Returns true if the attempt ended because an answer of the peer did not come in time. The event of the attempt
    /// then reports a time-out, and otherwise an address that cannot be reached.
    #[must_use]
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Answer(libc::ETIMEDOUT))
    }

    /// Returns true if the cause is surely on this machine: the peer has no part in it.
    #[must_use]
    pub const fn is_local(self) -> bool {
        match self {
            Self::OtherDevice => true,
            Self::Address(errno) | Self::Route(errno) | Self::Answer(errno) => matches!(
                errno,
                libc::ENODEV
                    | libc::ENETDOWN
                    | libc::ENETUNREACH
                    | libc::EADDRNOTAVAIL
                    | libc::EAFNOSUPPORT
            ),
        }
    }

    const fn errno(self) -> Option<i32> {
        match self {
            Self::Address(errno) | Self::Route(errno) | Self::Answer(errno) => Some(errno),
            Self::OtherDevice => None,
        }
    }

    /// The failure, as a clause.
    const fn step(self) -> &'static str {
        match self {
            Self::Address(_) => "The address of the peer was not resolved",
            Self::OtherDevice => {
                "The way to the address does not begin at the device of the adapter"
            }
            Self::Route(_) => "No route to the peer was found",
            Self::Answer(libc::ETIMEDOUT) => {
                "The request was sent, and the peer neither accepted nor refused it"
            }
            Self::Answer(_) => "The way to the peer failed while its answer was awaited",
        }
    }

    /// Which side is to blame, and what to do: sentences.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::OtherDevice => {
                "The reason is on this machine: connect to an address in the network of the adapter, correct the route \
                 (ip route get), or open the adapter through which the route leads."
            }
            Self::Address(libc::ENODEV) => {
                "The reason is on this machine: the route leads through a network interface without an RDMA device. \
                 Connect to the address of an RDMA interface of the peer, or correct the route (ip route get, rdma \
                 link show)."
            }
            Self::Route(libc::ENODEV) | Self::Answer(libc::ENODEV) => {
                "The reason is on this machine: the device or the network interface of the adapter is gone. Check it \
                 (rdma link show), and open the adapter again."
            }
            Self::Address(libc::ENETUNREACH)
            | Self::Route(libc::ENETUNREACH)
            | Self::Answer(libc::ENETUNREACH) => {
                "The reason is on this machine: it has no route to the address. Add a route (ip route), or connect to \
                 another address of the peer."
            }
            Self::Address(libc::ENETDOWN)
            | Self::Route(libc::ENETDOWN)
            | Self::Answer(libc::ENETDOWN) => {
                "The reason is on this machine: the network interface is down. Bring it up (ip link, rdma link show)."
            }
            Self::Address(libc::EADDRNOTAVAIL)
            | Self::Route(libc::EADDRNOTAVAIL)
            | Self::Answer(libc::EADDRNOTAVAIL) => {
                "The reason is on this machine: it no longer has the address of the adapter. Add the address (ip addr), \
                 or open the adapter again."
            }
            Self::Address(libc::EAFNOSUPPORT)
            | Self::Route(libc::EAFNOSUPPORT)
            | Self::Answer(libc::EAFNOSUPPORT) => {
                "The reason is on this machine: it has no address of the same family as the peer. Connect to another \
                 address of the peer."
            }
            Self::Address(libc::EHOSTUNREACH | libc::EHOSTDOWN | libc::ETIMEDOUT) => {
                "Nothing answers at the address. Check that the peer's machine is up and has this address, and the \
                 route between the two (ping, ip neigh, ip route get)."
            }
            Self::Address(_) => {
                "Check that the address is one of the peer's RDMA interfaces, and the way to it (ip route get)."
            }
            Self::Route(libc::ETIMEDOUT) => {
                "The subnet manager did not answer. Check that one runs (sminfo), and the link of the adapter (rdma \
                 link show)."
            }
            Self::Route(_) => {
                "The subnet manager may know no path to the peer. Check that the link of the peer is up, and that both \
                 are in one partition."
            }
            Self::Answer(libc::ETIMEDOUT) => {
                "Check that the peer's machine and the network between the two are up. If they are, its program did \
                 not answer the request in time."
            }
            Self::Answer(_) => {
                "Check that the peer's machine and the network between the two are up (ping, ip route get)."
            }
        }
    }
}

impl fmt::Display for PathCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.step())?;
        if let Some(errno) = self.errno() {
            write!(f, ": {}", io::Error::from_raw_os_error(errno))?;
        }
        write!(f, ". {}", self.advice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [fn(i32) -> PathCause; 3] =
        [PathCause::Address, PathCause::Route, PathCause::Answer];

    #[test]
    fn every_errno_of_every_step_keeps_its_name() {
        for (errno, step) in (1..134).flat_map(|errno| STEPS.map(|step| (errno, step))) {
            let text = step(errno).to_string();
            assert!(text.contains(&io::Error::from_raw_os_error(errno).to_string()), "{text}");
        }
    }

    #[test]
    fn a_cause_on_this_machine_is_not_blamed_on_the_peer() {
        for (errno, step) in (1..134).flat_map(|errno| STEPS.map(|step| (errno, step))) {
            let cause = step(errno);
            let blames_this_machine = cause.advice().starts_with("The reason is on this machine");
            assert_eq!(cause.is_local(), blames_this_machine, "{cause}");
        }
        assert!(PathCause::OtherDevice.is_local());
        assert!(PathCause::OtherDevice.advice().starts_with("The reason is on this machine"));
    }

    #[test]
    fn only_an_answer_that_does_not_come_is_a_timeout() {
        for (errno, step) in (1..134).flat_map(|errno| STEPS.map(|step| (errno, step))) {
            let cause = step(errno);
            assert_eq!(cause.is_timeout(), cause == PathCause::Answer(libc::ETIMEDOUT), "{cause}");
        }
    }

    #[test]
    fn a_lost_peer_differs_from_one_that_refused() {
        let text = PathCause::Answer(libc::ETIMEDOUT).to_string();
        assert!(text.contains("neither accepted nor refused"), "{text}");
        assert!(text.contains("Connection timed out"), "{text}");
    }
}
