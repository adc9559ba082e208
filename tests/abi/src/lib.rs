//! Compares the C headers in include/ and the Rust types in capi/abi with tables of the ABI: every
//! name, size, alignment, offset, value and prototype that programs and providers were built with.
//!
//! The tables were extracted from other DAT libraries: DAT 1.2 as Linux programs know it, and DAT
//! 2.0 with the InfiniBand extensions of version 209. They are facts about the existing ABI: what
//! differs from them is wrong unless the incumbent has changed.
//!
//! Their sizes and offsets are those of 64-bit processors, which are the same on all of them. On a 32-bit processor the
//! headers are compared with the Rust types, and `DAT_OTHER_HEADERS`, a folder with the headers of another DAT 2.0 library
//! (`dat2/udat.h`), says whether these have the same sizes and offsets.

use std::path::PathBuf;

pub mod c_checks;
pub mod c_macros;
pub mod cc;
pub mod rust_types;

pub use dat_abi_v1 as abi_v1;
pub use dat_abi_v2 as abi_v2;

use dat_abi_table::Tables;

/// A version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// DAT 1.2.
    V1,
    /// DAT 2.0.
    V2,
}

/// Both versions.
pub const VERSIONS: [Version; 2] = [Version::V1, Version::V2];

impl Version {
    /// The folder of its headers.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Version::V1 => "dat",
            Version::V2 => "dat2",
        }
    }

    /// Its tables; on a 32-bit processor with the sizes, alignments and offsets of the Rust types.
    ///
    /// # Panics
    ///
    /// If they can't be read.
    #[must_use]
    pub fn tables(self) -> Tables {
        let name = match self {
            Version::V1 => "dat-1.2",
            Version::V2 => "dat-2.0",
        };
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tables").join(name);
        let mut tables =
            Tables::read(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        if cfg!(target_pointer_width = "32") {
            rust_types::Measured::of(self).replace_layouts(&mut tables);
        }
        tables
    }

    /// The headers that together define all names of the tables.
    #[must_use]
    pub fn headers(self) -> &'static [&'static str] {
        match self {
            Version::V1 => &["dat/udat.h", "dat/dat_registry.h"],
            Version::V2 => &["dat2/udat.h", "dat2/dat_registry.h", "dat2/dat_ib_extensions.h"],
        }
    }
}

/// The folder of the headers.
#[must_use]
pub fn include() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../include")
}
