//! The last error of each thread, in words.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use dat_core::Error;

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { error: None, text: None }) };
}

struct Last {
    error: Option<Error>,
    /// The words of an error that C asked for; they stay until it asks for those of another.
    text: Option<CString>,
}

/// Keeps an error as the last of this thread. At the end of the thread nobody can ask any more.
pub(crate) fn keep(error: Error) {
    crate::debug::failed(&error);
    // The error before it is dropped after the cell is free again.
    let _ = LAST
        .try_with(|last| last.try_borrow_mut().ok().and_then(|mut last| last.error.replace(error)));
}

/// The words of the last error of this thread; empty before the first.
pub(crate) fn text() -> *const c_char {
    let text = LAST.try_with(|last| {
        let mut last = last.try_borrow_mut().ok()?;
        if let Some(error) = last.error.take() {
            let words = error.to_string().replace('\0', "\u{fffd}");
            last.text = CString::new(words).ok();
        }
        last.text.as_ref().map(|text| text.as_ptr())
    });
    text.ok().flatten().unwrap_or(c"".as_ptr())
}
