//! The results of resolving names and services (rdma_getaddrinfo(3)).

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ptr::{NonNull, null, null_mut};

use nix::errno::Errno;

use super::PortSpace;
use super::address::{CAddress, from_c};
use crate::sys::libraries;
use crate::sys::rdma_cma::{self as sys, rdma_addrinfo};
use crate::sys::verbs as qp;
use crate::verbs::{QueuePairType, library};
use crate::{Error, Result};

const CALL: &str = "rdma_getaddrinfo";

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// InfiniBand's own addresses (`AF_IB`).
    Ib,
    /// A family that this version does not know.
    Unknown(i32),
}

/// The number of `AF_IB`.
const AF_IB: i32 = 27;

impl Family {
    const fn value(self) -> i32 {
        match self {
            Self::V4 => libc::AF_INET,
            Self::V6 => libc::AF_INET6,
            Self::Ib => AF_IB,
            Self::Unknown(value) => value,
        }
    }

    const fn new(value: i32) -> Self {
        match value {
            libc::AF_INET => Self::V4,
            libc::AF_INET6 => Self::V6,
            AF_IB => Self::Ib,
            other => Self::Unknown(other),
        }
    }
}

/// How a name is resolved (`ai_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The result is for the side that listens (`RAI_PASSIVE`).
    pub passive: bool,
    /// The node is an address: no name is looked up (`RAI_NUMERICHOST`).
    pub numeric_host: bool,
    /// No route is resolved (`RAI_NOROUTE`).
    pub no_route: bool,
    /// The node belongs to the family in [`Hints::family`] (`RAI_FAMILY`).
    pub family: bool,
}

impl Flags {
    const fn bits(self) -> i32 {
        (if self.passive { sys::RAI_PASSIVE } else { 0 })
            | (if self.numeric_host { sys::RAI_NUMERICHOST } else { 0 })
            | (if self.no_route { sys::RAI_NOROUTE } else { 0 })
            | (if self.family { sys::RAI_FAMILY } else { 0 })
    }

    const fn new(bits: i32) -> Self {
        Self {
            passive: bits & sys::RAI_PASSIVE != 0,
            numeric_host: bits & sys::RAI_NUMERICHOST != 0,
            no_route: bits & sys::RAI_NOROUTE != 0,
            family: bits & sys::RAI_FAMILY != 0,
        }
    }
}

/// An InfiniBand path (`struct ibv_path_data`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct PathData {
    /// A set of `IBV_PATH_FLAG_…`.
    pub flags: u32,
    /// Reserved.
    pub reserved: u32,
    /// The path record in its format on the wire (`struct ibv_path_record`).
    pub record: [u8; 64],
}

/// The known properties of the requested service, which restrict the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// How the name is resolved.
    pub flags: Flags,
    /// The family; it applies to the node only with [`Flags::family`].
    pub family: Option<Family>,
    /// The kind of the queue pairs.
    pub queue_pair_type: Option<QueuePairType>,
    /// The service.
    pub port_space: Option<PortSpace>,
    /// The local address.
    pub source: Option<SocketAddr>,
    /// The peer's address, if no node is given.
    pub destination: Option<SocketAddr>,
    /// InfiniBand paths that the result may use.
    pub route: Vec<PathData>,
}

/// The results of a resolution: at least one.
///
/// ```
/// use rdma_verbs::cm::{AddressInfo, Hints, PortSpace};
///
/// fn resolve(host: &str) -> rdma_verbs::Result<()> {
///     let hints = Hints { port_space: Some(PortSpace::Tcp), ..Hints::default() };
///     for entry in AddressInfo::resolve(Some(host), Some("7471"), Some(&hints))?.iter() {
///         println!("{:?} from {:?}", entry.destination(), entry.source());
///     }
///     Ok(())
/// }
/// ```
pub struct AddressInfo(NonNull<rdma_addrinfo>);

// SAFETY: the results are never changed.
unsafe impl Send for AddressInfo {}
// SAFETY: the results are never changed, so any thread may read them.
unsafe impl Sync for AddressInfo {}

