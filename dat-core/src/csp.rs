//! Common service points: they listen on an address and port, as sockets do.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::Evd;
use crate::event::ServicePoint;
use crate::ia::Ia;
use crate::kind::ObjectKind;
use crate::lifecycle::{Base, object_handle};
use crate::provider::{Address, IncomingRequest};
use crate::service_point::{Arrived, Receiving, Reception, ServicePointRef, deliver, listen};

/// A common service point (dat_csp_create of DAT 2.0). Its port is the connection qualifier on
/// which requests of [`Ep::common_connect`](crate::Ep::common_connect) arrive.
///
/// ```
/// use dat_core::{Comm, EpSpec, EvdFlags, EvdOptions, Event};
/// use std::net::{Ipv4Addr, SocketAddr};
/// use std::time::Duration;
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let requests = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST))?;
/// let csp = ia.csp_create(Comm::INET, (Ipv4Addr::UNSPECIFIED, 4000).into(), &requests)?;
///
/// let client = ia.ep_create(&EpSpec::new(&pz))?;
/// let host = ia.attributes().address.ip().expect("an IP address");
/// client.common_connect(SocketAddr::new(host, 4000), Duration::from_secs(5).into(), b"")?;
/// let event = requests.next_event(Duration::from_secs(5))?;
/// assert!(matches!(event, Some(Event::ConnectionRequest(_))));
/// # drop(csp);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Csp {
    inner: Arc<CspInner>,
}

pub(crate) struct CspInner {
    pub(crate) base: Base,
    comm: Comm,
    address: SocketAddr,
    reception: Reception,
}

object_handle!(Csp, CspInner);

/// A socket type, in the numbers of socket(2) (`DAT_COMM`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comm {
    /// The address family.
    pub domain: i32,
    /// The socket type.
    pub kind: i32,
    /// The protocol.
    pub protocol: i32,
}

impl Comm {
    /// A reliable connection over IPv4.
    pub const INET: Self = Self { domain: 2, kind: 1, protocol: 0 };
    /// A reliable connection over IPv6.
    pub const INET6: Self = Self { domain: 10, kind: 1, protocol: 0 };
    const STREAM: i32 = 1;
    const TCP: i32 = 6;

    /// The kind of communication that fits the address of an adapter. Over the addresses of a
    /// fabric there is none, and the domain is the number of the family.
    #[must_use]
    pub fn for_address(address: impl Into<Address>) -> Self {
        match address.into() {
            Address::Ip(IpAddr::V4(_)) => Self::INET,
            Address::Ip(IpAddr::V6(_)) => Self::INET6,
            Address::Fabric(address) => Self { domain: i32::from(address.family()), ..Self::INET },
        }
    }

    fn is_supported(self) -> bool {
        matches!(self.domain, 2 | 10)
            && self.kind == Self::STREAM
            && matches!(self.protocol, 0 | Self::TCP)
    }
}

/// The number of the family of a socket address. An IPv4 address that is mapped to IPv6 is one of IPv6 here.
const fn family(address: SocketAddr) -> i32 {
    match address {
        SocketAddr::V4(_) => Comm::INET.domain,
        SocketAddr::V6(_) => Comm::INET6.domain,
    }
}

/// The parameters of a common service point (`DAT_CSP_PARAM`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CspParam {
    /// The kind of communication.
    pub comm: Comm,
    /// The address and port that it listens on.
    pub address: SocketAddr,
    /// The dispatcher that receives its requests.
    pub evd: Evd,
}

const CREATE: &str = "dat_csp_create";

impl Ia {
    /// Listens on a port (dat_csp_create of DAT 2.0): at an address of the adapter, or at all of them for the
    /// unspecified address, of either family.
    ///
    /// # Errors
    /// `DAT_COMM_NOT_SUPPORTED` for anything but reliable connections over IP;
    /// `DAT_INVALID_ADDRESS` for an address that does not belong to the adapter; `DAT_PORT_IN_USE`
    /// if the port has a listener already; `DAT_INVALID_HANDLE` for a dispatcher that was freed,
    /// belongs to another adapter, or was not created for connection requests.
    pub fn csp_create(&self, comm: Comm, address: SocketAddr, evd: &Evd) -> Result<Csp> {
        let ia = self.inner();
        let adapter = ia.adapter(CREATE)?;
        let fail = |error: Error| Err(ia.describe(error, CREATE));
        if !comm.is_supported() || comm.domain != family(address) {
            return fail(
                Error::new(ReturnType::CommNotSupported, Subtype::NoSubtype)
                    .because(format!(
                        "a socket of family {}, type {} and protocol {} is not supported for {address}",
                        comm.domain, comm.kind, comm.protocol
                    ))
                    .advise(
                        "use the address family of the address (AF_INET or AF_INET6), \
                         SOCK_STREAM and protocol 0",
                    ),
            );
        }
        let reception = Reception::new(ia, evd, CREATE)?;
        let base = ia.new_object(ObjectKind::Csp, CREATE)?;
        let inner = Arc::new(CspInner { base, comm, address, reception });
        ia.insert(&inner.base, ServicePointRef::new(&inner), CREATE)?;
        let (at, qualifier) = (Address::from(address.ip()), u64::from(address.port()));
        let listening = listen(&inner, |sink| match at.is_unspecified() {
            true => adapter.listen(Some(qualifier), sink),
            false => adapter.listen_at(at, qualifier, sink),
        });
        listening.map_err(|error| {
            let error = if error.is(ReturnType::ConnQualInUse) {
                Error::new(ReturnType::PortInUse, Subtype::NoSubtype)
                    .because(format!("{address} is already in use"))
            } else {
                error
            };
            ia.describe(error, CREATE)
        })?;
        Ok(Csp { inner })
    }
}

impl Csp {
    /// The parameters of the service point (dat_csp_query of DAT 2.0).
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed.
    pub fn query(&self) -> Result<CspParam> {
        Ok(CspParam {
            comm: self.inner.comm,
            address: self.inner.address,
            evd: self.inner.dispatcher("dat_csp_query")?,
        })
    }

    /// Stops listening (dat_csp_free of DAT 2.0). Requests that arrived before stay valid.
    ///
    /// # Errors
    /// `DAT_INVALID_HANDLE` when it was freed before.
    pub fn free(&self) -> Result<()> {
        self.inner.free("dat_csp_free")
    }
}

impl Receiving for CspInner {
    fn reception(&self) -> &Reception {
        &self.reception
    }

    fn arrived(&self, incoming: IncomingRequest) -> Arrived {
        let Some(evd) = self.recipient() else { return Err(incoming) };
        let point = ServicePoint::Common(self.base.id);
        deliver(&self.base.ia, &evd, incoming, None, point, u64::from(self.address.port()))
    }
}
