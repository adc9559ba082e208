//! Whether memory that a consumer registers is there. An adapter of hardware finds out when it
//! pins the pages; loopback only copies, and must not find out when it is too late.

use std::sync::LazyLock;

/// Checks that every page of a range can be read, or written. Fails with the errno.
pub(crate) fn check(address: usize, length: usize, write: bool) -> Result<(), i32> {
    static PAGE: LazyLock<usize> = LazyLock::new(|| {
        // SAFETY: asks for a number.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    });
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
        // A kernel before 5.14: see at least that something is mapped.
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
