//! Numbers, names and the words that all calls use.

use core::ffi::{c_char, c_int, c_ulonglong, c_void};

/// Size of a name buffer, including the terminating NUL.
pub const DAT_NAME_MAX_LENGTH: usize = 256;

pub type DAT_UINT32 = u32;
pub const DAT_OPTIMAL_ALIGNMENT: DAT_UINT32 = 256;

pub type DAT_UINT64 = u64;
pub type DAT_UVERYLONG = c_ulonglong;
pub type DAT_PVOID = *mut c_void;

/// A signed count.
pub type DAT_COUNT = c_int;

/// A physical address; not used.
pub type DAT_PADDR = DAT_UINT64;

/// The name of an adapter.
pub type DAT_NAME_PTR = *mut c_char;

/// A named attribute: a name and a value string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DAT_NAMED_ATTR {
    pub name: *const c_char,
    pub value: *const c_char,
}

/// A boolean: zero is false, any other value is true.
pub type DAT_BOOLEAN = u32;
pub const DAT_FALSE: DAT_BOOLEAN = 0;
pub const DAT_TRUE: DAT_BOOLEAN = 1;
pub const DAT_THREADSAFE: DAT_BOOLEAN = DAT_FALSE;

/// The consumer context of an object.
#[repr(C)]
#[derive(Clone, Copy)]
pub union DAT_CONTEXT {
    pub as_ptr: DAT_PVOID,
    pub as_64: DAT_UINT64,
    pub as_index: DAT_UVERYLONG,
}

/// A timeout in microseconds.
pub type DAT_TIMEOUT = DAT_UINT32;

/// Infinite timeout.
pub const DAT_TIMEOUT_INFINITE: DAT_TIMEOUT = 0xffff_ffff_u32;

/// A length of memory in bytes.
pub type DAT_VLEN = DAT_UINT64;

/// An address in memory.
pub type DAT_VADDR = DAT_UINT64;

// The version of the API.

values! {
    pub const DAT_VERSION_MAJOR: DAT_UINT32 = 1, 2;
    pub const DAT_VERSION_MINOR: DAT_UINT32 = 2, 0;
}

v2! {
    /// The length of a segment in bytes.
    pub type DAT_SEG_LENGTH = DAT_UINT32;
}
