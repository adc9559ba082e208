//! Locks that keep no state outside of themselves.
//!
//! A lock is one word on which threads sleep by futex(2). `parking_lot` keeps a table of all sleeping
//! threads of the process: a child of a fork inherits its locks as other threads left them, and entries
//! on stacks that no longer exist.

mod condvar;
mod fork;
mod mutex;
mod process;
mod rw;
pub(crate) mod word;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard, RawLock, ReentrantMutex, ThreadToken};
pub use process::{ProcessGuard, ProcessLock, Rank};
pub use rw::RwLock;
