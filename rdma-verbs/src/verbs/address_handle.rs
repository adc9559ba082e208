//! Addresses of ports, and address handles: the destinations of datagrams.

use std::fmt;
use std::net::Ipv6Addr;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{
    Completion, Error, MemoryRegion, ProtectionDomain, Result, WorkCompletion, library, object,
};
use crate::sys::verbs::{IBV_WC_GRH, IBV_WC_RECV, ibv_ah, ibv_ah_attr, ibv_gid, ibv_global_route};

/// A global identifier of a port, or of a multicast group.
///
/// ```
/// use rdma_verbs::verbs::Gid;
/// use std::net::Ipv4Addr;
///
/// let gid = Gid::from(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped()); // as with RoCE v2
/// assert_eq!(gid.to_string(), "::ffff:192.0.2.1");
/// ```
///
/// With the feature `serde` it is text in the form of an IPv6 address, or 16 bytes in binary formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Ipv6Addr", into = "Ipv6Addr"))]
pub struct Gid(pub [u8; 16]);

impl Gid {
    pub(super) const fn to_c(self) -> ibv_gid {
        ibv_gid { raw: self.0 }
    }
}

impl From<Ipv6Addr> for Gid {
    fn from(address: Ipv6Addr) -> Self {
        Self(address.octets())
    }
}

impl From<Gid> for Ipv6Addr {
    fn from(gid: Gid) -> Self {
        Self::from(gid.0)
    }
}

/// Printed like an IPv6 address, as is usual for GIDs.
impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

/// A route by GIDs. RoCE always needs one, InfiniBand between subnets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GlobalRoute {
    /// The GID of the destination.
    pub destination: Gid,
    /// The flow label.
    pub flow_label: u32,
    /// The index of the local GID ([`Context::gid`](super::Context::gid)).
    pub source_index: u8,
    /// Maximum number of routers on the way.
    pub hop_limit: u8,
    /// The traffic class.
    pub traffic_class: u8,
}

/// The address of a port of the fabric (ibv_create_ah(3)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AddressVector {
    /// The local port to send from.
    pub port: u8,
    /// The local identifier of the destination; InfiniBand only.
    pub lid: u16,
    /// The service level.
    pub service_level: u8,
    /// The path bits of the local identifier to send from.
    pub source_path_bits: u8,
    /// The code of the rate limit; 0 for none.
    pub static_rate: u8,
    /// The route by GIDs.
    pub route: Option<GlobalRoute>,
}

impl AddressVector {
    pub(crate) fn to_c(self) -> ibv_ah_attr {
        let route = self.route.unwrap_or_default();
        ibv_ah_attr {
            grh: ibv_global_route {
                dgid: route.destination.to_c(),
                flow_label: route.flow_label,
                sgid_index: route.source_index,
                hop_limit: route.hop_limit,
                traffic_class: route.traffic_class,
            },
            dlid: self.lid,
            sl: self.service_level,
            src_path_bits: self.source_path_bits,
            static_rate: self.static_rate,
            is_global: u8::from(self.route.is_some()),
            port_num: self.port,
        }
    }

    pub(crate) fn from_c(c: &ibv_ah_attr) -> Self {
        let route = GlobalRoute {
            destination: Gid(c.grh.dgid.raw),
            flow_label: c.grh.flow_label,
            source_index: c.grh.sgid_index,
            hop_limit: c.grh.hop_limit,
            traffic_class: c.grh.traffic_class,
        };
        Self {
            port: c.port_num,
            lid: c.dlid,
            service_level: c.sl,
            source_path_bits: c.src_path_bits,
            static_rate: c.static_rate,
            route: (c.is_global != 0).then_some(route),
        }
    }
}

object! {
    /// A port of the fabric that datagrams can be sent to (ibv_create_ah(3)).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rdma_verbs::verbs::{AddressHandle, AddressVector, Operation, ProtectionDomain};
    ///
    /// fn to<'a>(handle: &'a Arc<AddressHandle>, queue_pair: u32) -> Operation<'a> {
    ///     Operation::Datagram { handle, queue_pair, queue_key: 0x1234, immediate: None }
    /// }
    ///
    /// fn handle(domain: &Arc<ProtectionDomain>, lid: u16) -> rdma_verbs::Result<Arc<AddressHandle>> {
    ///     AddressHandle::new(domain, &AddressVector { port: 1, lid, ..Default::default() })
    /// }
    /// ```
    AddressHandle(ibv_ah) { domain: Arc<ProtectionDomain> }
}

/// Length of the global route header in front of a received datagram, in bytes.
const HEADER: usize = 40;

impl AddressHandle {
    /// Creates the handle of an address, for queue pairs of the domain.
    ///
    /// # Errors
    /// `EINVAL`: the port does not exist, or the address does not fit its link.
    pub fn new(domain: &Arc<ProtectionDomain>, address: &AddressVector) -> Result<Arc<Self>> {
        Self::create(domain, address.to_c())
    }

    /// Creates the handle of the port that sent a datagram (ibv_create_ah_from_wc(3)). The region
    /// holds the datagram with its header at `offset`.
    ///
    /// # Errors
    /// `EFAULT`: the header is not inside the region; `EINVAL`: the port has no GID to which the
    /// datagram was sent.
    pub fn from_completion(
        domain: &Arc<ProtectionDomain>,
        port: u8,
        completion: &Completion,
        region: &MemoryRegion,
        offset: usize,
    ) -> Result<Arc<Self>> {
        // An array with the alignment of the header's fields.
        let mut header = [0_u64; HEADER / 8];
        let bytes: Vec<u8> = region.to_vec(offset..offset.saturating_add(HEADER))?;
        for (word, bytes) in header.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        let mut raw = WorkCompletion {
            opcode: IBV_WC_RECV,
            byte_len: completion.length,
            qp_num: completion.queue_pair,
            src_qp: completion.source_queue_pair,
            wc_flags: if completion.has_grh { IBV_WC_GRH } else { 0 },
            pkey_index: completion.pkey_index,
            slid: completion.source_lid,
            sl: completion.service_level,
            dlid_path_bits: completion.destination_path_bits,
            ..WorkCompletion::default()
        };
        let mut attributes = ibv_ah_attr::default();
        let context = domain.context().raw();
        // SAFETY: the context is open, and the pointers are of their types.
        let code = unsafe {
            let call = library!(verbs).ibv_init_ah_from_wc;
            call(context, port, &raw mut raw, header.as_mut_ptr().cast(), &raw mut attributes)
        };
        Error::check("ibv_init_ah_from_wc", code)?;
        Self::create(domain, attributes)
    }

    fn create(domain: &Arc<ProtectionDomain>, mut attributes: ibv_ah_attr) -> Result<Arc<Self>> {
        // SAFETY: the domain is alive and the attributes are a copy.
        let raw = unsafe { (library!(verbs).ibv_create_ah)(domain.raw(), &raw mut attributes) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Arc::new(Self { raw, domain: Arc::clone(domain) })),
            None => Err(Error::last("ibv_create_ah")),
        }
    }

    /// The domain of the queue pairs that can use it.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: this crate created it and destroys it once; posts kept it alive until they
        // completed.
        let _ = unsafe { (library!(verbs).ibv_destroy_ah)(self.raw()) };
    }
}
