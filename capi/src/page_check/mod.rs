//! Checks that memory that a consumer registers, or passes as an array, is mapped. A hardware
//! adapter finds out when it pins the pages; loopback only copies, and must not find out too late.

use dat_core::mem::mapping;
use dat_sync::Lazy;
use dat_sync::pages::page_size;

use crate::foreign::peek;

mod mapping_query;

/// Ranges of at least this many bytes are looked up among the mappings first, which takes 3 µs. Bringing the pages in
/// takes as long for 64 KiB, and 38 µs for 1 MiB that is resident.
const LONG: usize = 128 << 10;

static PAGE: Lazy<usize> = Lazy::new(page_size);

/// True if the kernel supports `MADV_POPULATE_READ`: Linux 5.14 and later.
static POPULATES: Lazy<bool> = Lazy::new(|| {
    let here = (&raw const *PAGE).expose_provenance() & !(*PAGE - 1);
    let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(here);
    // SAFETY: the call reads a page of this library and changes no byte.
    unsafe { libc::madvise(start, *PAGE, libc::MADV_POPULATE_READ) == 0 }
});

/// Returns true if a range whose first page is readable is mapped to its end. Mappings end at page
/// boundaries, so a range within one page needs no check and no system call.
#[inline]
pub(crate) fn is_mapped_to_end(address: usize, length: usize) -> bool {
    // No page is smaller.
    const SMALLEST: usize = 4096;
    (address % SMALLEST).saturating_add(length) <= SMALLEST
        || is_mapped_across_pages(address, length)
}

#[cold]
fn is_mapped_across_pages(address: usize, length: usize) -> bool {
    let second = (address | (*PAGE - 1)).wrapping_add(1);
    let Some(end) = address.checked_add(length) else { return false };
    // The kernel reads a word of each page. Memory without read access does not end a mapping.
    end <= second || !(second..end).step_by(*PAGE).any(peek::is_unreadable)
}

/// Checks that every page of a range can be read, or written. Fails with the errno.
pub(crate) fn check(address: usize, length: usize, write: bool) -> Result<(), i32> {
    let first = address & !(*PAGE - 1);
    let end = address.checked_add(length).and_then(|end| end.checked_next_multiple_of(*PAGE));
    let end = end.ok_or(libc::EFAULT)?;
    let length = end - first;
    if length >= LONG && mapping_query::is_private_memory(first..end) {
        return Ok(());
    }
    let advice = if write { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
    let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(first);
    // SAFETY: the call brings pages of the range in and changes no byte, whatever is mapped there.
    if unsafe { libc::madvise(start, length, advice) } == 0 {
        return Ok(());
    }
    match errno() {
        // The kernel cannot populate, the range has no such access, or it is device memory.
        libc::EINVAL if !*POPULATES => is_resident(first, length, *PAGE),
        // Neither do these say whether it is mapped: the call lacks something, or is forbidden.
        libc::EINVAL | libc::EAGAIN | libc::EPERM | libc::EACCES | libc::ENOSYS => {
            match mapping::fault(first as u64..end as u64, write) {
                None => Ok(()),
                Some(_) => Err(libc::EFAULT),
            }
        }
        // Memory that cannot be brought in, such as device memory, is mapped nevertheless.
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
        // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, rights, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let guard = start.wrapping_byte_add(2 * *PAGE);
        // SAFETY: the last page of that mapping, which only this test uses.
        assert_eq!(unsafe { libc::mprotect(guard, *PAGE, libc::PROT_NONE) }, 0);
        let end = guard.addr();
        assert!(is_mapped_to_end(start.addr(), 2 * *PAGE));
        assert!(is_mapped_to_end(end - 8, 8));
        assert!(!is_mapped_to_end(end - 8, 9));
        assert!(!is_mapped_to_end(start.addr() + 8, usize::MAX));
        // Memory without access cannot be registered, although it is mapped.
        for write in [false, true] {
            assert_eq!(check(start.addr(), 2 * *PAGE, write), Ok(()));
            assert_eq!(check(start.addr(), 3 * *PAGE, write), Err(libc::EFAULT));
        }
        // SAFETY: the last page of the mapping above, which is not used any more.
        assert_eq!(unsafe { libc::munmap(guard, *PAGE) }, 0);
        assert!(is_mapped_to_end(end - *PAGE - 8, 16));
        assert!(!is_mapped_to_end(end - 8, 9));
        // SAFETY: the rest of the mapping, which is not used any more.
        assert_eq!(unsafe { libc::munmap(start, 2 * *PAGE) }, 0);
    }
}
