//! Reads from addresses that may be invalid.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The word at an address, if it is known to be readable.
pub(crate) fn word(address: usize) -> Option<usize> {
    read(address).ok()
}

/// Returns true if no word can be read at an address. If the system refuses to tell, the address is trusted.
pub(crate) fn is_unreadable(address: usize) -> bool {
    read(address) == Err(libc::EFAULT)
}

/// The kernel reads the word, so an invalid address causes `EFAULT` and not a signal. Any other error says
/// nothing of the address.
fn read(address: usize) -> Result<usize, i32> {
    /// True if the system forbids the call, as some containers do.
    static REFUSED: AtomicBool = AtomicBool::new(false);
    if !REFUSED.load(Ordering::Relaxed) {
        match by_call(address) {
            Err(libc::EPERM | libc::ENOSYS) => REFUSED.store(true, Ordering::Relaxed),
            read @ (Ok(_) | Err(libc::EFAULT)) => return read,
            Err(_) => {}
        }
    }
    by_pipe(address)
}

/// Makes the kernel copy from this process's own memory.
fn by_call(address: usize) -> Result<usize, i32> {
    let mut word = 0_usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote = libc::iovec { iov_base: place(address), iov_len: size_of::<usize>() };
    // SAFETY: the call takes no arguments and returns a number.
    let own = unsafe { libc::getpid() };
    // SAFETY: the kernel writes to the local word, and fails if it cannot read the remote one.
    let read = unsafe { libc::process_vm_readv(own, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(read) {
        Ok(read) if read == size_of::<usize>() => Ok(word),
        Ok(_) => Err(libc::EFAULT),
        Err(_) => Err(errno()),
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Sends the word through a pipe, which is created each time: a permanent one would be shared with
/// forked children.
fn by_pipe(address: usize) -> Result<usize, i32> {
    let mut ends = [0; 2];
    // SAFETY: the call writes two descriptors to the array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(errno());
    }
    // SAFETY: the descriptor was just created and is owned here alone.
    let from = unsafe { OwnedFd::from_raw_fd(ends[0]) };
    // SAFETY: the descriptor was just created and is owned here alone.
    let to = unsafe { OwnedFd::from_raw_fd(ends[1]) };
    // SAFETY: the kernel reads the memory, or fails if it cannot.
    let sent = unsafe { libc::write(to.as_raw_fd(), place(address), size_of::<usize>()) };
    if sent < 0 {
        return Err(errno());
    }
    let mut word = 0_usize;
    let place = (&raw mut word).cast();
    // SAFETY: the kernel writes to the local word, which has this size.
    let read = unsafe { libc::read(from.as_raw_fd(), place, size_of::<usize>()) };
    // Fewer bytes arrive if the memory ends inside of the word.
    match usize::try_from(read) {
        Ok(read) if read == size_of::<usize>() => Ok(word),
        Ok(_) => Err(libc::EFAULT),
        Err(_) => Err(errno()),
    }
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
        assert_eq!(by_pipe(address), Ok(word));
        for nowhere in [0, 8, 0x7fff_ffff_e000, usize::MAX & !7] {
            assert_eq!(super::word(nowhere), None);
            assert_eq!(by_call(nowhere), Err(libc::EFAULT));
            assert_eq!(by_pipe(nowhere), Err(libc::EFAULT));
        }
    }
}
