//! Whether memory that a consumer registers, or hands in as an array, is there. An adapter of
//! hardware finds out when it pins the pages; loopback only copies, and must not find out when it
//! is too late.

use std::sync::LazyLock;

use crate::foreign::peek;

mod mappings;

static PAGE: LazyLock<usize> = LazyLock::new(|| {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
});

/// Whether the kernel knows `MADV_POPULATE_READ`: Linux 5.14 and later.
static POPULATES: LazyLock<bool> = LazyLock::new(|| {
    let here = (&raw const *PAGE).expose_provenance() & !(*PAGE - 1);
    let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(here);
    // SAFETY: reads a page of this library's, and changes no byte.
    unsafe { libc::madvise(start, *PAGE, libc::MADV_POPULATE_READ) == 0 }
});

/// Whether a range whose first page can be read goes on to its end. Mappings end with pages, so a
/// range within one page needs no look, and no system call.
#[inline]
pub(crate) fn goes_on(address: usize, length: usize) -> bool {
    // No page is smaller.
    const SMALLEST: usize = 4096;
    (address % SMALLEST).saturating_add(length) <= SMALLEST || reaches(address, length)
}

#[cold]
fn reaches(address: usize, length: usize) -> bool {
    let second = (address | (*PAGE - 1)).wrapping_add(1);
    let Some(end) = address.checked_add(length) else { return false };
    // The kernel reads a word of each page: memory without rights is no end of a mapping.
    end <= second || (second..end).step_by(*PAGE).all(|page| peek::word(page).is_some())
}

/// Checks that every page of a range can be read, or written. Fails with the errno.
pub(crate) fn check(address: usize, length: usize, write: bool) -> Result<(), i32> {
    let first = address & !(*PAGE - 1);
    let end = address.checked_add(length).and_then(|end| end.checked_next_multiple_of(*PAGE));
    let length = end.ok_or(libc::EFAULT)? - first;
    let advice = if write { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(first);
    // SAFETY: brings pages of the range in, and changes no byte, whatever is mapped there.
    if unsafe { libc::madvise(start, length, advice) } == 0 {
        return Ok(());
    }
    match errno() {
        // Either the kernel cannot populate, or the range has no such access, or is a device's.
        libc::EINVAL if *POPULATES => mappings::permit(first..first + length, write),
        libc::EINVAL => is_resident(first, length, *PAGE),
        // Memory that can't be brought in, such as a device's, is there all the same.
        libc::EHWPOISON | libc::EFAULT if is_resident(first, length, *PAGE).is_err() => {
            Err(libc::EFAULT)
        }
        other => Err(other),
    }
}

fn is_resident(first: usize, length: usize, page: usize) -> Result<(), i32> {
    const STEP: usize = 1024;
    let mut pages = [0_u8; STEP];
    let mut at = first;
    while at < first + length {
        let part = (first + length - at).min(STEP * page);
        let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(at);
        // SAFETY: the array has a byte for each page of the part.
        if unsafe { libc::mincore(start, part, pages.as_mut_ptr()) } != 0 {
            return Err(errno());
        }
        at += part;
    }
    Ok(())
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_where_its_mapping_does() {
        let (length, rights) = (3 * *PAGE, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: makes a mapping where there is none.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, rights, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let guard = start.wrapping_byte_add(2 * *PAGE);
        // SAFETY: the last page of that mapping.
        assert_eq!(unsafe { libc::mprotect(guard, *PAGE, libc::PROT_NONE) }, 0);
        let end = guard.addr();
        assert!(goes_on(start.addr(), 2 * *PAGE));
        assert!(goes_on(end - 8, 8));
        assert!(!goes_on(end - 8, 9));
        assert!(!goes_on(start.addr() + 8, usize::MAX));
        // Memory without access cannot be registered, although it is mapped.
        for write in [false, true] {
            assert_eq!(check(start.addr(), 2 * *PAGE, write), Ok(()));
            assert_eq!(check(start.addr(), 3 * *PAGE, write), Err(libc::EFAULT));
        }
        // SAFETY: the mapping of above.
        assert_eq!(unsafe { libc::munmap(guard, *PAGE) }, 0);
        assert!(goes_on(end - *PAGE - 8, 16));
        assert!(!goes_on(end - 8, 9));
        // SAFETY: the rest of the mapping.
        assert_eq!(unsafe { libc::munmap(start, 2 * *PAGE) }, 0);
    }
}
