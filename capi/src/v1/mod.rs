//! The differences of DAT 1.2 from the other version.

pub(crate) mod codes;
pub(crate) mod storage;
pub(crate) mod structs;
pub(crate) mod version;
