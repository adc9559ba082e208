//! Epoll sets that are recognised, and made readable, by a descriptor that is registered in each of them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, Result};

use super::Private;
use super::table::{Entry, check};
use crate::epoll::{self, EventData, EventFlags, simulated};

/// Epoll sets, and an anchor: a descriptor that can always be written, and is registered in each of them. A child of
/// a fork does not keep them.
///
/// The kernel finds a registration by the number of the descriptor and the file that it denotes. So a call that
/// changes the registration of the anchor succeeds only if both numbers denote what they did. It also wakes the
/// threads that sleep on the set, and unlike a write to an event descriptor it leaves no bytes in a file that has got
/// the number meanwhile.
#[derive(Debug)]
pub struct WatchSets<const N: usize>(Private<Anchored<N>, N>);

#[derive(Debug)]
struct Anchored<const N: usize> {
    sets: [OwnedFd; N],
    anchor: OwnedFd,
}

impl<const N: usize> Anchored<N> {
    fn new() -> Result<Self> {
        let anchor = if epoll::is_simulated() {
            simulated::create_anchor()?
        } else {
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?
        };
        let mut sets = Vec::with_capacity(N);
        for _ in 0..N {
            let set = epoll::create()?;
            epoll::add(&set, &anchor, EventData::new_u64(0), EventFlags::empty())?;
            sets.push(set);
        }
        // A vector of `N` sets becomes an array of them.
        let sets = sets.try_into().map_err(|_| Errno::NOMEM)?;
        Ok(Self { sets, anchor })
    }

    fn entries(&self) -> [Entry; N] {
        self.sets.each_ref().map(|set| Entry::set(set.as_raw_fd(), self.anchor.as_raw_fd()))
    }
}

impl<const N: usize> Drop for Anchored<N> {
    fn drop(&mut self) {
        if epoll::is_simulated() {
            self.sets.iter().chain([&self.anchor]).for_each(simulated::close);
        }
    }
}

impl<const N: usize> WatchSets<N> {
    /// Creates the sets.
    ///
    /// # Errors
    /// The process or the system is out of descriptors.
    pub fn new() -> Result<Self> {
        let (sets, ()) = Private::with_entries(|| Ok((Anchored::new()?, ())), Anchored::entries)?;
        Ok(Self(sets))
    }

    /// One of the sets.
    #[must_use]
    pub fn set(&self, index: usize) -> BorrowedFd<'_> {
        self.0.sets[index].as_fd()
    }

    /// Makes a set report this token once.
    ///
    /// # Errors
    /// The program has closed the set or the anchor.
    pub fn wake(&self, index: usize, token: u64) -> Result<()> {
        self.change(index, token, EventFlags::OUT | EventFlags::ONESHOT)
    }

    fn change(&self, index: usize, token: u64, interest: EventFlags) -> Result<()> {
        epoll::modify(self.set(index), &self.0.anchor, EventData::new_u64(token), interest)
    }

    /// Checks that the program has closed neither the set nor the anchor. Changes nothing.
    ///
    /// # Errors
    /// It has.
    pub fn check(&self, index: usize) -> Result<()> {
        check(self.set(index), self.0.anchor.as_fd())
    }
}

/// A descriptor that one thread makes readable for others, which poll it and never read it.
#[derive(Debug)]
pub struct Beacon(WatchSets<1>);

impl Beacon {
    /// Creates one that is not readable.
    ///
    /// # Errors
    /// The process or the system is out of descriptors.
    pub fn new() -> Result<Self> {
        WatchSets::new().map(Self)
    }

    /// Makes it readable until [`lower`](Self::lower).
    ///
    /// # Errors
    /// The program has closed it.
    pub fn raise(&self) -> Result<()> {
        self.0.change(0, 0, EventFlags::OUT)
    }

    /// Reverts [`raise`](Self::raise).
    ///
    /// # Errors
    /// The program has closed it.
    pub fn lower(&self) -> Result<()> {
        self.0.change(0, 0, EventFlags::empty())?;
        if epoll::is_simulated() {
            return Ok(());
        }
        // The set keeps the anchor among those that may be ready until it is polled, and would not wake an
        // edge-triggered set of the program when it is raised again.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&now)).map(drop)
    }
}

impl AsFd for Beacon {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.set(0)
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    #![allow(unsafe_code, reason = "descriptors are replaced by number, and fork")]

    use std::fs::File;
    use std::io::Read;
    use std::mem::MaybeUninit;
    use std::os::fd::FromRawFd;

