//! Checks of errors.

use std::fmt::Debug;

use dat_core::{Error, Result, ReturnType, Subtype};

/// The error of a call that must fail with that return type and subtype.
///
/// # Panics
/// When it did not.
#[track_caller]
pub fn refused<T: Debug>(result: Result<T>, return_type: ReturnType, subtype: Subtype) -> Error {
    match result {
        Ok(value) => panic!("{return_type} ({subtype}) expected, but it worked: {value:?}"),
        Err(error) => same_error(error, return_type, subtype),
    }
}

/// The error again, which must have that return type and subtype.
///
/// # Panics
/// When it has not, or names no call.
#[track_caller]
pub fn same_error(error: Error, return_type: ReturnType, subtype: Subtype) -> Error {
    assert_eq!(
        (error.return_type(), error.subtype()),
        (return_type, subtype),
        "{return_type} ({subtype}) expected: {error}"
    );
    assert!(!error.operation().is_empty(), "the error names no call: {error}");
    error
}
