//! The registry.

use dat_core::error::Result;

use crate::abi::*;
use crate::answer::{Answer, DONE};
use crate::argument::{check, count, given, invalid, out};
use crate::{convert, foreign, registry};

pub(crate) unsafe fn list_providers(
    max_to_return: DAT_COUNT,
    entries_returned: *mut DAT_COUNT,
    provider_list: *mut *mut DAT_PROVIDER_INFO,
) -> Answer {
    // SAFETY: as the caller promises.
    let number_place = unsafe { out(entries_returned, 2) }?;
    let found = registry::providers();
    let most = match room(max_to_return, provider_list, found.len()) {
        Ok(most) => most,
        Err(error) => {
            // How many there are, for who asks again with a list of that length.
            number_place.write(convert::count(found.len()));
            return Err(error);
        }
    };
    let shown = found.len().min(most);
    if shown > 0 {
        // SAFETY: an array of so many addresses, as the caller promises.
        let list = unsafe { given(provider_list.cast_const(), 3) }?;
        // SAFETY: as above.
        let list = unsafe { std::slice::from_raw_parts(list, shown) };
        let mut places = Vec::with_capacity(shown);
        for place in list {
            // SAFETY: each the address of an entry, as the caller promises.
            places.push(unsafe { out(*place, 3) }?);
        }
        for (place, info) in places.into_iter().zip(&found) {
            place.write(*info);
        }
    }
    number_place.write(convert::count(shown));
    DONE
}

/// How many entries the list of a caller has room for: at least one.
fn room(max: DAT_COUNT, list: *mut *mut DAT_PROVIDER_INFO, found: usize) -> Result<usize> {
    let most = count(max, 1)? as usize;
    if most == 0 {
        return Err(invalid(1, "argument 1 is 0")
            .during("dat_registry_list_providers")
            .advise(format!("give a list with the addresses of {found} entries")));
    }
    check(list.cast_const(), 3)?;
    Ok(most)
}

pub(crate) unsafe fn add_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> Answer {
    // SAFETY: as the caller promises.
    unsafe { given(provider, 1) }?;
    // SAFETY: as the caller promises.
    let info = unsafe { given(provider_info, 2) }?;
    // SAFETY: as the caller promises.
    unsafe { foreign::add(provider, info) }?;
    DONE
}

pub(crate) unsafe fn remove_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> Answer {
    check(provider, 1)?;
    // SAFETY: as the caller promises.
    let info = unsafe { given(provider_info, 2) }?;
    // As others do: what the registry knows a provider by counts, and not where its table is.
    foreign::remove(info)?;
    DONE
}
