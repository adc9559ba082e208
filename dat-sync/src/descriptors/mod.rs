//! Descriptors in a program that may close them, and open others with the same numbers: a daemon closes every
//! descriptor that it did not open.
//!
//! What is kept here never closes a descriptor of the program, and never writes to one. [`Private`] recognises its
//! file by the inode. The kernel gives all event descriptors and epoll sets one inode, so [`WatchSets`] recognises its
//! sets by the descriptor that is registered in each.

mod private;
mod table;
mod watch_sets;

pub use private::Private;
pub use watch_sets::{Beacon, WatchSets};

use rustix::io::Errno;

/// Returns true if an error of a call says that a descriptor was closed, or that its number denotes another file now.
/// The call never succeeds again.
#[must_use]
pub fn is_lost(errno: Errno) -> bool {
    matches!(errno, Errno::BADF | Errno::INVAL | Errno::NOENT | Errno::NOTSOCK | Errno::PERM)
}
