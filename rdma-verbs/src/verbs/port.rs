//! Ports of a device.

use std::mem::MaybeUninit;

use super::{Context, Error, ErrorObject, Gid, Mtu, Result, library};
use crate::sys::verbs::{self as sys, ibv_gid, ibv_port_attr};

/// The state of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortState {
    /// The device reports no state.
    #[default]
    None,
    /// The link is down.
    Down,
    /// The link is up but not configured.
    Initializing,
    /// Configured, and not yet active.
    Armed,
    /// It carries data.
    Active,
    /// The link was lost, and may come back.
    ActiveDeferred,
    /// A state that this version does not know.
    Unknown(u32),
}

/// The link layer of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkLayer {
    /// The device does not say.
    #[default]
    Unspecified,
    /// InfiniBand.
    InfiniBand,
    /// Ethernet: RoCE, or iWARP if the device is an iWARP device.
    Ethernet,
}

/// The attributes of a port (ibv_query_port(3)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortAttributes {
    /// Its state.
    pub state: PortState,
    /// Its link layer.
    pub link_layer: LinkLayer,
    /// The largest payload of a packet that the port can carry.
    pub max_mtu: Mtu,
    /// The largest payload of a packet that it is configured for.
    pub active_mtu: Mtu,
    /// The number of GIDs ([`Context::gid`]).
    pub gid_table_length: u32,
    /// The number of partition keys ([`Context::partition_key`]).
    pub pkey_table_length: u16,
    /// A set of `IBV_PORT_…_SUP`.
    pub capability_flags: u32,
    /// The length of the longest message, in bytes.
    pub max_message: u32,
    /// The number of packets with a wrong partition key.
    pub bad_pkey_count: u32,
    /// The number of packets with a wrong queue key.
    pub queue_key_violations: u32,
    /// Its local identifier; InfiniBand only.
    pub lid: u16,
    /// The local identifier of the subnet manager.
    pub subnet_manager_lid: u16,
    /// The number of low bits of the local identifier that are free.
    pub lid_mask_count: u8,
    /// The code of the number of virtual lanes.
    pub max_virtual_lanes: u8,
    /// The service level of the subnet manager.
    pub subnet_manager_service_level: u8,
    /// The code of the subnet's time-out.
    pub subnet_timeout: u8,
    /// How the subnet manager initialised it.
    pub init_type_reply: u8,
    /// The code of the width of the link.
    pub active_width: u8,
    /// The code of the speed of the link.
    pub active_speed: u8,
    /// The code of the physical state.
    pub physical_state: u8,
}

impl PortAttributes {
    fn new(c: &ibv_port_attr) -> Self {
        Self {
            state: match c.state {
                0 => PortState::None,
                1 => PortState::Down,
                2 => PortState::Initializing,
                3 => PortState::Armed,
                sys::IBV_PORT_ACTIVE => PortState::Active,
                5 => PortState::ActiveDeferred,
                other => PortState::Unknown(other),
            },
            link_layer: match c.link_layer {
                sys::IBV_LINK_LAYER_INFINIBAND => LinkLayer::InfiniBand,
                sys::IBV_LINK_LAYER_ETHERNET => LinkLayer::Ethernet,
                _ => LinkLayer::Unspecified,
            },
            max_mtu: Mtu::from_code(c.max_mtu),
            active_mtu: Mtu::from_code(c.active_mtu),
            gid_table_length: u32::try_from(c.gid_tbl_len).unwrap_or(0),
            pkey_table_length: c.pkey_tbl_len,
            capability_flags: c.port_cap_flags,
            max_message: c.max_msg_sz,
            bad_pkey_count: c.bad_pkey_cntr,
            queue_key_violations: c.qkey_viol_cntr,
            lid: c.lid,
            subnet_manager_lid: c.sm_lid,
            lid_mask_count: c.lmc,
            max_virtual_lanes: c.max_vl_num,
            subnet_manager_service_level: c.sm_sl,
            subnet_timeout: c.subnet_timeout,
            init_type_reply: c.init_type_reply,
            active_width: c.active_width,
            active_speed: c.active_speed,
            physical_state: c.phys_state,
        }
    }
}

impl Context {
    /// The attributes of a port; the first is 1 (ibv_query_port(3)).
    ///
    /// # Errors
    /// `EINVAL`: there is no such port.
    pub fn query_port(&self, port: u8) -> Result<PortAttributes> {
        let mut attributes = MaybeUninit::<ibv_port_attr>::zeroed();
        // SAFETY: the context is open; the function fills no more than its version of the type.
        let code =
            unsafe { (library!(verbs).ibv_query_port)(self.raw(), port, attributes.as_mut_ptr()) };
        Error::check("ibv_query_port", code).map_err(|error| error.on(ErrorObject::Port(port)))?;
        // SAFETY: the memory was zeroed, which is valid for the type, and then filled.
        Ok(PortAttributes::new(&unsafe { attributes.assume_init() }))
    }

    /// A GID of a port, by its index (ibv_query_gid(3)). Unused entries are zero.
    ///
    /// # Errors
    /// `EINVAL`, `ENODATA`: there is no such entry.
    pub fn gid(&self, port: u8, index: u32) -> Result<Gid> {
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        let mut gid = ibv_gid::default();
        // SAFETY: the context is open and the pointer valid.
        let code =
            unsafe { (library!(verbs).ibv_query_gid)(self.raw(), port, index, &raw mut gid) };
        Error::check("ibv_query_gid", code).map_err(|error| error.on(ErrorObject::Port(port)))?;
        Ok(Gid(gid.raw))
    }

    /// A partition key of a port, by its index (ibv_query_pkey(3)).
    ///
    /// # Errors
    /// `EINVAL`: there is no such entry.
    pub fn partition_key(&self, port: u8, index: u16) -> Result<u16> {
        let mut key = 0;
        // SAFETY: the context is open and the pointer valid.
        let code = unsafe {
            (library!(verbs).ibv_query_pkey)(self.raw(), port, i32::from(index), &raw mut key)
        };
        Error::check("ibv_query_pkey", code).map_err(|error| error.on(ErrorObject::Port(port)))?;
        Ok(u16::from_be(key))
    }
}
