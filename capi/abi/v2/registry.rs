//! The registry: what DAT 2.0 has of its own.

/// Whether two adapters use the same port.
pub type DAT_HA_RELATIONSHIP = u32;
pub const DAT_HA_FALSE: DAT_HA_RELATIONSHIP = 0;
pub const DAT_HA_TRUE: DAT_HA_RELATIONSHIP = 1;
pub const DAT_HA_UNKNOWN: DAT_HA_RELATIONSHIP = 2;
pub const DAT_HA_CONFLICTING: DAT_HA_RELATIONSHIP = 3;
pub const DAT_HA_EXTENSION_BASE: DAT_HA_RELATIONSHIP = 4;
