//! Failures of the libraries as errors of DAT.

use dat_core::error::{Error, ReturnType, Subtype};

use crate::sys::LoadFailure;
use crate::verbs::Error as Failure;

/// A queue is as full as it was made for. Without words: polling consumers meet it often.
pub(crate) const fn no_room() -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceCredits)
}

/// The device gave no further object of a kind.
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

/// A call failed that should not have.
pub(crate) fn internal(failure: Failure, what: &str) -> Error {
    Error::new(ReturnType::InternalError, Subtype::NoSubtype)
        .because(format!("{what}: {} failed", failure.call))
        .errno(failure.errno)
}

/// An object that another provider made, or nobody.
pub(crate) fn foreign(what: &'static str, subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidHandle, subtype)
        .because(format!("the {what} does not belong to the verbs provider"))
        .advise("use only objects of the same adapter together")
}

/// A call in a state that does not allow it.
pub(crate) const fn wrong_state(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidState, subtype)
}

/// The libraries are not there.
pub(crate) fn not_loaded(failure: &LoadFailure) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
        .because(failure.to_string())
        .advise("install rdma-core (Debian: libibverbs1, librdmacm1, ibverbs-providers)")
}
