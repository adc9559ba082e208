//! Memory whose address C receives only in DAT 2.0.

use crate::handle::StableBox;

/// Memory whose address C received, in addition to that of both versions.
#[derive(Default)]
pub(crate) struct VersionStorage {
    /// The kind of communication of a common service point.
    pub(crate) comm: StableBox<[i32; 3]>,
    /// Whether a notification object was created with a descriptor.
    pub(crate) has_fd: bool,
}