    use super::super::is_lost;
    use super::*;
    use nix::libc;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use rustix::event::epoll::{self, CreateFlags};

    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    fn is_readable(descriptor: &impl AsFd) -> bool {
        poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&NOW)) == Ok(1)
    }

    /// Puts a file of the program in the place of a descriptor, in one step, so that no other test gets the number.
    fn replace(descriptor: BorrowedFd<'_>, file: impl AsFd) -> OwnedFd {
        // SAFETY: the owner of the descriptor recognises that it has lost it, and closes it no more.
        let mut theirs = unsafe { OwnedFd::from_raw_fd(descriptor.as_raw_fd()) };
        rustix::io::dup2(file, &mut theirs).expect("both are open");
        theirs
    }

    fn anchor(beacon: &Beacon) -> BorrowedFd<'_> {
        beacon.0.0.anchor.as_fd()
    }

    #[test]
    fn a_beacon_is_readable_while_it_is_raised() {
        let beacon = Beacon::new().expect("descriptors");
        assert!(!is_readable(&beacon));
        for _ in 0..2 {
            beacon.raise().expect("it is there");
            beacon.raise().expect("it is there");
            assert!(is_readable(&beacon) && is_readable(&beacon));
            beacon.lower().expect("it is there");
            assert!(!is_readable(&beacon));
        }
    }

    #[test]
    fn an_edge_triggered_set_reports_each_raise() {
        let beacon = Beacon::new().expect("descriptors");
        let outer = epoll::create(CreateFlags::CLOEXEC).expect("one more");
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&outer, &beacon, EventData::new_u64(1), interest).expect("a new one");
        let reported = || {
            let mut events = [MaybeUninit::uninit(); 2];
            epoll::wait(&outer, &mut events[..], Some(&NOW)).expect("a set").0.len()
        };
        for _ in 0..3 {
            beacon.raise().expect("it is there");
            assert_eq!((reported(), reported()), (1, 0));
            beacon.lower().expect("it is there");
        }
    }

    #[test]
    fn a_set_reports_a_wake_up_once() {
        let sets = WatchSets::<2>::new().expect("descriptors");
        let reported = || {
            let mut events = [MaybeUninit::uninit(); 2];
            let (ready, _) = epoll::wait(sets.set(1), &mut events[..], Some(&NOW)).expect("a set");
            ready.iter().map(|event| event.data.u64()).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            sets.wake(1, 7).expect("it is there");
            assert!(!is_readable(&sets.set(0)) && is_readable(&sets.set(1)));
            assert_eq!((reported(), reported()), (vec![7], vec![]));
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_set_or_of_the_anchor_is_neither_written_nor_closed() {
        for position in 0..2 {
            let mut memory = File::from(
                rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).expect("memory"),
            );
            let beacon = Beacon::new().expect("descriptors");
            beacon.0.check(0).expect("it is there");
            let descriptor = [beacon.as_fd(), anchor(&beacon)][position];
            let theirs = replace(descriptor, &memory);
            let errors = [beacon.raise(), beacon.lower(), beacon.0.check(0)];
            assert!(errors.iter().all(|error| error.is_err_and(is_lost)), "{errors:?}");
            drop(beacon);
            rustix::io::fcntl_getfd(&theirs).expect("it is open");
            let mut written = Vec::new();
            memory.read_to_end(&mut written).expect("memory");
            assert_eq!(written, []);
        }
    }

    #[test]
    fn a_set_of_the_program_does_not_change() {
        let program = epoll::create(CreateFlags::CLOEXEC).expect("a descriptor");
        let beacon = Beacon::new().expect("descriptors");
        let theirs = replace(beacon.as_fd(), &program);
        assert!(beacon.raise().is_err() && beacon.0.check(0).is_err());
        assert_eq!(epoll::delete(&program, anchor(&beacon)), Err(Errno::NOENT), "it was added");
        drop((beacon, theirs));
    }

    #[test]
    fn a_child_has_neither_the_set_nor_the_anchor_and_closes_what_it_has_instead() {
        let mut beacon = Some(Beacon::new().expect("descriptors"));
        let numbers = beacon.iter().flat_map(|one| [one.as_fd(), anchor(one)]);
        let numbers: Vec<_> = numbers.map(|one| one.as_raw_fd()).collect();
        // SAFETY: the calls only read the state of the numbers.
        let is_open = |number: &i32| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0;
        // SAFETY: the child makes system calls only.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                let is_lost = beacon.iter().all(|one| one.raise().is_err_and(is_lost));
                let are_open = numbers.iter().all(is_open);
                drop(beacon.take());
                let is_right = is_lost && are_open && !numbers.iter().any(is_open);
                // SAFETY: `_exit` ends the process without running any destructor.
                unsafe { libc::_exit(i32::from(!is_right)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            }
        }
        let beacon = beacon.expect("the parent keeps it");
        beacon.raise().expect("it is there");
        assert!(is_readable(&beacon));
    }
}
