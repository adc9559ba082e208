//! Lists of named attributes.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use dat_core::attr::NamedAttr;
use dat_core::error::Result;

use crate::abi::{DAT_COUNT, DAT_NAMED_ATTR};
use crate::argument;

/// The most attributes that a consumer may name in one list.
const MOST: u64 = 1024;

/// A list of attributes in memory that C knows the address of.
#[derive(Default)]
pub(crate) struct NamedAttributes {
    shown: Vec<NamedAttr>,
    /// Names and values, which the entries point to.
    _texts: Vec<CString>,
    entries: Vec<DAT_NAMED_ATTR>,
}

// SAFETY: the entries point to the texts beside them.
unsafe impl Send for NamedAttributes {}

impl NamedAttributes {
    /// Shows a list; its number and address. What C was told before stays as long as the
    /// list is the same.
    pub(crate) fn show(&mut self, list: &[NamedAttr]) -> (DAT_COUNT, *mut DAT_NAMED_ATTR) {
        if self.shown != list {
            *self = Self::of(list);
        }
        let address = if list.is_empty() { null_mut() } else { self.entries.as_mut_ptr() };
        (super::count(list.len()), address)
    }

    fn of(list: &[NamedAttr]) -> Self {
        let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let pairs = list.iter().map(|it| [text(&it.name), text(&it.value)]);
        let texts: Vec<CString> = pairs.flatten().collect();
        let entries = texts
            .chunks_exact(2)
            .map(|pair| DAT_NAMED_ATTR { name: pair[0].as_ptr(), value: pair[1].as_ptr() })
            .collect();
        Self { shown: list.to_vec(), _texts: texts, entries }
    }
}

/// The list that C gives.
///
/// # Safety
/// The address is that of so many entries, each with two strings.
pub(crate) unsafe fn from_c(
    count: DAT_COUNT,
    list: *const DAT_NAMED_ATTR,
    argument: u32,
) -> Result<Vec<NamedAttr>> {
    let count = argument::count(count, argument)?;
    // SAFETY: as the caller promises.
    let list = unsafe { argument::array(list, count.into(), MOST, (argument, argument)) }?;
    let text = |pointer| {
        // SAFETY: as the caller promises.
        unsafe { argument::given(pointer, argument) }?;
        // SAFETY: not NULL; ends with a zero, as the caller promises.
        Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
    };
    list.iter().map(|it| Ok(NamedAttr::new(text(it.name)?, text(it.value)?))).collect()
}
