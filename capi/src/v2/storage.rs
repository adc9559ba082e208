//! C-visible memory of DAT 2.0.

use crate::handle::StableBox;

/// C-visible storage that only this version has.
#[derive(Default)]
pub(crate) struct VersionStorage {
    /// The kind of communication of a common service point.
    pub(crate) comm: StableBox<[i32; 3]>,
    /// True if a notification object was created with a descriptor.
    pub(crate) has_fd: bool,
}
