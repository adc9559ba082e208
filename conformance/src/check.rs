//! Checks of errors.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use dat_core::{Error, Result, ReturnType, Subtype};

/// The expected errors of this process: call, return type and subtype, by their names in C.
static EXPECTED: Mutex<BTreeSet<(&str, &str, &str)>> = Mutex::new(BTreeSet::new());

/// Returns the errors that the cases which ran in this process expected and got: the call, the
/// return type and the subtype, by their names in C. The manual pages must have them.
#[must_use]
pub fn expected_errors() -> Vec<(&'static str, &'static str, &'static str)> {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
}

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
    let expected = (error.operation(), return_type.name(), subtype.name());
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner).insert(expected);
    error
}
