//! Descriptors that a child of a fork does not keep.
//!
//! A child holds every descriptor of its parent open. Peers would not notice the death of the parent, the
//! parent could not listen again, and calls of the child could disturb connections of the parent. A handler
//! of fork therefore replaces each private descriptor in the child by `/dev/null`, opened for reading.
//!
//! The program may close a private descriptor too, and open another one with its number. That one stays open, and a
//! child keeps it.
#![allow(unsafe_code, reason = "a value is left undropped, or dropped in place")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use super::table::{Entry, TABLE};

/// The owner of one or more descriptors that children do not keep. They are closed with it, unless the program has
/// closed one of them.
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

    /// As [`create_with`](Self::create_with), for any number of descriptors that appear at once.
    ///
    /// # Errors
    /// The error of the function.
    pub fn create_all<X, E>(
        make: impl FnOnce() -> Result<(Vec<T>, X), E>,
    ) -> Result<(Vec<Self>, X), E> {
        let mut table = TABLE.lock();
        let (values, other) = make()?;
        let private = |value: T| {
            let entries = [table.add(Entry::file(value.as_fd().as_raw_fd()))];
            Self { value: ManuallyDrop::new(value), entries }
        };
        Ok((values.into_iter().map(private).collect(), other))
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
        Self::with_entries(make, |value| descriptors(value).map(Entry::file))
    }

    pub(super) fn with_entries<X, E>(
        make: impl FnOnce() -> Result<(T, X), E>,
        entries: impl FnOnce(&T) -> [Entry; N],
    ) -> Result<(Self, X), E> {
        let mut table = TABLE.lock();
        let (value, other) = make()?;
        let entries = entries(&value).map(|entry| table.add(entry));
        Ok((Self { value: ManuallyDrop::new(value), entries }, other))
    }

    /// Returns true if its numbers denote its descriptors still, or what a child has in their place.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let table = TABLE.lock();
        self.entries.iter().all(|entry| table.is_there(*entry))
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
        let is_there = self.entries.iter().all(|entry| table.is_there(*entry));
        self.entries.iter().for_each(|entry| table.remove(*entry));
        if is_there {
            // SAFETY: the value is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    use nix::libc;
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
    fn a_child_keeps_none_of_several() {
        let ((mut near, far), (mut near2, far2)) =
            (UnixStream::pair().expect("descriptors"), UnixStream::pair().expect("descriptors"));
        let all = Private::create_all(|| Ok::<_, io::Error>((vec![far, far2], 7)));
        let (all, seven) = all.expect("they exist");
        assert_eq!((all.len(), seven), (2, 7));
        let child = child(|| {
            pause();
            false
        });
        drop(all);
        for near in [&mut near, &mut near2] {
            assert_eq!(near.read(&mut [0; 1]).expect("an end"), 0);
        }
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

    /// The inode of what the number denotes.
    fn inode(number: RawFd) -> Option<u64> {
        // SAFETY: the borrow is only used to query the number.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        rustix::fs::fstat(file).ok().map(|status| status.st_ino)
    }

    #[test]
    fn it_is_closed_at_the_end() {
        let (near, _far) = UnixStream::pair().expect("descriptors");
        let near = Private::create(|| Ok::<_, io::Error>(near)).expect("it exists");
        let (number, before) = (near.as_raw_fd(), inode(near.as_raw_fd()));
        assert!(near.is_there());
        drop(near);
        // Another test may have opened a file with this number.
        assert_ne!(inode(number), before);
    }

    #[test]
    fn a_file_of_the_program_in_its_place_stays_open_and_a_child_has_it() {
        let (near, _far) = UnixStream::pair().expect("descriptors");
        let near = Private::create(|| Ok::<_, io::Error>(near)).expect("it exists");
        let number = near.as_raw_fd();
        let zero = File::open("/dev/zero").expect("every Linux has it");
        // SAFETY: `near` closes the number no more, and `theirs` owns it from now on.
        let mut theirs = unsafe { ManuallyDrop::new(OwnedFd::from_raw_fd(number)) };
        // Replaces the descriptor in one step, so that no other test can get the number in between.
        rustix::io::dup2(&zero, &mut theirs).expect("both are open");
        let mut near = Some(near);
        assert_eq!(near.as_ref().map(Private::is_there), Some(false));
        let before = inode(number);
        let child = child(|| {
            let is_kept = inode(number) == before;
            drop(near.take());
            is_kept && inode(number) == before
        });
        assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
        drop(near);
        assert_eq!(inode(number), before);
        drop(ManuallyDrop::into_inner(theirs));
    }
}
