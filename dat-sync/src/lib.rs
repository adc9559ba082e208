//! Locks, tables and memory of the data path, shared by dat-core and its providers.
//!
//! An internal crate: it has no stable API.
//!
//! - [`lock`]: locks whose whole state is a word;
//! - [`biased`]: a lock that costs its usual owner no locked instruction;
//! - [`clock`]: the time, which a simulation can replace;
//! - [`epoll`]: epoll(7), which a simulation can replace;
//! - [`futex`]: sleeps on two words, one of which another process changes;
//! - [`pages`]: zeroed memory on huge pages, arrays and slabs in it;
//! - [`SlabArc`]: reference-counted objects in these slabs;
//! - [`region_table`]: memory contexts, looked up without a lock;
//! - [`Epochs`]: how long a check of registered memory stays valid;
//! - [`Process`]: whether an object was created before a fork;
//! - [`ProcessLock`], [`PerProcess`], [`Lazy`]: state of the process that a child of a fork goes on using, or
//!   creates again;
//! - [`descriptors`]: descriptors that a child of a fork does not keep, and that the program may close;
//! - [`prefetch`](fn@prefetch): a hint to the processor;
//! - [`SwapWord`]: a word by which threads hand something over;
//! - [`shortage`]: whether the process is short of memory;
//! - [`thread`]: the threads of the library;
//! - [`transition_table!`]: tables of state machines, which the compiler proves complete;
//! - [`without_signals`]: calls that send no signals.

#![deny(unsafe_code)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "the data path needs atomic operations of 64 bits, which this processor does not have; supported are processors \
     of 64 bits, and of 32 bits those with such operations, for example i686 and armv7"
);

pub mod biased;
pub mod clock;
pub mod descriptors;
mod epoch;
pub mod epoll;
mod first_use;
pub mod futex;
mod lazy;
pub mod lock;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg(loom)]
pub mod modelled;
pub mod pages;
mod prefetch;
pub mod process;
pub mod region_table;
pub mod shortage;
mod signals;
mod slab_arc;
mod swap_word;
mod sync;
pub mod thread;
mod transition_table;
#[cfg(all(test, not(loom)))]
mod weak_memory;

pub use descriptors::Private;
pub use epoch::{Epoch, Epochs};
pub use first_use::FirstUse;
pub use lazy::Lazy;
pub use lock::{
    Condvar, Mutex, MutexGuard, ProcessGuard, ProcessLock, Rank, ReentrantMutex, RwLock,
};
pub use pages::per_process::PerProcess;
pub use pages::slab::{CACHE_LINE, CacheLineAligned, slab_bytes};
pub use prefetch::{prefetch, prefetch_address};
pub use process::Process;
pub use signals::without_signals;
pub use slab_arc::{SlabArc, SlabWeak};
pub use swap_word::SwapWord;
