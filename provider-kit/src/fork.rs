//! What a process that was forked may not share with its parent: the descriptors of links.
//!
//! A child holds every descriptor of its parent open. So the peers of the parent would not notice
//! its death, and calls of the child would read and change what the parent's connections use. A
//! handler of `fork` therefore replaces each guarded descriptor in the child by one that carries
//! nothing. Adapters notice with [`Origin`] that they were opened before the fork.
#![allow(unsafe_code, reason = "pthread_atfork and the calls that its handler may make")]

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use parking_lot::Mutex;

/// Descriptors of a chunk of the table, and chunks.
const CHUNK: usize = 1024;
const CHUNKS: usize = 256;
const FREE: i32 = -1;

type Chunk = [AtomicI32; CHUNK];

/// The descriptors that children lose. The handler reads it without a lock; chunks are never freed.
static TABLE: [AtomicPtr<Chunk>; CHUNKS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS];
/// Destinations of the table that are free, and the number of those that were ever used.
static PLACES: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));
/// What the descriptors are replaced by.
static NOTHING: AtomicI32 = AtomicI32::new(FREE);
/// How many forks lie between the first process and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// While it lives, children of `fork` lose a descriptor. Drop it before the descriptor is closed.
#[derive(Debug)]
pub struct Guard(Option<usize>);

impl Guard {
    /// Guards a descriptor. Beyond 262,144 of them, further ones are not guarded.
    #[must_use]
    pub fn new(descriptor: BorrowedFd<'_>) -> Self {
        prepare();
        let place = {
            let (free, used) = &mut *PLACES.lock();
            free.pop().or_else(|| (*used < CHUNK * CHUNKS).then(|| (*used, *used += 1).0))
        };
        if let Some(entry) = place.and_then(|place| entry(place, true)) {
            entry.store(descriptor.as_raw_fd(), Ordering::Release);
        }
        Self(place)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(place) = self.0 else { return };
        if let Some(entry) = entry(place, false) {
            entry.store(FREE, Ordering::Release);
        }
        PLACES.lock().0.push(place);
    }
}

/// The entry of a place, whose chunk may have to be made.
fn entry(place: usize, makes: bool) -> Option<&'static AtomicI32> {
    let slot = TABLE.get(place / CHUNK)?;
    let mut chunk = slot.load(Ordering::Acquire);
    if chunk.is_null() && makes {
        let new = Box::into_raw(Box::new([const { AtomicI32::new(FREE) }; CHUNK]));
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        chunk = match slot.compare_exchange(chunk, new, success, failure) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: it was made above and is known to no other thread.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
    }
    // SAFETY: a chunk in the table was made by a box and is never freed.
    unsafe { chunk.as_ref() }?.get(place % CHUNK)
}

/// Registers the handler, once in a process.
fn prepare() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        if let Ok(nothing) = File::open("/dev/null") {
            NOTHING.store(nothing.into_raw_fd(), Ordering::Release);
        }
        // SAFETY: the handler makes only calls that are allowed after a fork of a process with
        // threads, and it is part of the program as long as the program runs.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Runs in each child, whose other threads are gone.
extern "C" fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    let nothing = NOTHING.load(Ordering::Acquire);
    for slot in &TABLE {
        // SAFETY: as in `entry`.
        let Some(chunk) = (unsafe { slot.load(Ordering::Acquire).as_ref() }) else { return };
        for entry in chunk {
            let descriptor = entry.load(Ordering::Acquire);
            if descriptor == FREE {
                continue;
            }
            let (call, from) = match nothing {
                FREE => (libc::SYS_close, descriptor),
                _ => (libc::SYS_dup3, nothing),
            };
            // SAFETY: both calls are allowed here. The owner of the number closes it later.
            unsafe { libc::syscall(call, from, descriptor, libc::O_CLOEXEC) };
        }
    }
}

/// The process in which something was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(u32);

impl Origin {
    /// This process.
    #[must_use]
    pub fn here() -> Self {
        prepare();
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether this is that process, and not a child of it.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        GENERATION.load(Ordering::Relaxed) == self.0
    }

    /// Refuses a call in a child.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` in a child of that process.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(elsewhere()) }
    }
}

#[cold]
fn elsewhere() -> Error {
    Error::new(ReturnType::InvalidState, Subtype::NoSubtype)
        .because("the adapter was opened before the process was forked")
        .advise("open an adapter in the child")
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
        let (mut report, told) = UnixStream::pair().expect("descriptors");
        let (origin, guard) = (Origin::here(), Guard::new(far.as_fd()));
        // SAFETY: the child makes system calls only, and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let verdict = [u8::from(origin.is_here())];
            let _ = rustix::io::write(&told, &verdict);
            loop {
                std::thread::park();
            }
        }
        assert!(child > 0 && origin.is_here());
        let mut verdict = [9];
        report.read_exact(&mut verdict).expect("the child's word");
        assert_eq!(verdict, [0], "the child is another process");
        drop(guard);
        drop(far);
        // The child lives and holds no copy, so this is the end of the stream.
        assert_eq!(near.read(&mut [0; 1]).expect("an end"), 0);
        assert!(near.write(&[1]).is_err());
        // SAFETY: the child that was made above.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        // SAFETY: as for kill.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
    }
}