impl AddressInfo {
    /// Resolves a node, which is a name or an address, and a service, which is a name or a port
    /// number.
    ///
    /// # Errors
    /// A negative `EAI_…` code: the name service failed; `EINVAL`: neither a node, a service nor
    /// hints are given, or a text contains a zero byte; `ENODEV`: no RDMA device leads to the node;
    /// `ELIBACC`: the libraries are not installed.
    pub fn resolve(
        node: Option<&str>,
        service: Option<&str>,
        hints: Option<&Hints>,
    ) -> Result<Self> {
        let cm = &libraries().map_err(|_| Error::not_loaded())?.cm;
        let text = |text: &str| CString::new(text).map_err(|_| Error::new(CALL, libc::EINVAL));
        let (node, service) = (node.map(text).transpose()?, service.map(text).transpose()?);
        let pointer = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        let addresses = hints.map_or([None; 2], |hints| [hints.source, hints.destination]);
        let mut addresses = addresses.map(|address| address.map(CAddress::new));
        let hints = hints.map(|hints| hints.to_c(&mut addresses));
        let hints = hints.as_ref().map_or(null(), |hints| &raw const *hints);
        let mut found = null_mut();
        // The code -1 is also EAI_BADFLAGS, which sets no errno.
        Errno::clear();
        // SAFETY: the texts and the hints, with the data to which they point, live over the call,
        // and the last pointer is valid.
        let code = unsafe {
            (cm.rdma_getaddrinfo)(pointer(&node), pointer(&service), hints, &raw mut found)
        };
        match (code, Errno::last_raw()) {
            (0, _) => NonNull::new(found).map(Self).ok_or(Error::new(CALL, libc::EPROTO)),
            (-1 | libc::EAI_SYSTEM, errno) if errno != 0 => Err(Error::new(CALL, errno)),
            (code, _) => Err(Error::new(CALL, code)),
        }
    }

    /// Resolves an IP address and port number.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn from_address(address: SocketAddr, hints: &Hints) -> Result<Self> {
        let (mut node, service) = (address.ip().to_string(), address.port().to_string());
        if let SocketAddr::V6(v6) = address {
            if v6.scope_id() != 0 {
                node = format!("{node}%{}", v6.scope_id());
            }
        }
        Self::resolve(Some(&node), Some(&service), Some(hints))
    }

    /// The results, best first.
    pub fn iter(&self) -> impl Iterator<Item = AddressEntry<'_>> {
        std::iter::successors(Some(self.first()), AddressEntry::next)
    }

    /// The first result.
    #[must_use]
    pub fn first(&self) -> AddressEntry<'_> {
        AddressEntry { raw: self.0, info: PhantomData }
    }
}

impl fmt::Debug for AddressInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Drop for AddressInfo {
    fn drop(&mut self) {
        // SAFETY: it came from rdma_getaddrinfo and is freed once.
        unsafe { (library!(cm).rdma_freeaddrinfo)(self.0.as_ptr()) };
    }
}

/// A result of a resolution.
#[derive(Clone, Copy)]
pub struct AddressEntry<'a> {
    raw: NonNull<rdma_addrinfo>,
    info: PhantomData<&'a AddressInfo>,
}

impl<'a> From<&'a AddressInfo> for AddressEntry<'a> {
    fn from(info: &'a AddressInfo) -> Self {
        info.first()
    }
}

impl<'a> AddressEntry<'a> {
    pub(super) fn raw(&self) -> *mut rdma_addrinfo {
        self.raw.as_ptr()
    }

