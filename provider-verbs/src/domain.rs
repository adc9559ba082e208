//! Protection domains, and the memory registered in them.
#![allow(unsafe_code, reason = "the owner of a span answers for its memory")]

use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider::flags::Privileges;
use dat_provider::mem::Span;
use dat_provider::mem::mapping::{self, Fault};
use dat_provider::{MemoryRegion, MemoryWindow, ProtectionDomain, Registration, WindowScope};
use dat_provider_kit::errors::foreign_object;

use crate::device::Device;
use crate::errors::{exhausted, internal};
use crate::memlock;
use crate::sys::verbs as sys;
use crate::verbs::{self, Error as Failure};
use crate::window;

pub(crate) struct Domain {
    pub(crate) device: Arc<Device>,
    pub(crate) hardware: Arc<verbs::ProtectionDomain>,
}

struct DomainHandle(Arc<Domain>);

pub(crate) fn create(device: &Arc<Device>) -> Result<Arc<dyn ProtectionDomain>> {
    let hardware = verbs::ProtectionDomain::new(device.context()).map_err(|failure| {
        exhausted(failure, Subtype::ResourceProtectionDomain, "protection domain")
    })?;
    Ok(Arc::new(DomainHandle(Arc::new(Domain { device: Arc::clone(device), hardware }))))
}

/// The domain of a contract object.
pub(crate) fn find(domain: &dyn ProtectionDomain) -> Result<Arc<Domain>> {
    match domain.as_any().downcast_ref::<DomainHandle>() {
        Some(handle) => Ok(Arc::clone(&handle.0)),
        None => Err(foreign_object("protection domain", Subtype::InvalidHandlePz)),
    }
}

impl ProtectionDomain for DomainHandle {
    fn register(&self, span: Span, privileges: Privileges) -> Result<Registration> {
        let domain = &self.0;
        let access = domain.access(privileges);
        // SAFETY: the creator of the span guarantees that its memory is valid until the region is
        // deregistered (`Span::new`), and expects transfers to change it.
        let region = unsafe {
            verbs::MemoryRegion::from_raw(&domain.hardware, span.address(), span.len(), access)
        };
        let region = region.map_err(|failure| refused(failure, span, privileges, access))?;
        let remote = privileges.intersects(Privileges::REMOTE);
        let requested = remote_access(privileges);
        let is_wider = access & sys::IBV_ACCESS_REMOTE_WRITE & !requested != 0;
        let exposed = if remote && is_wider {
            // The key for peers must not permit more than the consumer did.
            let access = access & !sys::IBV_ACCESS_REMOTE_WRITE;
            // SAFETY: the creator of the span guarantees that its memory is valid until the region
            // is deregistered (`Span::new`), and expects transfers to change it.
            let region = unsafe {
                verbs::MemoryRegion::from_raw(&domain.hardware, span.address(), span.len(), access)
            };
            Some(region.map_err(|failure| refused(failure, span, privileges, access))?)
        } else {
            None
        };
        let local_key = region.local_key();
        let remote_key = match &exposed {
            Some(exposed) => exposed.remote_key(),
            None if remote => region.remote_key(),
            None => 0,
        };
        let region = Box::new(Registered { region, exposed });
        Ok(Registration { region, local_key, remote_key })
    }

    fn create_window(&self, tag: u64, scope: WindowScope) -> Result<Arc<dyn MemoryWindow>> {
        window::create(&self.0, tag, scope)
    }
}

impl Domain {
    /// The access flags for the device, which refuses remote writes to memory that is not locally
    /// writable. The consumer's own privileges are checked before.
    fn access(&self, privileges: Privileges) -> u32 {
        let limits = &self.device.limits;
        let mut access = remote_access(privileges);
        if privileges.contains(Privileges::LOCAL_WRITE)
            || access & (sys::IBV_ACCESS_REMOTE_WRITE | sys::IBV_ACCESS_REMOTE_ATOMIC) != 0
        {
            access |= sys::IBV_ACCESS_LOCAL_WRITE;
            if limits.is_iwarp {
                // On iWARP, the response to a read arrives as a write by the peer (RFC 5040).
                access |= sys::IBV_ACCESS_REMOTE_WRITE;
            }
        }
        if limits.has_windows_one || limits.has_windows_two {
            access |= sys::IBV_ACCESS_MW_BIND;
        }
        access
    }
}

