//! Calls of the library and their return codes as results, with the text that the library has for
//! an error.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use real::error::{Error, Result, ReturnType, Subtype};

use super::library::library;
use crate::abi::{DAT_CLASS_ERROR, DAT_CLASS_WARNING, DAT_RETURN, DAT_SUCCESS};
use crate::version;

/// Converts the return code of the call in a slot of the table.
///
/// # Panics
/// If DAT does not define the code, or its class bits are wrong.
pub(crate) fn check(code: DAT_RETURN, slot: &'static str) -> Result<()> {
    if code == DAT_SUCCESS {
        return Ok(());
    }
    let meaning = version::decode(code);
    let (return_type, subtype) =
        meaning.unwrap_or_else(|| panic!("{slot} returned {code:#010x}, which is not a DAT code"));
    // Programs compare DAT_QUEUE_EMPTY with ==, and every other code by DAT_GET_TYPE.
    let class = if return_type == ReturnType::QueueEmpty { 0 } else { DAT_CLASS_ERROR };
    let found = code & (DAT_CLASS_ERROR | DAT_CLASS_WARNING);
    assert_eq!(found, class, "{slot} returned {code:#010x} with wrong class bits");
    let error = Error::new(return_type, subtype).during(call_of(slot));
    // A poll that finds nothing sets no error text.
    let text = match return_type {
        ReturnType::QueueEmpty | ReturnType::TimeoutExpired => None,
        _ => ErrorText::find(&library().detail(), return_type, subtype),
    };
    Err(match text {
        Some(text) => text.add_to(error),
        None => error,
    })
}

/// Calls the library: `call!(table.evd_free_func(handle))`.
macro_rules! call {
    (table.$place:ident($($argument:expr),* $(,)?)) => {
        $crate::result::call!(@ table.$place($($argument),*))
    };
    (registry.$place:ident($($argument:expr),* $(,)?)) => {
        $crate::result::call!(@ registry.$place($($argument),*))
    };
    (@ $part:ident.$place:ident($($argument:expr),*)) => {{
        let function = $crate::library::library().$part.$place.expect("filled when loaded");
        // SAFETY: the arguments are handles, of which every value is allowed, integers, and pointers
        // to out-parameters and lists that outlive the call; memory and strings live as long as
        // the documents of their objects require.
        let code = unsafe { function($($argument),*) };
        $crate::result::check(code, stringify!($place))
    }};
}
pub(crate) use call;

/// The error of a function for which the C API has no call.
pub(crate) fn missing(what: &'static str) -> Error {
    Error::new(ReturnType::NotImplemented, Subtype::NoSubtype)
        .during(what)
        .because("this API has no such call")
}

/// The name of the call in a slot of the table.
fn call_of(slot: &str) -> &'static str {
    intern(format!("dat_{}", slot.trim_end_matches("_func")))
}

/// Leaks a string once: errors of the core name calls by `&'static str`. There are few.
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

/// The text of dat_error_detail(), parsed: what was tried, on what object, why it failed, and
/// what to do.
#[derive(Debug, PartialEq, Eq)]
struct ErrorText {
    operation: String,
    object: String,
    reason: String,
    advice: String,
}

impl ErrorText {
    /// Parses the text; `None` if it describes another error.
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
    fn the_text_of_an_error_is_parsed() {
        // The terms of the texts that the C libraries write.
        real::error::Terms::C.make_current();
        let error = Error::new(ReturnType::InvalidState, Subtype::InvalidStateEpConnected)
            .during("dat_ep_connect")
            .on("EP 5")
            .because("established; already")
            .advise("make another");
        let text = ErrorText::find(&error.to_string(), error.return_type(), error.subtype());
        let text = text.expect("its own text");
        assert_eq!((text.operation.as_str(), text.object.as_str()), ("dat_ep_connect", "EP 5"));
        assert_eq!(text.reason, "established; already");
        assert_eq!(text.advice, "make another");
        assert_eq!(ErrorText::find("", error.return_type(), error.subtype()), None);
    }
}