    fn c(&self) -> &'a rdma_addrinfo {
        // SAFETY: the entry lives as long as the results, which are never changed.
        unsafe { self.raw.as_ref() }
    }

    fn next(&self) -> Option<Self> {
        NonNull::new(self.c().ai_next).map(|raw| Self { raw, info: PhantomData })
    }

    /// The flags with which it was resolved.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags::new(self.c().ai_flags)
    }

    /// The family of its addresses.
    #[must_use]
    pub fn family(&self) -> Family {
        Family::new(self.c().ai_family)
    }

    /// The kind of its queue pairs.
    #[must_use]
    pub fn queue_pair_type(&self) -> Option<QueuePairType> {
        match u32::try_from(self.c().ai_qp_type) {
            Ok(qp::IBV_QPT_RC) => Some(QueuePairType::Rc),
            Ok(qp::IBV_QPT_UC) => Some(QueuePairType::Uc),
            Ok(qp::IBV_QPT_UD) => Some(QueuePairType::Ud),
            _ => None,
        }
    }

    /// Its service.
    #[must_use]
    pub fn port_space(&self) -> Option<PortSpace> {
        PortSpace::from_value(u32::try_from(self.c().ai_port_space).ok()?)
    }

    /// The local address; `None` if it is unknown or not an IP address.
    #[must_use]
    pub fn source(&self) -> Option<SocketAddr> {
        // SAFETY: the pointer is null or that of an address of the type that its family denotes.
        (self.source_length() != 0).then(|| unsafe { from_c(self.c().ai_src_addr) })?
    }

    /// The length of the local address in C; 0 if it is unknown.
    #[must_use]
    pub fn source_length(&self) -> usize {
        self.c().ai_src_len as usize
    }

    /// The peer's address; `None` on the passive side.
    #[must_use]
    pub fn destination(&self) -> Option<SocketAddr> {
        // SAFETY: the pointer is null or that of an address of the type that its family denotes.
        (self.destination_length() != 0).then(|| unsafe { from_c(self.c().ai_dst_addr) })?
    }

    /// The length of the peer's address in C; 0 on the passive side.
    #[must_use]
    pub fn destination_length(&self) -> usize {
        self.c().ai_dst_len as usize
    }

    /// The canonical name of the local address, if it is known.
    #[must_use]
    pub fn source_name(&self) -> Option<&'a CStr> {
        name(self.c().ai_src_canonname)
    }

    /// The canonical name of the peer's address, if it is known.
    #[must_use]
    pub fn destination_name(&self) -> Option<&'a CStr> {
        name(self.c().ai_dst_canonname)
    }

    /// The data that the transport needs about the route; empty if it needs none. For InfiniBand
    /// they are an array of [`PathData`].
    #[must_use]
    pub fn route(&self) -> &'a [u8] {
        bytes(self.c().ai_route.cast(), self.c().ai_route_len)
    }

    /// Data that must precede the private data of the program; empty if the transport needs none.
    #[must_use]
    pub fn connect_data(&self) -> &'a [u8] {
        bytes(self.c().ai_connect.cast(), self.c().ai_connect_len)
    }
}

impl fmt::Debug for AddressEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressEntry")
            .field("source", &self.source())
            .field("destination", &self.destination())
            .field("port_space", &self.port_space())
            .field("queue_pair_type", &self.queue_pair_type())
            .finish_non_exhaustive()
    }
}

/// A name of a result.
fn name<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: a name that is not null ends with a zero byte and lives as long as the results.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Bytes of a result.
fn bytes<'a>(from: *const u8, length: usize) -> &'a [u8] {
    if from.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the entry gives the number of bytes, and they live as long as the results.
    unsafe { std::slice::from_raw_parts(from, length) }
}

impl Hints {
    /// Converts them to C; `addresses` are the source and the destination in C. The result borrows
    /// them and the route, which the library only reads.
    fn to_c(&self, [source, destination]: &mut [Option<CAddress>; 2]) -> rdma_addrinfo {
        // SAFETY: all zeros is a valid value of the type: no hint.
        let mut raw: rdma_addrinfo = unsafe { MaybeUninit::zeroed().assume_init() };
        raw.ai_flags = self.flags.bits();
        raw.ai_family = self.family.map_or(0, Family::value);
        raw.ai_port_space = self.port_space.map_or(0, |space| space.value() as i32);
        raw.ai_qp_type =
            self.queue_pair_type.map_or(0, |queue_pair_type| queue_pair_type.value() as i32);
        if let Some(source) = source {
            (raw.ai_src_addr, raw.ai_src_len) = (source.as_ptr(), source.length());
        }
        if let Some(destination) = destination {
            (raw.ai_dst_addr, raw.ai_dst_len) = (destination.as_ptr(), destination.length());
        }
        if !self.route.is_empty() {
            raw.ai_route = self.route.as_ptr().cast_mut().cast();
            raw.ai_route_len = size_of_val(&self.route[..]);
        }
        raw
    }
}
