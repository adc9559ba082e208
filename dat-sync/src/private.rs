//! Descriptors that a child of a fork does not keep.
//!
//! A child holds every descriptor of its parent open. Peers would not notice the death of the parent, the
//! parent could not listen again, and calls of the child could disturb connections of the parent. A handler
//! of fork therefore replaces each private descriptor in the child by `/dev/null`, opened for reading.
#![allow(
    unsafe_code,
    reason = "descriptors are replaced and closed by number, in a handler of fork"
)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use nix::libc;

use crate::lock::{ProcessLock, Rank};

/// The private descriptors; entries that are not in use hold [`FREE`].
struct Table {
    entries: Vec<RawFd>,
    free: Vec<usize>,
}

const FREE: RawFd = -1;

/// Held while a descriptor is created or closed: no fork copies one that is not in the table, or an entry
/// whose number belongs to another descriptor.
static TABLE: ProcessLock<Table> = ProcessLock::with_child(
    Rank::Descriptors,
    Table { entries: Vec::new(), free: Vec::new() },
    Table::replace_all,
);

/// The owner of one or more descriptors that children do not keep. They are closed with it.
pub struct Private<T, const N: usize = 1> {
    value: ManuallyDrop<T>,
    entries: [usize; N],
}

impl<T: AsFd> Private<T> {
    /// Creates a descriptor. The function must not block, nor create another private descriptor.
    ///
    /// # Errors
    /// The error of the function.
    pub fn create<E>(make: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        Self::create_with(|| Ok((make()?, ()))).map(|(private, ())| private)
    }

    /// As [`create`](Self::create), for a function that returns something else too.
    ///
    /// # Errors
    /// The error of the function.
    pub fn create_with<X, E>(make: impl FnOnce() -> Result<(T, X), E>) -> Result<(Self, X), E> {
        Self::holding(make, |value| [value.as_fd().as_raw_fd()])
    }
}

impl<T, const N: usize> Private<T, N> {
    /// As [`create_with`](Private::create_with), for an owner whose descriptors the second function
    /// returns.
    ///
    /// # Errors
    /// The error of the function.
    pub fn holding<X, E>(
        make: impl FnOnce() -> Result<(T, X), E>,
        descriptors: impl FnOnce(&T) -> [RawFd; N],
    ) -> Result<(Self, X), E> {
        let mut table = TABLE.lock();
        let (value, other) = make()?;
        let entries = descriptors(&value).map(|one| table.add(one));
        Ok((Self { value: ManuallyDrop::new(value), entries }, other))
    }
}

impl<T, const N: usize> Deref for Private<T, N> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: AsFd> AsFd for Private<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.value.as_fd()
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Private<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T, const N: usize> Drop for Private<T, N> {
    fn drop(&mut self) {
        let mut table = TABLE.lock();
        self.entries.iter().for_each(|entry| table.remove(*entry));
        // SAFETY: the value is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.value) };
    }
}

impl Table {
    fn add(&mut self, descriptor: RawFd) -> usize {
        let entry = self.free.pop().unwrap_or_else(|| {
            self.entries.push(FREE);
            self.entries.len() - 1
        });
        self.entries[entry] = descriptor;
        entry
    }

    fn remove(&mut self, entry: usize) {
        self.entries[entry] = FREE;
        self.free.push(entry);
    }

    /// Runs in a child. The numbers stay in use until their owners are dropped.
    fn replace_all(&mut self) {
        let in_use = || self.entries.iter().copied().filter(|one| *one != FREE);
        let Some(first) = in_use().next() else { return };
        // The first is closed first, in case the process has no free descriptor.
        // SAFETY: a descriptor of this process, whose owner expects it to be replaced in a child.
        unsafe { libc::close(first) };
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: the path is a string of C.
        let null = unsafe { libc::open(c"/dev/null".as_ptr(), flags) };
        for descriptor in in_use().filter(|one| *one != null) {
            if null < 0 {
                // SAFETY: as for the first.
                unsafe { libc::close(descriptor) };
            } else {
                // SAFETY: as for the first.
                unsafe { libc::dup3(null, descriptor, libc::O_CLOEXEC) };
            }
        }
        if null >= 0 && in_use().all(|one| one != null) {
            // SAFETY: it was opened above.
            unsafe { libc::close(null) };
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::io::{self, Read, Write};
    use std::os::unix::net::UnixStream;

    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, Pid, fork, pause};

    use super::*;

    fn child(run: impl FnOnce() -> bool) -> Pid {
        // SAFETY: the child makes system calls only.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                // SAFETY: ends a child that hangs.
                unsafe { libc::alarm(20) };
                let is_right = run();
                // SAFETY: `_exit` ends the process without running any destructor.
                unsafe { libc::_exit(i32::from(!is_right)) }
            }
            ForkResult::Parent { child } => child,
        }
    }

    #[test]
    fn a_child_does_not_keep_a_private_descriptor_open() {
        let (mut near, far) = UnixStream::pair().expect("descriptors");
        let far = Private::create(|| Ok::<_, io::Error>(far)).expect("it exists");
        let child = child(|| {
            pause();
            false
        });
        drop(far);
        // The child lives and holds no copy, so this is the end of the stream.
        assert_eq!(near.read(&mut [0; 1]).expect("an end"), 0);
        assert!(near.write(&[1]).is_err());
        kill(child, Signal::SIGKILL).expect("it lives");
        waitpid(child, None).expect("its end");
    }

    #[test]
    fn calls_on_it_fail_in_a_child_and_it_can_be_dropped() {
        let (mut near, far) = UnixStream::pair().expect("descriptors");
        let mut far = Some(Private::create(|| Ok::<_, io::Error>(far)).expect("it exists"));
        let before = far.as_ref().map(|one| one.as_raw_fd());
        let child = child(|| {
            let refused = far.as_deref().map(|mut one| one.write(&[1]).is_err());
            let number = far.take().map(|one| one.as_raw_fd());
            // SAFETY: the call only reads the state of the number.
            let is_closed = unsafe { libc::fcntl(before.unwrap_or(0), libc::F_GETFD) } < 0;
            refused == Some(true) && number == before && is_closed
        });
        assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
        far.as_deref().map(|mut one| one.write(&[7])).expect("it exists").expect("it is open");
        let mut byte = [0];
        near.read_exact(&mut byte).expect("a byte");
        assert_eq!(byte, [7], "the parent has it");
    }
}
