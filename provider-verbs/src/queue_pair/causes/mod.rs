//! Why an attempt to connect, or to resolve the destination of datagrams, failed.
//!
//! The connection manager reports most failures by events with an errno (rdma_get_cm_event(3)), others
//! by the result of a call. Both are translated here, by the step of the attempt.

use dat_provider::{ConnectionUpcall, LocalCause, PathCause, RefusalCause};

use crate::cm::EventKind;
use crate::reject_data;
use crate::verbs::Error as Failure;

/// The service has no listener (`IB_SIDR_UNSUPPORTED`).
const NO_LISTENER: u32 = 1;

/// The request was rejected, by a consumer or by its connection manager (`IB_SIDR_REJECT`).
const REJECTED: u32 = 2;

/// The last status of an answer to a request for an address (`IB_SIDR_UNSUPPORTED_VERSION`); greater ones are errnos.
const LAST_ANSWER: u32 = 5;

/// A step of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Address,
    Route,
    Request,
    Confirmation,
}

impl Step {
    /// The attempted action, as the object of "cannot".
    const fn what(self) -> &'static str {
        match self {
            Self::Address => "resolve the address of the peer",
            Self::Route => "resolve the route to the peer",
            Self::Request => "send the request",
            Self::Confirmation => "confirm the acceptance",
        }
    }

    /// The cause if that errno concerns the way to the peer.
    const fn path(self, errno: i32) -> Option<PathCause> {
        let on_any_way = matches!(
            errno,
            libc::EHOSTUNREACH
                | libc::EHOSTDOWN
                | libc::ENETUNREACH
                | libc::ENETDOWN
                | libc::ETIMEDOUT
                | libc::ENODEV
        );
        let when_resolved =
            on_any_way || matches!(errno, libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT | libc::EINVAL);
        match self {
            Self::Address if when_resolved => Some(PathCause::Address(errno)),
            Self::Route if when_resolved => Some(PathCause::Route(errno)),
            Self::Request | Self::Confirmation if on_any_way => Some(PathCause::Answer(errno)),
            _ => None,
        }
    }
}

/// The other side had given up before its request was accepted.
pub(super) const ABANDONED: ConnectionUpcall<'static> =
    ConnectionUpcall::AcceptFailed { cause: RefusalCause::Abandoned };

/// The device of the adapter was removed during the attempt.
pub(super) const REMOVED: ConnectionUpcall<'static> =
    ConnectionUpcall::NoPath { cause: PathCause::Answer(libc::ENODEV) };

/// The way to the address begins at another device.
pub(super) const ELSEWHERE: ConnectionUpcall<'static> =
    ConnectionUpcall::NoPath { cause: PathCause::OtherDevice };

/// The event for an attempt that ended because a call of that step failed. The connections of iWARP use TCP, which
/// may be refused at once.
pub(super) fn of_call(step: Step, failure: Failure) -> ConnectionUpcall<'static> {
    of_errno(step, failure.errno)
}

fn of_errno(step: Step, errno: i32) -> ConnectionUpcall<'static> {
    if let Some(cause) = step.path(errno) {
        return ConnectionUpcall::NoPath { cause };
    }
    match errno {
        libc::ECONNREFUSED => ConnectionUpcall::NonPeerRejected { cause: RefusalCause::NoListener },
        libc::ECONNRESET => ConnectionUpcall::REFUSED,
        errno => {
            let cause = RefusalCause::Local(LocalCause { what: step.what(), errno });
            ConnectionUpcall::NonPeerRejected { cause }
        }
    }
}

/// The event for an attempt whose failure the connection manager reports by an event of that kind.
pub(super) fn of_event(kind: EventKind, status: u32) -> ConnectionUpcall<'static> {
    let Some(errno) = errno(status) else {
        return match kind {
            EventKind::ConnectError => ConnectionUpcall::REFUSED,
            _ => ConnectionUpcall::Unreachable,
        };
    };
    match kind {
        EventKind::AddressError => of_errno(Step::Address, errno),
        EventKind::RouteError => of_errno(Step::Route, errno),
        EventKind::Unreachable => ConnectionUpcall::NoPath { cause: PathCause::Answer(errno) },
        EventKind::DeviceRemoval => REMOVED,
        // Over iWARP, any other errno may be an answer of the peer that is not understood.
        _ => match errno {
            libc::ENOMEM | libc::ENOBUFS | libc::EADDRNOTAVAIL | libc::ECONNREFUSED => {
                of_errno(Step::Confirmation, errno)
            }
            _ => match Step::Confirmation.path(errno) {
                Some(cause) => ConnectionUpcall::NoPath { cause },
                None => ConnectionUpcall::REFUSED,
            },
        },
    }
}

/// The event for a request for an address to which that status is the answer, or the errno that there is none.
pub(super) fn of_answer(kind: EventKind, status: u32, private_data: &[u8]) -> ConnectionUpcall<'_> {
    match (status, reject_data::data(private_data)) {
        (REJECTED, Some(private_data)) => ConnectionUpcall::PeerRejected { private_data },
        (NO_LISTENER, _) => ConnectionUpcall::NonPeerRejected { cause: RefusalCause::NoListener },
        (..=LAST_ANSWER, _) => ConnectionUpcall::REFUSED,
        _ if kind == EventKind::Rejected => ConnectionUpcall::REFUSED,
        _ => of_event(kind, status),
    }
}

/// The event for the side that accepted a request, instead of that for its sender: a step or a peer that failed is its
/// cause.
pub(super) fn of_acceptance(event: ConnectionUpcall<'_>) -> ConnectionUpcall<'_> {
    match event {
        ConnectionUpcall::NoPath { .. }
        | ConnectionUpcall::NonPeerRejected { cause: RefusalCause::Local(_) } => event,
        _ => ABANDONED,
    }
}

/// The event for the side that accepts a request, if a call of it failed. The kernel returns EINVAL for a request whose
/// sender gave up in the meantime.
pub(super) fn of_accept_call(failure: Failure) -> ConnectionUpcall<'static> {
    match failure.errno {
        libc::EINVAL => ABANDONED,
        _ => of_acceptance(of_call(Step::Confirmation, failure)),
    }
}

/// The errno of an event; `None` if the event has none. If librdmacm itself fails to process an event, it gives no errno
/// but -1.
fn errno(status: u32) -> Option<i32> {
    i32::try_from(status).ok().filter(|&errno| errno > 1)
}

#[cfg(test)]
mod tests;
