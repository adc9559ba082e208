//! Failures of the libraries as DAT errors; other errors are those of `dat_provider_kit::errors`.

use dat_provider::LocalCause;
use dat_provider::error::{Error, ReturnType, Subtype};

use crate::sys::LoadError;
use crate::verbs::Error as Failure;

/// The device could not create another object of a kind.
pub(crate) fn exhausted(failure: Failure, subtype: Subtype, what: &str) -> Error {
    Error::new(ReturnType::InsufficientResources, subtype)
        .because(format!("{} returned no {what}", failure.call))
        .errno(failure.errno)
        .advise(advice(failure))
}

/// The advice for a failure whose cause is on this machine.
fn advice(failure: Failure) -> &'static str {
    match (failure.call, failure.errno) {
        (_, libc::ENOMEM) => {
            "free objects, request shorter queues, or raise the locked-memory limit (`ulimit -l`)"
        }
        ("rdma_bind_addr", libc::EADDRNOTAVAIL | libc::ENODEV) => {
            "this machine no longer has the address of the adapter, or no RDMA device with it: add the address \
             (ip addr), or open the adapter again"
        }
        (_, libc::ENODEV | libc::EIO) => {
            "the device may have been removed: look for it (rdma link show), and open the adapter again"
        }
        (_, libc::EINVAL) => "request less: a value may exceed what the device supports",
        (_, libc::EOPNOTSUPP) => "the device does not support this: use another adapter",
        (what, errno) => LocalCause::advice(LocalCause { what, errno }),
    }
}

/// A device or its driver that has datagrams according to its attributes failed at them.
pub(crate) fn no_datagrams(failure: Failure) -> Error {
    match failure.errno {
        libc::EOPNOTSUPP | libc::ENOSYS => {
            Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                .because(format!("the device does not support datagrams: {} failed", failure.call))
                .errno(failure.errno)
                .advise("use the adapter of another device, or connections")
        }
        _ => Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
            .because(format!(
                "the queue pair was not prepared for datagrams: {} failed",
                failure.call
            ))
            .errno(failure.errno)
            .advise(advice(failure)),
    }
}

/// A call failed that should always succeed.
pub(crate) fn internal(failure: Failure, what: &str) -> Error {
    Error::new(ReturnType::InternalError, Subtype::NoSubtype)
        .because(format!("{what}: {} failed", failure.call))
        .errno(failure.errno)
}

/// The libraries could not be loaded.
pub(crate) fn not_loaded(failure: &LoadError) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NoSubtype)
        .because(failure.to_string())
        .advise("install rdma-core (Debian: libibverbs1, librdmacm1, ibverbs-providers)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::ErrorObject;

    fn failure(call: &'static str, errno: i32) -> Failure {
        Failure { call, errno, object: ErrorObject::None }
    }

    #[test]
    fn an_object_that_cannot_be_created_has_its_cause_and_a_cure() {
        for (call, errno, cure) in [
            ("rdma_create_id", libc::EMFILE, "ulimit -n"),
            ("rdma_create_id", libc::ENOMEM, "locked-memory limit"),
            ("rdma_create_id", libc::EACCES, "permit it"),
            ("rdma_bind_addr", libc::EADDRNOTAVAIL, "no longer has the address"),
            ("rdma_bind_addr", libc::EADDRINUSE, "ip_local_port_range"),
            ("rdma_create_qp", libc::EINVAL, "request less"),
            ("rdma_create_qp", libc::ENODEV, "open the adapter again"),
        ] {
            let error = exhausted(failure(call, errno), Subtype::ResourceDevice, "object");
            let text = error.to_string();
            let name = std::io::Error::from_raw_os_error(errno).to_string();
            for word in [call, cure, &name] {
                assert!(text.contains(word), "{word:?}: {text}");
            }
        }
    }

    #[test]
    fn a_device_without_datagrams_differs_from_a_failure() {
        let error = no_datagrams(failure("ibv_modify_qp", libc::EOPNOTSUPP));
        assert!(error.is(ReturnType::ModelNotSupported), "{error}");
        assert!(error.to_string().contains("does not support datagrams"), "{error}");
        let error = no_datagrams(failure("ibv_modify_qp", libc::ENOMEM));
        assert!(error.is(ReturnType::InsufficientResources), "{error}");
        assert!(error.to_string().contains("ibv_modify_qp"), "{error}");
    }
}
