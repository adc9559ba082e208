//! The Direct Access Transport (DAT) objects as a safe, typed Rust API.

#![deny(unsafe_code)]

pub mod attr;
pub mod error;
pub mod flags;
pub mod mem;
pub mod provider;
pub mod region_table;
pub mod registry;
mod status;
mod triplet;

pub use error::{Error, Result, ReturnType, Subtype};
pub use mem::Memory;
pub use registry::{ApiVersion, Registry};
pub use status::{DtoStatus, Operation};
pub use triplet::{LmrTriplet, RmrTriplet};
