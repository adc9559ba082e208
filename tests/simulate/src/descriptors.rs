//! The descriptors of the processes of the adapters themselves, which are all descriptors of the real process: one
//! that is killed loses its own, and a connection breaks when its socket is shut down.
#![allow(unsafe_code, reason = "descriptors that other objects have")]

use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{FileType, fstat};
use rustix::io::{dup2, fcntl_getfd};
use rustix::net::{Shutdown, shutdown};

/// A scan ends after this many numbers in a row that are not in use.
const GAP: usize = 16;

/// The descriptors by number.
pub(crate) struct Descriptors {
    owners: Vec<Owner>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    /// The simulation.
    World,
    Process(usize),
}

/// The socket of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Socket {
    number: RawFd,
    inode: u64,
}

fn borrow(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: it is used for one system call, which fails if the number is not in use; the simulation runs in one
    // thread, so that nothing closes it meanwhile.
    unsafe { BorrowedFd::borrow_raw(number) }
}

impl Socket {
    fn find(number: RawFd) -> Option<Self> {
        let status = fstat(borrow(number)).ok()?;
        let is_socket = FileType::from_raw_mode(status.st_mode) == FileType::Socket;
        is_socket.then_some(Self { number, inode: status.st_ino })
    }

    /// Ends both directions, unless it is closed. Returns whether it does.
    pub(crate) fn shut_down(self) -> bool {
        let is_same = Self::find(self.number).is_some_and(|now| now.inode == self.inode);
        is_same && shutdown(borrow(self.number), Shutdown::Both).is_ok()
    }
}

impl Descriptors {
    /// Those that are open now belong to the simulation.
    pub(crate) fn new() -> Self {
        let mut new = Self { owners: Vec::new() };
        new.note_all(Owner::World);
        new
    }

    /// A process has made calls: what has been opened since the last note is its own. Returns the sockets of that.
    pub(crate) fn note(&mut self, process: usize) -> Vec<Socket> {
        let opened = self.note_all(Owner::Process(process));
        opened.into_iter().filter_map(Socket::find).collect()
    }

    fn note_all(&mut self, opener: Owner) -> Vec<RawFd> {
        let (mut opened, mut gap) = (Vec::new(), 0);
        for number in 0.. {
            if number == self.owners.len() {
                if gap >= GAP {
                    break;
                }
                self.owners.push(Owner::Nobody);
            }
            let owner = &mut self.owners[number];
            if fcntl_getfd(borrow(number as RawFd)).is_err() {
                *owner = Owner::Nobody;
                gap += 1;
                continue;
            }
            gap = 0;
            if *owner == Owner::Nobody {
                *owner = opener;
                opened.push(number as RawFd);
            }
        }
        opened
    }

    /// The system closes what a process that was killed has: another file has the numbers from now on, until the
    /// objects of the process are dropped.
    pub(crate) fn close_all(&self, process: usize) {
        let nothing = File::open("/dev/null").expect("/dev/null");
        for (number, owner) in self.owners.iter().enumerate() {
            if *owner != Owner::Process(process) {
                continue;
            }
            // SAFETY: the number stays open and is not closed here, so the object that owns it may still close it.
            let mut descriptor = unsafe { OwnedFd::from_raw_fd(number as RawFd) };
            dup2(&nothing, &mut descriptor).expect("a descriptor can be replaced");
            let _ = descriptor.into_raw_fd();
        }
    }
}
