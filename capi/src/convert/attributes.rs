//! Lists of named attributes.

use std::ffi::{CStr, CString, c_char};

use dat_core::attr::NamedAttr;
use dat_core::error::Result;

use crate::abi::{DAT_COUNT, DAT_NAMED_ATTR};
use crate::argument;
use crate::handle::StableBox;

/// Maximum number of attributes in a list of a consumer.
const MAX_SEGMENTS: u64 = 1024;

/// A list of attributes in memory whose address C receives.
#[derive(Default)]
pub(crate) struct NamedAttributes {
    /// Names and values, to which the entries point.
    texts: Vec<StableBox<[u8]>>,
    entries: StableBox<[DAT_NAMED_ATTR]>,
}

// SAFETY: the entries point only to the texts that are stored with them.
unsafe impl Send for NamedAttributes {}

impl NamedAttributes {
    /// Sets the list; returns its length and address. While the list is unchanged, the addresses
    /// that C received before stay valid.
    pub(crate) fn show(&mut self, list: &[NamedAttr]) -> (DAT_COUNT, *mut DAT_NAMED_ATTR) {
        self.texts.resize_with(2 * list.len(), StableBox::default);
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

/// Converts a C list.
///
/// # Safety
/// The address is that of `count` readable entries, each with two C strings.
pub(crate) unsafe fn from_c(
    count: DAT_COUNT,
    list: *const DAT_NAMED_ATTR,
    argument: u32,
) -> Result<Vec<NamedAttr>> {
    let count = argument::count(count, argument)?;
    // SAFETY: the caller guarantees `count` readable entries.
    let list = unsafe { argument::array(list, count.into(), MAX_SEGMENTS, (argument, argument)) }?;
    let text = |pointer| {
        // SAFETY: the caller guarantees a C string.
        unsafe { argument::given(pointer, argument) }?;
        // SAFETY: the pointer is not NULL, and the caller guarantees a C string.
        Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
    };
    list.iter().map(|it| Ok(NamedAttr::new(text(it.name)?, text(it.value)?))).collect()
}
