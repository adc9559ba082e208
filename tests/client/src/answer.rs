//! What calls answer, as results; and the words that the library has for a failure.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use real::error::{Error, Result, ReturnType, Subtype};

use super::library::library;
use crate::abi::{DAT_RETURN, DAT_SUCCESS};
use crate::dialect;

/// The result that a code stands for.
///
/// # Panics
/// When it stands for none: no call may answer that.
pub(crate) fn answer(code: DAT_RETURN, place: &'static str) -> Result<()> {
    if code == DAT_SUCCESS {
        return Ok(());
    }
    let meaning = dialect::decode(code);
    let (return_type, subtype) =
        meaning.unwrap_or_else(|| panic!("{place} answered {code:#010x}, which is no code"));
    let error = Error::new(return_type, subtype).during(call_of(place));
    // A poll that finds nothing leaves no words.
    let words = match return_type {
        ReturnType::QueueEmpty | ReturnType::TimeoutExpired => None,
        _ => Words::find(&library().detail(), return_type, subtype),
    };
    Err(match words {
        Some(words) => words.add_to(error),
        None => error,
    })
}

/// The error of what this API has no call for.
pub(crate) fn missing(what: &'static str) -> Error {
    Error::new(ReturnType::NotImplemented, Subtype::NoSubtype)
        .during(what)
        .because("this API has no such call")
}

/// The name of the call in a place of the table.
fn call_of(place: &str) -> &'static str {
    intern(format!("dat_{}", place.trim_end_matches("_func")))
}

/// A text that stays: the core's errors name calls by such. There are few.
fn intern(text: String) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock();
    match known.get(text.as_str()) {
        Some(known) => known,
        None => {
            let text: &'static str = text.leak();
            known.insert(text);
            text
        }
    }
}

/// The words of dat_error_detail(), taken apart: what was tried, on what; why, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Words {
    operation: String,
    object: String,
    reason: String,
    advice: String,
}

impl Words {
    /// Takes the words apart, if they are those of that failure.
    fn find(text: &str, return_type: ReturnType, subtype: Subtype) -> Option<Self> {
        let code = match subtype {
            Subtype::NoSubtype => format!("{return_type}: "),
            subtype => format!("{return_type} ({subtype}): "),
        };
        let at = text.find(&code)?;
        let tried = text[..at].trim_end_matches(": ");
        let (operation, object) = tried.split_once(" on ").unwrap_or((tried, ""));
        let why = &text[at + code.len()..];
        let (reason, advice) = why.rsplit_once("; ").unwrap_or((why, ""));
        Some(Self {
            operation: operation.to_owned(),
            object: object.to_owned(),
            reason: reason.to_owned(),
            advice: advice.to_owned(),
        })
    }

    fn add_to(self, error: Error) -> Error {
        let error = error.on(self.object).because(self.reason).advise(self.advice);
        if self.operation.is_empty() { error } else { error.during(intern(self.operation)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart() {
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEpConnected)
            .during("dat_ep_connect")
            .on("EP 5")
            .because("it stands; already")
            .advise("make another");
        let words = Words::find(&error.to_string(), error.return_type(), error.subtype());
        let words = words.expect("its own words");
        assert_eq!((words.operation.as_str(), words.object.as_str()), ("dat_ep_connect", "EP 5"));
        assert_eq!(words.reason, "it stands; already");
        assert_eq!(words.advice, "make another");
        assert_eq!(Words::find("", error.return_type(), error.subtype()), None);
    }
}