/// The access flags of a peer.
pub(crate) fn remote_access(privileges: Privileges) -> u32 {
    [
        (Privileges::REMOTE_READ, sys::IBV_ACCESS_REMOTE_READ),
        (Privileges::REMOTE_WRITE, sys::IBV_ACCESS_REMOTE_WRITE),
        (Privileges::REMOTE_ATOMIC, sys::IBV_ACCESS_REMOTE_ATOMIC),
    ]
    .into_iter()
    .filter(|(privilege, _)| privileges.contains(*privilege))
    .fold(0, |access, (_, bit)| access | bit)
}

/// Why memory was not registered, as precisely as the errno allows.
fn refused(failure: Failure, span: Span, privileges: Privileges, access: u32) -> Error {
    let resource = |reason: String, subtype| {
        Error::new(ReturnType::InsufficientResources, subtype).because(reason)
    };
    let invalid = |reason: String| {
        Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3).because(reason)
    };
    let size = span.len();
    let error = match failure.errno {
        libc::ENOMEM | libc::EAGAIN => match memlock::shortage(size as u64) {
            Some(shortage) => resource(
                format!("cannot lock {size} bytes: {shortage}"),
                Subtype::ResourceMemory,
            )
            .advise(
                "raise RLIMIT_MEMLOCK: `ulimit -l unlimited`, a file in /etc/security/limits.d, \
                 LimitMEMLOCK= of the systemd unit, or `--ulimit memlock=-1` of the container",
            ),
            None => resource(
                format!("the device or the host has not enough memory to register {size} bytes"),
                Subtype::ResourceMemoryRegion,
            ),
        },
        libc::EFAULT | libc::EACCES | libc::EPERM => {
            let range = span.address()..span.address().saturating_add(size as u64);
            match mapping::fault(range, access & sys::IBV_ACCESS_LOCAL_WRITE != 0) {
                Some(Fault::Unmapped(at)) => invalid(format!("{span:?} is not mapped at {at:#x}"))
                    .advise("register memory that is mapped, and keep it mapped"),
                Some(Fault::Forbidden(at)) => invalid(format!(
                    "{span:?} is mapped at {at:#x} without the permissions that {privileges:?} \
                     requires"
                ))
                .advise("map the memory writable, or request only read privileges"),
                None => invalid(format!("{span:?} is memory that RDMA devices cannot access"))
                    .advise("register ordinary process memory, not device memory"),
            }
        }
        libc::ENOSPC => resource(
            format!("the device has no free memory translation entries for {size} bytes"),
            Subtype::ResourceMemoryRegion,
        ),
        libc::EINVAL => invalid(format!("the device cannot register {span:?} with {privileges}")),
        _ => return internal(failure, "the memory was not registered"),
    };
    error.errno(failure.errno)
}

struct Registered {
    region: verbs::MemoryRegion,
    /// A second registration for peers, if the first one permits them too much.
    exposed: Option<verbs::MemoryRegion>,
}

/// The region of a contract object.
pub(crate) fn region(region: &dyn MemoryRegion) -> Result<&verbs::MemoryRegion> {
    match region.as_any().downcast_ref::<Registered>() {
        Some(registered) => Ok(&registered.region),
        None => Err(foreign_object("memory region", Subtype::InvalidHandleLmr)),
    }
}

impl MemoryRegion for Registered {
    fn deregister(&self) -> Result<()> {
        let exposed = self.exposed.as_ref().map_or(Ok(()), verbs::MemoryRegion::deregister);
        exposed
            .and_then(|()| self.region.deregister())
            .map_err(|failure| internal(failure, "the device did not release the registration"))
    }
}
