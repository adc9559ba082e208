//! Failures of the libraries as DAT errors; other errors are those of `dat_provider_kit::errors`.

use dat_core::error::{Error, ReturnType, Subtype};

use crate::sys::LoadFailure;
use crate::verbs::Error as Failure;

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

/// The libraries could not be loaded.
pub(crate) fn not_loaded(failure: &LoadFailure) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
        .because(failure.to_string())
        .advise("install rdma-core (Debian: libibverbs1, librdmacm1, ibverbs-providers)")
}
