//! Why a line or a file can't be used, in words.

use std::fmt;

use super::LISTING;
use crate::error::{Error, ReturnType, Subtype};

/// The beginning of an error that a listing shows for a place in a file.
pub(super) fn listed(place: impl fmt::Display) -> Error {
    Error::new(ReturnType::ProviderNotFound, Subtype::NameNotRegistered).during(LISTING).on(place)
}
