//! Links after `fork`.
//!
//! A child process holds every descriptor of its parent open. Peers would not notice the death of the
//! parent, and calls of the child could disturb the connections of the parent. A handler of `fork`
//! therefore replaces each guarded descriptor in the child by `/dev/null`. Adapters use [`Origin`] to
//! detect that they were opened before the fork.
#![allow(unsafe_code, reason = "pthread_atfork and the calls that its handler may make")]

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use dat_provider::error::{Error, Result};
use dat_sync::Mutex;
use dat_sync::Process;

/// Number of descriptors per chunk of the table.
const CHUNK: usize = 1024;
/// Maximum number of chunks.
const CHUNKS: usize = 256;
/// The value of an unused entry.
const FREE: i32 = -1;

type Chunk = [AtomicI32; CHUNK];

/// The guarded descriptors. The handler reads the table without a lock; chunks are never freed.
static TABLE: [AtomicPtr<Chunk>; CHUNKS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
/// Free indices of the table, and the number of indices that were ever used.
static INDICES: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));
/// A descriptor of `/dev/null`.
static DEV_NULL: AtomicI32 = AtomicI32::new(FREE);

/// While it exists, children of `fork` lose a descriptor. Drop it before closing the descriptor.
#[derive(Debug)]
pub struct Guard(Option<usize>);

impl Guard {
    /// Guards a descriptor. At most 262,144 descriptors are guarded.
    #[must_use]
    pub fn new(descriptor: BorrowedFd<'_>) -> Self {
        prepare();
        let index = {
            let (free, used) = &mut *INDICES.lock();
            free.pop().or_else(|| (*used < CHUNK * CHUNKS).then(|| (*used, *used += 1).0))
        };
        if let Some(entry) = index.and_then(|index| entry(index, true)) {
            entry.store(descriptor.as_raw_fd(), Ordering::Release);
        }
        Self(index)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(index) = self.0 else { return };
        if let Some(entry) = entry(index, false) {
            entry.store(FREE, Ordering::Release);
        }
        INDICES.lock().0.push(index);
    }
}

/// The entry at an index; `allocates` says whether a missing chunk is allocated.
fn entry(index: usize, allocates: bool) -> Option<&'static AtomicI32> {
    let slot = TABLE.get(index / CHUNK)?;
    let mut chunk = slot.load(Ordering::Acquire);
    if chunk.is_null() && allocates {
        let new = Box::into_raw(Box::new([const { AtomicI32::new(FREE) }; CHUNK]));
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        chunk = match slot.compare_exchange(chunk, new, success, failure) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: it was allocated above, and no other thread has a reference to it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
    }
    // SAFETY: a chunk in the table comes from `Box::into_raw` and is never freed.
    unsafe { chunk.as_ref() }?.get(index % CHUNK)
}

/// Registers the handler, once in a process.
fn prepare() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        if let Ok(dev_null) = File::open("/dev/null") {
            DEV_NULL.store(dev_null.into_raw_fd(), Ordering::Release);
        }
        // SAFETY: the handler makes only async-signal-safe calls, as a child of a process with threads
        // must, and its code is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Runs in each child, whose other threads are gone.
extern "C" fn forked() {
    let dev_null = DEV_NULL.load(Ordering::Acquire);
    for slot in &TABLE {
        // SAFETY: a chunk in the table comes from `Box::into_raw` and is never freed.
        let Some(chunk) = (unsafe { slot.load(Ordering::Acquire).as_ref() }) else { return };
        for entry in chunk {
            let descriptor = entry.load(Ordering::Acquire);
            if descriptor == FREE {
                continue;
            }
            let (call, from) = match dev_null {
                FREE => (libc::SYS_close, descriptor),
                _ => (libc::SYS_dup3, dev_null),
            };
            // SAFETY: both calls are async-signal-safe. The owner of the descriptor closes it later.
            unsafe { libc::syscall(call, from, descriptor, libc::O_CLOEXEC) };
        }
    }
}

/// The process in which an object was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(Process);

impl Origin {
    /// This process.
    #[must_use]
    pub fn here() -> Self {
        Self(Process::current())
    }

    /// Whether the current process is that process, and not a child of it.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        self.0.is_current()
    }

    /// Refuses a call in a child.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` in a child of that process.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(Error::other_process(self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_child_does_not_keep_a_guarded_descriptor_open() {
        let (mut near, far) = UnixStream::pair().expect("descriptors");
        let (mut report, report_end) = UnixStream::pair().expect("descriptors");
        let (origin, guard) = (Origin::here(), Guard::new(far.as_fd()));
        // SAFETY: the child makes system calls only, and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let verdict = [u8::from(origin.is_here())];
            let _ = rustix::io::write(&report_end, &verdict);
            loop {
                std::thread::park();
            }
        }
        assert!(child > 0 && origin.is_here());
        let mut verdict = [9];
        report.read_exact(&mut verdict).expect("a report of the child");
        assert_eq!(verdict, [0], "the child is another process");
        drop(guard);
        drop(far);
        // The child lives and holds no copy, so this is the end of the stream.
        assert_eq!(near.read(&mut [0; 1]).expect("an end"), 0);
        assert!(near.write(&[1]).is_err());
        // SAFETY: the child was created above.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        // SAFETY: the child was created above.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
    }
}
