//! Checks of errors.

use std::fmt::Debug;

use dat_core::{Error, Result, ReturnType, Subtype};

/// Returns the error of a call that must fail with the given return type and subtype.
///
/// # Panics
/// If the call succeeded or failed with another error.
#[track_caller]
pub fn refused<T: Debug>(result: Result<T>, return_type: ReturnType, subtype: Subtype) -> Error {
    match result {
        Ok(value) => {
            panic!("{return_type} ({subtype}) expected, but the call succeeded: {value:?}")
        }
        Err(error) => same_error(error, return_type, subtype),
    }
}

/// Returns the error, which must have the given return type and subtype.
///
/// # Panics
/// If it has another code, or names no call.
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
