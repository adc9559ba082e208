//! Reading at an address that may be none.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The word at an address, if it can be read. The kernel reads it, so that a wrong address is
/// an error and no signal.
pub(crate) fn word(address: usize) -> Option<usize> {
    /// Whether the system refuses the call; some containers do.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if !REFUSED.load(Ordering::Relaxed) {
        match by_call(address) {
            Err(libc::EPERM | libc::ENOSYS) => REFUSED.store(true, Ordering::Relaxed),
            read => return read.ok(),
        }
    }
    by_pipe(address)
}

/// Lets the kernel copy from our own memory.
fn by_call(address: usize) -> Result<usize, i32> {
    let mut word = 0_usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote = libc::iovec { iov_base: place(address), iov_len: size_of::<usize>() };
    // SAFETY: asks for a number.
    let own = unsafe { libc::getpid() };
    // SAFETY: writes to the word, and reads where it may.
    let read = unsafe { libc::process_vm_readv(own, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Ok(read) if read == size_of::<usize>() => Ok(word),
        Ok(_) => Err(libc::EFAULT),
        Err(_) => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EFAULT)),
    }
}

/// Sends the word through a pipe. Made anew each time: one that lasts would be shared with the
/// children of fork.
fn by_pipe(address: usize) -> Option<usize> {
    let mut ends = [0; 2];
    // SAFETY: writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return None;
    }
    // SAFETY: a descriptor that nobody else knows.
    let from = unsafe { OwnedFd::from_raw_fd(ends[0]) };
    // SAFETY: as above.
    let to = unsafe { OwnedFd::from_raw_fd(ends[1]) };
    // SAFETY: the kernel reads the memory, or answers that it can't.
    let sent = unsafe { libc::write(to.as_raw_fd(), place(address), size_of::<usize>()) };
    if usize::try_from(sent) != Ok(size_of::<usize>()) {
        return None;
    }
    let mut word = 0_usize;
    let place = (&raw mut word).cast();
    // SAFETY: writes to the word.
    let read = unsafe { libc::read(from.as_raw_fd(), place, size_of::<usize>()) };
    (usize::try_from(read) == Ok(size_of::<usize>())).then_some(word)
}

fn place(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_the_rest_is_not() {
        let word = 0x1234_5678_9abc_usize;
        let address = (&raw const word).expose_provenance();
        assert_eq!(by_call(address), Ok(word));
        assert_eq!(by_pipe(address), Some(word));
        for nowhere in [0, 8, 0x7fff_ffff_e000, usize::MAX & !7] {
            assert_eq!(super::word(nowhere), None);
            assert_eq!(by_call(nowhere), Err(libc::EFAULT));
            assert_eq!(by_pipe(nowhere), None);
        }
    }
}
