//! Errors that several modules return.

use dat_provider::error::{Error, ReturnType, Subtype};

/// The work queue is full. Without a description, because consumers that poll get this error often.
pub const fn no_credit() -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceCredits)
}

/// The error for an object that this provider did not create.
pub fn foreign_object(what: &'static str, subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidHandle, subtype)
        .because(format!("the {what} belongs to another provider"))
        .advise("use only objects of the same adapter together")
}

/// The region table is full.
pub fn region_table_full() -> Error {
    Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemoryRegion)
        .because("all memory contexts of the process are in use")
}

/// A call in a state that does not allow it.
pub fn wrong_state(subtype: Subtype) -> Error {
    Error::new(ReturnType::InvalidState, subtype)
}
