//! The registry.

use super::*;
use crate::argument::{array, check, check_aligned};
use crate::result::failed_quietly;
use crate::{foreign, registry};

pub(crate) unsafe fn list_providers(
    max_to_return: DAT_COUNT,
    entries_returned: *mut DAT_COUNT,
    provider_list: *mut *mut DAT_PROVIDER_INFO,
) -> CallResult {
    // SAFETY: the caller guarantees writable memory, unless the check rejects the address.
    let number_out = unsafe { out(entries_returned, 2) }?;
    let found = registry::providers();
    // Written even if the call fails: the length that the list needs.
    number_out.write(convert::count(found.len()));
    let fits = check_length(max_to_return, provider_list, found.len());
    match fits {
        // How programs ask for the number: the code is an error, but nothing is wrong.
        Err(short) if max_to_return == 0 => return Ok(failed_quietly(short)),
        _ => fits?,
    }
    let listed = found.len() as u64;
    // SAFETY: the caller guarantees an array of at least this many addresses.
    let list = unsafe { array(provider_list.cast_const(), listed, listed, (1, 3)) }?;
    let mut places = Vec::with_capacity(found.len());
    for output in list.iter() {
        // SAFETY: the caller guarantees that each address is that of a writable entry.
        places.push(unsafe { out(output, 3) }?);
    }
    for (output, info) in places.into_iter().zip(&found) {
        output.write(*info);
    }
    OK
}

/// Rejects a list that is too short for all entries (dat_registry_list_providers(3DAT)).
fn check_length(max: DAT_COUNT, list: *mut *mut DAT_PROVIDER_INFO, found: usize) -> Result<()> {
    let most = count(max, 1)? as usize;
    // A program that requests only the number may pass NULL with a length of 0.
    if most > 0 {
        check(list.cast_const(), 3)?;
    }
    if most < found {
        return Err(invalid(1, format!("a list of {most} entries is too short for {found}"))
            .during("dat_registry_list_providers")
            .advise(format!("pass a list with the addresses of {found} entries")));
    }
    Ok(())
}

pub(crate) unsafe fn add_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> CallResult {
    check_aligned(provider, 1)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let info = unsafe { given(provider_info, 2) }?;
    // SAFETY: the caller guarantees that the table stays valid until the provider is removed.
    unsafe { foreign::add(provider, &info) }?;
    OK
}

pub(crate) unsafe fn remove_provider(
    provider: *const DAT_PROVIDER,
    provider_info: *const DAT_PROVIDER_INFO,
) -> CallResult {
    check_aligned(provider, 1)?;
    // SAFETY: the caller guarantees a readable struct, unless the check rejects the address.
    let info = unsafe { given(provider_info, 2) }?;
    // As in other libraries, the registration identifies a provider, and not the address of its
    // table.
    foreign::remove(&info)?;
    OK
}
