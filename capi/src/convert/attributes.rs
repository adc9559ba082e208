//! Lists of named attributes.

use std::ffi::{CStr, CString, c_char};

use dat_core::attr::NamedAttr;
use dat_core::error::Result;

use crate::abi::{DAT_COUNT, DAT_NAMED_ATTR};
use crate::argument;
use crate::handle::Lasting;

/// The most attributes that a consumer may name in one list.
const MOST: u64 = 1024;

/// A list of attributes in memory that C knows the address of.
#[derive(Default)]
pub(crate) struct NamedAttributes {
    /// Names and values, which the entries point to.
    texts: Vec<Lasting<[u8]>>,
    entries: Lasting<[DAT_NAMED_ATTR]>,
}

// SAFETY: the entries point to the texts beside them.
unsafe impl Send for NamedAttributes {}

impl NamedAttributes {
    /// Shows a list; its number and address. What C was told before stays where it is as long as
    /// the list is the same.
    pub(crate) fn show(&mut self, list: &[NamedAttr]) -> (DAT_COUNT, *mut DAT_NAMED_ATTR) {
        self.texts.resize_with(2 * list.len(), Lasting::default);
        let words = list.iter().flat_map(|it| [&it.name, &it.value]);
        let places = self.texts.iter_mut().zip(words);
        let places: Vec<*const c_char> = places
            .map(|(place, word)| {
                let text = CString::new(word.replace('\0', "")).unwrap_or_default();
                place.write(text.as_bytes_with_nul()).cast_const().cast()
            })
            .collect();
        let entries: Vec<DAT_NAMED_ATTR> = places
            .chunks_exact(2)
            .map(|pair| DAT_NAMED_ATTR { name: pair[0], value: pair[1] })
            .collect();
        (super::count(list.len()), self.entries.write(&entries))
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
