//! Numbers, names and the words that all calls use: what DAT 2.0 has of its own.

use super::*;

// The version of the API.
pub const DAT_VERSION_MAJOR: DAT_UINT32 = 2;
pub const DAT_VERSION_MINOR: DAT_UINT32 = 0;

/// The length of a segment in bytes.
pub type DAT_SEG_LENGTH = DAT_UINT32;
