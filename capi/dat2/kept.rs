//! Memory whose address C receives only in DAT 2.0.

use crate::handle::Lasting;

/// Memory whose address C received, in addition to that of both versions.
#[derive(Default)]
pub(crate) struct MoreKept {
    /// The kind of communication of a common service point.
    pub(crate) comm: Lasting<[i32; 3]>,
    /// Whether a notification object was created with a descriptor.
    pub(crate) has_fd: bool,
}
