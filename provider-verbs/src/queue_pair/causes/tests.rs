//! Each failure of an attempt has its event and its cause.

use super::*;
use crate::verbs::ErrorObject;

/// The words of the text of a failure, for a status with which the connection manager reports it.
const EVENTS: &[(EventKind, i32, &str, &str)] = &[
    (EventKind::AddressError, libc::ENODEV, "No such device", "without an RDMA device"),
    (EventKind::AddressError, libc::ENETUNREACH, "Network is unreachable", "Add a route"),
    (EventKind::AddressError, libc::EHOSTUNREACH, "No route to host", "Nothing answers"),
    (EventKind::AddressError, libc::ETIMEDOUT, "Connection timed out", "Nothing answers"),
    (EventKind::AddressError, libc::EADDRNOTAVAIL, "Cannot assign", "no longer has the address"),
    (EventKind::AddressError, libc::ENETDOWN, "Network is down", "interface is down"),
    (EventKind::AddressError, libc::EINVAL, "Invalid argument", "one of the peer's RDMA"),
    (EventKind::AddressError, libc::ENOMEM, "Cannot allocate memory", "free memory"),
    (EventKind::AddressError, libc::EACCES, "Permission denied", "of this machine forbids it"),
    (EventKind::RouteError, libc::ETIMEDOUT, "Connection timed out", "The subnet manager"),
    (EventKind::RouteError, libc::EINVAL, "Invalid argument", "no path to the peer"),
    (EventKind::RouteError, libc::ENODEV, "No such device", "adapter is gone"),
    (EventKind::RouteError, libc::ENOMEM, "Cannot allocate memory", "free memory"),
    (EventKind::Unreachable, libc::ETIMEDOUT, "Connection timed out", "neither accepted nor"),
    (EventKind::Unreachable, libc::EHOSTUNREACH, "No route to host", "the peer's machine"),
    (EventKind::ConnectError, libc::ETIMEDOUT, "Connection timed out", "neither accepted nor"),
    (EventKind::ConnectError, libc::ENOMEM, "Cannot allocate memory", "free memory"),
    (EventKind::DeviceRemoval, libc::ENODEV, "No such device", "adapter is gone"),
];

/// The text of the cause; empty if it is unknown.
fn text(event: ConnectionUpcall<'_>) -> String {
    let cause = match event {
        ConnectionUpcall::NonPeerRejected { cause } => cause,
        ConnectionUpcall::NoPath { cause } => RefusalCause::Path(cause),
        _ => RefusalCause::Unknown,
    };
    cause.text().unwrap_or_default().into_owned()
}

fn call(step: Step, errno: i32) -> ConnectionUpcall<'static> {
    of_call(step, Failure { call: "rdma_connect", errno, object: ErrorObject::None })
}

#[test]
fn every_event_tells_its_errno_and_what_to_do() {
    for &(kind, errno, name, advice) in EVENTS {
        let told = text(of_event(kind, errno.unsigned_abs()));
        assert!(told.contains(name) && told.contains(advice), "{kind}, {errno}: {told}");
    }
}

#[test]
fn a_lost_peer_is_a_timeout_and_a_refusal_is_not() {
    let is_timeout =
        |event| matches!(event, ConnectionUpcall::NoPath { cause } if cause.is_timeout());
    let timed_out = libc::ETIMEDOUT.unsigned_abs();
    assert!(is_timeout(of_event(EventKind::Unreachable, timed_out)));
    assert!(is_timeout(of_answer(EventKind::Unreachable, timed_out, &[])));
    assert!(is_timeout(call(Step::Request, libc::ETIMEDOUT)));
    assert!(!is_timeout(of_event(EventKind::AddressError, timed_out)), "no request was sent");
    for refused in [
        of_event(EventKind::ConnectError, libc::ECONNREFUSED.unsigned_abs()),
        of_answer(EventKind::Unreachable, NO_LISTENER, &[]),
        call(Step::Request, libc::ECONNREFUSED),
    ] {
        let ConnectionUpcall::NonPeerRejected { cause } = refused else { panic!("{refused:?}") };
        assert_eq!(cause, RefusalCause::NoListener);
    }
}

#[test]
fn a_local_cause_is_not_the_peer() {
    for step in [Step::Address, Step::Route, Step::Request, Step::Confirmation] {
        for errno in [libc::ENOMEM, libc::EMFILE, libc::EPERM, 133] {
            let ConnectionUpcall::NonPeerRejected { cause } = call(step, errno) else {
                panic!("{errno}")
            };
            assert_eq!(cause, RefusalCause::Local(LocalCause { what: step.what(), errno }));
        }
        assert!(matches!(call(step, libc::EHOSTUNREACH), ConnectionUpcall::NoPath { .. }));
    }
}

#[test]
fn an_event_without_an_errno_has_no_cause() {
    // 1 is the -1 of a function of the library, and not EPERM.
    for status in [0, 1, u32::MAX] {
        for kind in [EventKind::AddressError, EventKind::RouteError, EventKind::Unreachable] {
            assert!(matches!(of_event(kind, status), ConnectionUpcall::Unreachable), "{kind}");
        }
        assert_eq!(text(of_event(EventKind::ConnectError, status)), "");
    }
}

#[test]
fn an_answer_of_the_peer_is_not_an_errno() {
    let data = reject_data::compose(b"no");
    let rejected = of_answer(EventKind::Unreachable, REJECTED, &data);
    assert!(matches!(rejected, ConnectionUpcall::PeerRejected { private_data: b"no" }));
    for status in [0, REJECTED, 3, 4, LAST_ANSWER] {
        let refused = of_answer(EventKind::Unreachable, status, &[]);
        assert_eq!(text(refused), "", "{status}");
        assert!(matches!(refused, ConnectionUpcall::NonPeerRejected { .. }), "{status}");
    }
}

#[test]
fn a_side_that_accepted_learns_only_of_causes_that_concern_it() {
    let lost = of_event(EventKind::Unreachable, libc::ETIMEDOUT.unsigned_abs());
    assert!(text(of_acceptance(lost)).contains("Connection timed out"));
    let local = of_event(EventKind::AddressError, libc::ENOMEM.unsigned_abs());
    assert!(text(of_acceptance(local)).contains("Cannot allocate memory"));
    for event in [
        ConnectionUpcall::PeerRejected { private_data: b"" },
        ConnectionUpcall::NonPeerRejected { cause: RefusalCause::NoListener },
        ConnectionUpcall::Unreachable,
    ] {
        let failed = of_acceptance(event);
        let is_abandoned =
            matches!(failed, ConnectionUpcall::AcceptFailed { cause: RefusalCause::Abandoned });
        assert!(is_abandoned, "{event:?}");
    }
}
