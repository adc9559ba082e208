//! Addresses, qualifiers and quality of service: what DAT 2.0 has of its own.

use core::ffi::c_int;

/// The domain, type and protocol of a common service point, as in socket(2).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_COMM {
    pub domain: c_int,
    pub r#type: c_int,
    pub protocol: c_int,
}
