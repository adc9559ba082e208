//! Failures of the libraries as DAT errors.

use dat_core::error::{Error, ReturnType, Subtype};

use crate::sys::LoadFailure;
use crate::verbs::Error as Failure;

/// The error of a full queue. It has no text, because polling consumers get it often.
pub(crate) const fn queue_full() -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceCredits)
}

/// The device could not create another object of a kind.
pub(crate) fn exhausted(failure: Failure, subtype: Subtype, what: &str) -> Error {
    let error = Error::new(ReturnType::InsufficientResources, subtype)
        .because(format!("{} returned no {what}", failure.call))
        .errno(failure.errno);
    match failure.errno {
        libc::ENOMEM => error.advise(
            "free objects, request shorter queues, or raise the locked-memory limit (`ulimit -l`)",
        ),
        _ => error,
    }
}

/// A call failed that should always succeed.
pub(crate) fn internal(failure: Failure, what: &str) -> Error {
    Error::new(ReturnType::InternalError, Subtype::NoSubtype)
        .because(format!("{what}: {} failed", failure.call))
        .errno(failure.errno)
}

/// The error of an object that this provider did not create.
pub(crate) fn foreign(what: &'static str, subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidHandle, subtype)
        .because(format!("the {what} does not belong to the verbs provider"))
        .advise("use only objects of the same adapter together")
}

/// The error of a call in a state that does not allow it.
pub(crate) const fn wrong_state(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidState, subtype)
}

/// The libraries could not be loaded.
pub(crate) fn not_loaded(failure: &LoadFailure) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
        .because(failure.to_string())
        .advise("install rdma-core (Debian: libibverbs1, librdmacm1, ibverbs-providers)")
}
