//! Numbers, names and the words that all calls use: what DAT 1.2 has of its own.

use super::*;

// The version of the API.
pub const DAT_VERSION_MAJOR: DAT_UINT32 = 1;
pub const DAT_VERSION_MINOR: DAT_UINT32 = 2;
