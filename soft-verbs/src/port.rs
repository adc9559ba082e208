//! The port of the device.

/// The attributes of the port (`ibv_port_attr`, ibv_query_port(3)). Numbers are those of verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAttributes {
    /// `ibv_port_state`: 4, active.
    pub state: u32,
    /// `ibv_mtu`: 5, which is 4096 bytes.
    pub max_mtu: u32,
    /// As `max_mtu`.
    pub active_mtu: u32,
    /// Number of entries of the table of GIDs.
    pub gid_tbl_len: u32,
    /// `ibv_port_cap_flags`: a connection manager, and GIDs from IP addresses.
    pub port_cap_flags: u32,
    /// Maximum length of a message, in bytes.
    pub max_msg_sz: u32,
    /// Number of P_Keys: 1, which is 0xffff.
    pub pkey_tbl_len: u16,
    /// 0: RoCE has no local identifiers.
    pub lid: u16,
    /// The width of the link, as a code: 4 lanes.
    pub active_width: u8,
    /// The speed of a lane, as a code: 25 Gbit/s.
    pub active_speed: u8,
    /// The physical state, as a code: 5, up.
    pub phys_state: u8,
    /// The link layer: 2, Ethernet.
    pub link_layer: u8,
    /// `IBV_QPF_GRH_REQUIRED`: 1.
    pub flags: u8,
}

/// The only P_Key, at index 0.
pub const DEFAULT_PKEY: u16 = 0xffff;

/// The number of the only port.
pub const PORT: u8 = 1;

impl PortAttributes {
    pub(crate) const fn new(gids: u32, max_message: u32) -> Self {
        Self {
            state: 4,
            max_mtu: 5,
            active_mtu: 5,
            gid_tbl_len: gids,
            port_cap_flags: 1 << 16 | 1 << 26,
            max_msg_sz: max_message,
            pkey_tbl_len: 1,
            lid: 0,
            active_width: 2,
            active_speed: 32,
            phys_state: 5,
            link_layer: 2,
            flags: 1,
        }
    }
}
