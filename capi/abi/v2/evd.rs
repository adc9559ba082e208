//! The event dispatcher: what DAT 2.0 has of its own.

use super::*;

// Added by DAT 2.0.
pub const DAT_EVD_EXTENSION_BASE: DAT_EVD_FLAGS = 0x200;
