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

/// What a refused call returns in its `DAT_RETURN`.
pub trait Code {
    /// The return type and the subtype.
    fn parts(self) -> (ReturnType, Subtype);
}

/// A return type without a subtype.
impl Code for ReturnType {
    fn parts(self) -> (ReturnType, Subtype) {
        (self, Subtype::NoSubtype)
    }
}

/// A subtype with the return type that its name in C implies.
impl Code for Subtype {
    fn parts(self) -> (ReturnType, Subtype) {
        let (_, return_type) = RETURN_TYPES
            .into_iter()
            .find(|(start, _)| self.name().starts_with(start))
            .unwrap_or_else(|| panic!("{self} belongs to no return type"));
        (return_type, self)
    }
}

/// The return types of subtypes, by the beginning of the name of the subtype.
const RETURN_TYPES: [(&str, ReturnType); 10] = [
    ("DAT_INVALID_HANDLE", ReturnType::InvalidHandle),
    ("DAT_INVALID_ARG", ReturnType::InvalidParameter),
    ("DAT_INVALID_STATE", ReturnType::InvalidState),
    ("DAT_INVALID_ADDRESS", ReturnType::InvalidAddress),
    ("DAT_RESOURCE", ReturnType::InsufficientResources),
    ("DAT_PRIVILEGES", ReturnType::PrivilegesViolation),
    ("DAT_PROTECTION", ReturnType::ProtectionViolation),
    ("DAT_NAME_NOT", ReturnType::ProviderNotFound),
    ("DAT_MAJOR_NOT", ReturnType::ProviderNotFound),
    ("DAT_MINOR_NOT", ReturnType::ProviderNotFound),
];

/// Returns the error of a call that must fail with the given code: a subtype, or a return type
/// that has none.
///
/// # Panics
/// If the call succeeded, failed with another code, or its error names no call.
#[track_caller]
pub fn refused<T: Debug>(result: Result<T>, code: impl Code) -> Error {
    let (return_type, subtype) = code.parts();
    let error = match result {
        Ok(value) => {
            panic!("{return_type} ({subtype}) expected, but the call succeeded: {value:?}")
        }
        Err(error) => error,
    };
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

/// Returns the error of a call that must fail with the given return type and any subtype.
#[track_caller]
pub(crate) fn fails_with<T: Debug>(result: Result<T>, return_type: ReturnType) -> Error {
    let error = result.expect_err("the call must fail");
    assert_eq!(error.return_type(), return_type, "{error}");
    error
}

/// As [`refused`]; the reason of the error must have a word.
#[track_caller]
pub(crate) fn refused_naming<T: Debug>(result: Result<T>, code: impl Code, word: &str) -> Error {
    let error = refused(result, code);
    assert!(error.reason().contains(word), "{word} is to be named: {error}");
    error
}
