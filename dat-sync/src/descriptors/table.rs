//! The private descriptors of the process.
#![allow(
    unsafe_code,
    reason = "descriptors are queried, replaced and closed by number, in a handler of fork"
)]

use std::os::fd::{BorrowedFd, RawFd};

use nix::libc;
use rustix::fs::fstat;
use rustix::io::{Errno, Result};

use crate::epoll::{self, EventData, EventFlags};
use crate::lock::{ProcessLock, Rank};

/// The private descriptors.
pub(super) struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
}

/// Held while a descriptor is created or closed: no fork copies one that is not in the table, or an entry
/// whose number belongs to another descriptor.
pub(super) static TABLE: ProcessLock<Table> = ProcessLock::with_child(
    Rank::Descriptors,
    Table { entries: Vec::new(), free: Vec::new() },
    Table::replace_all,
);

/// A descriptor that was just opened.
pub(super) struct Entry {
    number: RawFd,
    identity: Identity,
    /// A child is about to replace it.
    is_replaced: bool,
}

/// How a file is recognised, after the program may have closed its descriptor and opened another one.
#[derive(Clone, Copy)]
enum Identity {
    /// By its device and inode.
    Inode((u64, u64)),
    /// The system, for example a filter of system calls, did not say what it is.
    Unknown,
    /// The number denotes no file.
    Closed,
    /// An epoll set, by the descriptor that is registered in it.
    Anchor(RawFd),
}

impl Identity {
    fn of(number: RawFd) -> Self {
        match inode(number) {
            Ok(inode) => Self::Inode(inode),
            Err(Errno::BADF) => Self::Closed,
            Err(_) => Self::Unknown,
        }
    }
}

impl Entry {
    pub(super) fn file(number: RawFd) -> Self {
        Self { number, identity: Identity::of(number), is_replaced: false }
    }

    /// An epoll set in which the anchor is registered, which a child loses too.
    pub(super) const fn set(number: RawFd, anchor: RawFd) -> Self {
        Self { number, identity: Identity::Anchor(anchor), is_replaced: false }
    }

    fn is_there(&self) -> bool {
        match self.identity {
            Identity::Inode(before) => match inode(self.number) {
                Ok(now) => now == before,
                Err(errno) => errno != Errno::BADF,
            },
            Identity::Unknown => inode(self.number) != Err(Errno::BADF),
            Identity::Closed => inode(self.number) == Err(Errno::BADF),
            Identity::Anchor(anchor) => {
                // SAFETY: the borrows are only used to query what the numbers denote.
                let [set, anchor] =
                    [self.number, anchor].map(|one| unsafe { BorrowedFd::borrow_raw(one) });
                check(set, anchor).is_ok()
            }
        }
    }

    const fn numbers(&self) -> [Option<RawFd>; 2] {
        match self.identity {
            Identity::Inode(_) | Identity::Unknown | Identity::Closed => [Some(self.number), None],
            Identity::Anchor(anchor) => [Some(self.number), Some(anchor)],
        }
    }
}

fn inode(number: RawFd) -> Result<(u64, u64)> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the borrow is only used to query what the number denotes.
    let status = fstat(unsafe { BorrowedFd::borrow_raw(number) })?;
    Ok((status.st_dev, status.st_ino))
}

/// Checks that both numbers denote an epoll set and the descriptor that is registered in it. Changes nothing.
pub(super) fn check(set: BorrowedFd<'_>, anchor: BorrowedFd<'_>) -> Result<()> {
    match epoll::add(set, anchor, EventData::new_u64(0), EventFlags::empty()) {
        // A filter of system calls may refuse memory before the kernel has looked the anchor up.
        Err(Errno::EXIST | Errno::NOMEM | Errno::NOSPC) => Ok(()),
        Ok(()) => {
            // A set of the program.
            let _ = epoll::delete(set, anchor);
            Err(Errno::NOENT)
        }
        Err(errno) => Err(errno),
    }
}

impl Table {
    pub(super) fn add(&mut self, entry: Entry) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[index] = Some(entry);
        index
    }

    /// Returns true if the number of the entry still denotes its file, or what a child has in its place.
    pub(super) fn is_there(&self, index: usize) -> bool {
        self.entries[index].as_ref().is_some_and(Entry::is_there)
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.entries[index] = None;
        self.free.push(index);
    }

    /// Runs in a child. The numbers stay in use until their owners are dropped. Files of the program, which has closed
    /// descriptors of the table, stay as they are.
    fn replace_all(&mut self) {
        self.entries.iter_mut().flatten().for_each(|entry| entry.is_replaced = entry.is_there());
        let replaced = || self.entries.iter().flatten().filter(|entry| entry.is_replaced);
        let numbers = || replaced().flat_map(Entry::numbers).flatten();
        let Some(first) = numbers().next() else { return };
        // The first is closed first, in case the process has no free descriptor.
        // SAFETY: a descriptor of this process, whose owner expects it to be replaced in a child.
        unsafe { libc::close(first) };
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: the path is a string of C.
        let null = unsafe { libc::open(c"/dev/null".as_ptr(), flags) };
        for descriptor in numbers().filter(|one| *one != null) {
            if null < 0 {
                // SAFETY: as for the first.
                unsafe { libc::close(descriptor) };
            } else {
                // SAFETY: as for the first.
                unsafe { libc::dup3(null, descriptor, libc::O_CLOEXEC) };
            }
        }
        if null >= 0 && numbers().all(|one| one != null) {
            // SAFETY: it was opened above.
            unsafe { libc::close(null) };
        }
        for entry in self.entries.iter_mut().flatten().filter(|entry| entry.is_replaced) {
            entry.identity = Identity::of(entry.number);
        }
    }
}
